// The program itself with nvcc; what runs a kernel needs a GPU.
#include "catch.h"
#include "runner_compile/program.h"

using namespace kbench;
using namespace kbench::test;

TEST_CASE("build shows registers and spills of a first CUDA kernel, without a GPU for 9.0") {
  const TempFolder folder;
  const std::string source = (folder / "my.cu").string();
  REQUIRE(kbench_run(folder, {"new", "qr_v2", source}).succeeded());
  const CommandResult build = kbench_run(folder, {"build", source, "--device", "host"});
  INFO(build.output);
  CHECK(build.succeeded());
  CHECK_THAT(build.output, ContainsSubstring("compiled " + source + " in "));
  CHECK_THAT(build.output, ContainsSubstring("registers  shared bytes  stack bytes  spill stores"));
  CHECK_THAT(build.output,
             ContainsSubstring("sm_90a    factor(float const*, float*, float*, long"));
  CHECK_THAT(build.output, ContainsSubstring("/cache/kbench/kernels/"));
}

TEST_CASE("a first CUDA kernel of each problem passes without another word", "[gpu]") {
  const TempFolder folder;
  const std::string shape = shape_file(folder);
  for (const std::string problem : {"qr_v2", "eigh_py"}) {
    const std::string source = (folder / (problem + ".cu")).string();
    CAPTURE(source);
    REQUIRE(kbench_run(folder, {"new", problem, source}).succeeded());
    const CommandResult test = kbench_run(folder, {"test", shape, "--kernel", source});
    INFO(test.output);
    CHECK(test.succeeded());
    CHECK_THAT(test.output, ContainsSubstring("compiled " + source + " in "));
    CHECK_THAT(test.output, ContainsSubstring("device cuda:0"));
    const CommandResult built = kbench_run(folder, {"build", source});
    INFO(built.output);
    CHECK_THAT(built.output, ContainsSubstring(source + ": cached ("));
    const CommandResult benchmark =
        kbench_run(folder, {"benchmark", shape, "--kernel", source, "--repeats", "5"});
    INFO(benchmark.output);
    CHECK(benchmark.succeeded());
  }
}
