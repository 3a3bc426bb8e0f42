// Wires the rooms together: the runner gets the table of problems and the worker's entry. A process
// started as `kbench worker --socket N` is a worker.
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "problems/problem.h"
#include "runner/run.h"
#include "worker/job_memory.h"
#include "worker/serve.h"

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "worker") == 0 && std::strcmp(argv[2], "--socket") == 0) {
    const std::string_view text = argv[3];
    int socket = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), socket);
    if (error == std::errc() && end == text.data() + text.size() && socket >= 0) {
      return kbench::serve(socket);
    }
  }
  std::vector<const kbench::ProblemInfo*> infos;
  for (const kbench::Problem* problem : kbench::problems()) infos.push_back(&problem->info());
  return kbench::run(argc, argv, kbench::Wiring{infos, kbench::serve, kbench::job_memory});
}
