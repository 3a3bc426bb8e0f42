// The verb profile-command: one line for a shell that shows one case to a profiler.
#include "catch.h"
#include "kbench_process.h"

namespace {

std::string lines(std::initializer_list<int> sizes) {
  std::string text;
  for (int n : sizes) text += "batch: 2; n: " + std::to_string(n) + "; cond: 1; seed: 5\n";
  return text;
}

}  // namespace

TEST_CASE("the command line names the tool's options, this kbench and the case") {
  const Tree tree;
  const std::string file = tree.write("odd name.txt", lines({4}));
  const std::string kbench = tree.path("bin/kbench");
  struct Row {
    std::vector<std::string> arguments;
    std::string line;
  };
  const std::vector<Row> rows = {
      {{"nsys", file, "--problem", "qr_v2"},
       "nsys profile --capture-range=cudaProfilerApi --capture-range-end=stop --trace=cuda,nvtx "
       "--cuda-graph-trace=node -o kbench-nsys " +
           kbench + " benchmark '" + file + "' --only 0 --problem qr_v2 --repeats 1\n"},
      {{"ncu", file, "--problem", "qr_v2", "--report", "out/r 1"},
       "ncu --profile-from-start off --set full --clock-control none -o 'out/r 1' " + kbench +
           " profile '" + file + "' --only 0 --problem qr_v2\n"},
      {{"ncu", file, "--kernel", "lapack", "--problem", "eigh_py", "--device", "cuda:1", "--seed",
        "7"},
       "ncu --profile-from-start off --set full --clock-control none -o kbench-ncu " + kbench +
           " profile '" + file +
           "' --only 0 --problem eigh_py --kernel lapack --device cuda:1 --seed 7\n"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    std::vector<std::string> arguments = {"profile-command"};
    arguments.insert(arguments.end(), row.arguments.begin(), row.arguments.end());
    const Outcome outcome = kbench_run(tree, arguments);
    CHECK(outcome.status == 0);
    CHECK(outcome.out == row.line);
    CHECK(outcome.err.empty());
  }
}

TEST_CASE("the words for a kernel's compiler arrive as one word") {
  const Tree tree;
  const std::string file = tree.write("f.txt", lines({4}));
  const std::string source = tree.write("my.cu", "");
  const Outcome outcome =
      kbench_run(tree, {"profile-command", "nsys", file, "--problem", "qr_v2", "--kernel", source,
                        "--nvcc-flags", "-lineinfo -DSIZE=32"});
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out,
             ContainsSubstring(" --kernel " + source + " --nvcc-flags '-lineinfo -DSIZE=32' "));
}

TEST_CASE("of several cases the first is shown unless one is named, and that is said") {
  const Tree tree;
  const std::string file = tree.write("f.txt", lines({4, 8, 16}));
  const Outcome first = kbench_run(tree, {"profile-command", "nsys", file, "--problem", "qr_v2"});
  CHECK_THAT(first.out, ContainsSubstring(" --only 0 "));
  CHECK(first.err ==
        "case 0 of 3: batch: 2; n: 4; cond: 1; seed: 5; take another with `--only N`\n");
  const Outcome last =
      kbench_run(tree, {"profile-command", "nsys", file, "--problem", "qr_v2", "--only", "2"});
  CHECK_THAT(last.out, ContainsSubstring(" --only 2 "));
  CHECK(last.err.empty());
}

TEST_CASE("a kernel of the user's is shown in its own problem, which is not known yet") {
  const Tree tree;
  const std::string file = tree.write("f.txt", lines({4, 8}));
  const std::string kernel = tree.write("my.cu", "");
  const Outcome outcome = kbench_run(tree, {"profile-command", "nsys", file, "--kernel", kernel});
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.out, ContainsSubstring(" benchmark " + file + " --only 0 --kernel "));
  CHECK(outcome.err == "case 0 of the kernel's problem; take another with `--only N`\n");
}

TEST_CASE("what cannot be profiled is refused in words") {
  const Tree tree;
  const std::string file = tree.write("f.txt", lines({4, 8}));
  struct Row {
    std::vector<std::string> arguments;
    int status;
    std::string words;
  };
  const std::vector<Row> rows = {
      {{}, 2, "`kbench profile-command` needs a profiler; name it"},
      {{"nsis", file}, 2, "`nsis` is no profiler that kbench knows; did you mean `nsys`? "},
      {{"nsys", file, "--only", "0,1"}, 2, "a profile is of one case (`--only` names 2)"},
      {{"ncu", file, "--device", "host"},
       2,
       "ncu shows what a GPU does (`--device host` has none)"},
      {{"ncu", file, "--kernel", "lapak"}, 2, "did you mean `lapack`?"},
      {{"ncu", tree.path("none.txt")}, 113, "none.txt:1:1: cannot read"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    std::vector<std::string> arguments = {"profile-command"};
    arguments.insert(arguments.end(), row.arguments.begin(), row.arguments.end());
    const Outcome outcome = kbench_run(tree, arguments);
    CHECK(outcome.status == row.status);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, ContainsSubstring(row.words));
  }
}
