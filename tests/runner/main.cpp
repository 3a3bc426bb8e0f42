// One executable in three parts, chosen as kbench's own main does: a worker, kbench when it was
// started under that name, else the tests.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include <cstdlib>
#include <filesystem>
#include <string>

#include "fake_worker.h"
#include "runner/run.h"

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (argc == 4 && first == "worker") return fake_serve(std::atoi(argv[3]));
  if (std::filesystem::path(argv[0]).filename() == "kbench") {
    return kbench::run(argc, argv, kbench::Wiring{fake_problems(), fake_serve, fake_memory});
  }
  return Catch::Session().run(argc, argv);
}
