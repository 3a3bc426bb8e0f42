// What a profiler sees of kbench: the kernels between cudaProfilerStart and cudaProfilerStop are
// those of the kernel under test and nothing else.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch.h"

namespace {

using Lines = std::vector<std::string>;

const std::string k_build = KBENCH_BINARY_DIR;

Lines read_lines(const std::string& path) {
  std::ifstream file(path);
  Lines lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// Runs kbench on one 20 x 32 case with the probe plug-in under the injection library. Returns the
/// lines that the library wrote; the exit status goes to `status`.
Lines run_under_injection(const std::string& verb, const Lines& options, int& status) {
  const std::filesystem::path folder = std::filesystem::path(k_build) / "tests" / "scratch";
  std::filesystem::create_directories(folder);
  const std::string log = (folder / "injection.log").string();
  const std::string shape = (folder / "injection_shape.txt").string();
  std::filesystem::remove(log);
  std::ofstream(shape) << "batch: 20; n: 32; cond: 1; seed: 43214\n";

  Lines words = {k_build + "/bin/kbench", verb, shape, "--kernel",
                 k_build + "/tests/plugins/probe.so"};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  setenv("CUDA_INJECTION64_PATH", (k_build + "/tests/injection/libkbench_injection.so").c_str(), 1);
  setenv("KBENCH_INJECTION_LOG", log.c_str(), 1);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 1, (folder / "injection_stdout.txt").c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t child = 0;
  const int spawned = posix_spawn(&child, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  unsetenv("CUDA_INJECTION64_PATH");
  unsetenv("KBENCH_INJECTION_LOG");
  REQUIRE(spawned == 0);
  int raw = 0;
  waitpid(child, &raw, 0);
  status = WIFEXITED(raw) ? WEXITSTATUS(raw) : -1;
  return read_lines(log);
}

/// Exactly `ranges` ranges of exactly `calls` probe kernels each.
Lines expected_lines(int ranges, int calls) {
  Lines lines;
  for (int range = 0; range < ranges; ++range) {
    lines.push_back("start");
    lines.insert(lines.end(), static_cast<std::size_t>(calls), "kernel probe_qr_kernel");
    lines.push_back("stop");
  }
  return lines;
}

}  // namespace

TEST_CASE("the injection library loads without a GPU and refuses to start without a log") {
  void* library = dlopen((k_build + "/tests/injection/libkbench_injection.so").c_str(), RTLD_NOW);
  REQUIRE(library != nullptr);
  const auto start = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  REQUIRE(start != nullptr);
  unsetenv("KBENCH_INJECTION_LOG");
  CHECK(start() == 0);
}

TEST_CASE("the capture range holds one launch a call of the kernel under test, nothing else",
          "[gpu]") {
  struct Row {
    const char* verb;
    Lines options;
    int ranges, calls;
  };
  // 50 inputs of 20 x 32 a repeat; profile makes one call.
  const Row rows[] = {
      {"benchmark", {"--repeats", "3"}, 3, 50},
      {"benchmark", {"--repeats", "2", "--no-warmup"}, 2, 50},
      {"benchmark", {"--repeats", "2", "--in-process"}, 2, 50},
      {"profile", {}, 1, 1},
      {"profile", {"--in-process"}, 1, 1},
      {"benchmark", {"--repeats", "2", "--range", "off"}, 0, 0},
      {"test", {}, 0, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.verb, row.options);
    int status = -1;
    const Lines lines = run_under_injection(row.verb, row.options, status);
    CHECK(status == 0);
    CHECK(lines == expected_lines(row.ranges, row.calls));
  }
}
