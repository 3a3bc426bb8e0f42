// The verbs new and build: what they write, show and refuse.
#include "catch.h"
#include "fake_compiler.h"
#include "kbench_process.h"

namespace {

constexpr const char* k_ptxas =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function '_Z6factorPKfPfS1_l' for 'sm_86'\n"
    "ptxas info    : Function properties for _Z6factorPKfPfS1_l\n"
    "    96 bytes stack frame, 116 bytes spill stores, 204 bytes spill loads\n"
    "ptxas info    : Used 32 registers, used 1 barriers, 96 bytes cumulative stack size, 1024 "
    "bytes "
    "smem, 384 bytes cmem[0]\n";

constexpr const char* k_table =
    "registers  shared bytes  stack bytes  spill stores  spill loads  arch      kernel\n"
    "       32          1024           96           116          204  sm_86     "
    "factor(float const*, float*, float*, long)\n";

}  // namespace

TEST_CASE("new writes a first kernel, says how to go on, and overwrites nothing") {
  const Tree tree;
  for (const std::string name : {"my.cu", "my.cpp", "odd name.c"}) {
    CAPTURE(name);
    const std::string file = tree.path(name);
    const Outcome outcome = kbench_run(tree, {"new", "qr_v2", file});
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    const std::string word = name == "odd name.c" ? "'" + file + "'" : file;
    CHECK(outcome.out == "wrote " + file +
                             " (qr_v2, right and slow); check it with `kbench test --kernel " +
                             word + "`\n");
    CHECK_THAT(tree.read(name), ContainsSubstring("KBENCH_SIMPLE_KERNEL(qr_v2, KBENCH_"));
    tree.write(name, "mine");
    const Outcome again = kbench_run(tree, {"new", "qr_v2", file});
    CHECK(again.status == 2);
    CHECK(again.out.empty());
    CHECK(again.err ==
          "`" + file + "` exists (nothing is overwritten); choose another name or remove it\n");
    CHECK(tree.read(name) == "mine");
  }
}

TEST_CASE("new refuses a problem or a language that it has no kernel for") {
  const Tree tree;
  const Outcome problem = kbench_run(tree, {"new", "qr_v3", tree.path("a.cu")});
  CHECK(problem.status == 2);
  CHECK_THAT(problem.err, ContainsSubstring("did you mean `qr_v2`?"));
  const Outcome language = kbench_run(tree, {"new", "qr_v2", tree.path("a.py")});
  CHECK(language.status == 2);
  CHECK_THAT(language.err, ContainsSubstring("is no kernel source (its extension is `.py`)"));
}

TEST_CASE("build shows what each GPU kernel takes and the plug-in, compiled now or before") {
  const Tree tree;
  Environment environment = fake_compiler(tree, "qr_v2 cuda");
  environment["FAKE_SAYS"] = tree.write("says", k_ptxas);
  const std::string source = tree.write("my.cu", "text");
  for (const std::string& start : {"compiled " + source + " in ", source + ": cached ("}) {
    const Outcome outcome = kbench_run(tree, {"build", source, "--device", "cuda"}, environment);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.err, StartsWith(start));
    REQUIRE_THAT(outcome.out, StartsWith(k_table));
    std::string path = outcome.out.substr(std::string(k_table).size());
    REQUIRE(!path.empty());
    path.pop_back();
    CHECK(std::filesystem::is_regular_file(path));
  }
  CHECK_THAT(tree.read("compiled"), ContainsSubstring("code=sm_86"));
}

TEST_CASE("build asks a device for its architecture, and says when it takes 9.0 instead") {
  const Tree tree;
  const std::string cuda = tree.write("my.cu", "text"), host = tree.write("my.cpp", "text");
  const std::string note = "building for compute capability 9.0 (";
  struct Row {
    std::vector<std::string> arguments;
    std::string hello;
    int status;
    std::string err, compiled, log;
  };
  const std::vector<Row> rows = {
      {{"build", cuda, "--device", "cuda:1"}, "", 0, "compiled ", "code=sm_86", "device cuda 1\n"},
      {{"build", cuda},
       "",
       0,
       note + "no CUDA device to ask)\ncompiled ",
       "sm_90a",
       "device other"},
      {{"build", cuda},
       "no device",
       0,
       note + "no CUDA device (driver missing);",
       "sm_90a",
       "setup"},
      {{"build", cuda}, "dies", 0, note + "worker killed by SIGKILL", "sm_90a", "setup"},
      {{"build", cuda, "--device", "cuda"},
       "no device",
       110,
       "no CUDA device (driver",
       "",
       "setup"},
      {{"build", cuda, "--device", "host"}, "no device", 0, "compiled ", "code=sm_90a", ""},
      {{"build", host}, "no device", 0, "compiled ", "-std=c++20", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments, row.hello);
    for (const char* name : {"compiled", "log"}) tree.write(name, "");
    std::filesystem::remove_all(tree.path("cache"));
    Environment environment = fake_compiler(tree, "qr_v2 host");
    environment["FAKE_HELLO"] = row.hello;
    const Outcome outcome = kbench_run(tree, row.arguments, environment);
    CHECK(outcome.status == row.status);
    CHECK_THAT(outcome.err, StartsWith(row.err));
    CHECK_THAT(tree.read("compiled"), ContainsSubstring(row.compiled));
    CHECK((tree.read("log").find("setup") == std::string::npos) == row.log.empty());
    CHECK_THAT(tree.read("log"), ContainsSubstring(row.log));
  }
}

TEST_CASE("build of what does not compile exits 112 with the compiler's words") {
  const Tree tree;
  Environment environment = fake_compiler(tree, "");
  environment["FAKE_FAILS"] = "1";
  environment["FAKE_SAYS"] = tree.write("says", "my.cpp:1: error: no\n");
  const std::string source = tree.write("my.cpp", "text");
  const Outcome outcome = kbench_run(tree, {"build", source}, environment);
  CHECK(outcome.status == 112);
  CHECK(outcome.out.empty());
  CHECK(outcome.err ==
        "`" + source +
            "` does not compile (compiler: exit status 1); see the compiler's words\n"
            "my.cpp:1: error: no\n");
}

TEST_CASE("build refuses what it cannot begin with, and takes its flags and limit") {
  const Tree tree;
  const Environment environment = fake_compiler(tree, "qr_v2 host");
  CHECK_THAT(kbench_run(tree, {"build", tree.path("no.cpp")}, environment).err,
             StartsWith("cannot read the kernel `"));
  CHECK(kbench_run(tree, {"build", tree.path("no.cpp")}, environment).status == 2);
  CHECK(kbench_run(tree, {"build", tree.path("no.cu")}, environment).status == 2);
  CHECK(kbench_run(tree, {"build", tree.path("bin/kbench")}, environment).status == 2);
  CHECK(tree.read("log").empty());
  const std::string source = tree.write("my.cpp", "text");
  const Outcome outcome =
      kbench_run(tree, {"--nvcc-flags", "-DZ", "build", source, "--time-limit", "60"}, environment);
  CHECK(outcome.status == 0);
  CHECK_THAT(tree.read("compiled"), ContainsSubstring(" -DZ "));
  CHECK(outcome.out.find("registers") == std::string::npos);
}
