// From files to cases: which problem, which rows, which seeds, and every refusal before anything
// runs.
#include "runner/plan.h"

#include <stdexcept>

#include "catch.h"
#include "core/error.h"
#include "core/npy.h"
#include "core/seed.h"
#include "fake_worker.h"
#include "kbench_process.h"

using namespace kbench;

namespace {

constexpr const char* k_task = R"(problem: eigh_py
test_timeout: 100
benchmark_timeout: 15
ranked_timeout: 900
tests:
  - {batch: 2, n: 4, cond: 1, seed: 5}
  - {n: 8, batch: 1, cond: 0, seed: 6, case: mixed}
benchmarks:
  - {batch: 640, n: 512, cond: 1, seed: 100}
)";

Options mode_options(const char* name, const std::string& file) {
  Options options;
  options.mode = find_mode(name);
  options.file = file;
  return options;
}

std::string no_plugin() { throw std::logic_error("the plug-in was asked"); }

Plan plan_of(const Options& options) { return make_plan(options, fake_problems(), no_plugin); }

std::string refusal(const Options& options, ExitCode code) {
  try {
    plan_of(options);
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE(
    "the problem is the flag's, else the file's, else the plug-in's, else every one that fits") {
  const Tree tree;
  const std::string line = "batch: 2; n: 4; cond: 1; seed: 5";
  const std::string shape = tree.write("f.txt", line);
  const std::string task = tree.write("t.yaml", k_task);

  Options options = mode_options("test", task);
  CHECK(plan_of(options).cases[0].spec.problem == "eigh_py");
  options.kernel = "./x.so";
  CHECK(plan_of(options).cases[0].spec.problem == "eigh_py");
  options.file = shape;
  const Plan asked = make_plan(options, fake_problems(), [] { return std::string("qr_v2"); });
  REQUIRE(asked.cases.size() == 1);
  CHECK(asked.cases[0].spec.problem == "qr_v2");
  options.problem = "eigh_py";
  CHECK(plan_of(options).cases[0].spec.problem == "eigh_py");

  const Plan both = plan_of(mode_options("test", shape));
  REQUIRE(both.cases.size() == 2);
  CHECK(both.cases[0].spec.problem == "qr_v2");
  CHECK(both.cases[1].spec.problem == "eigh_py");
  CHECK(both.cases[1].case_index == 1);
  const Plan one = plan_of(mode_options("test", tree.write("g.txt", line + "; case: OnlyQR")));
  REQUIRE(one.cases.size() == 1);
  CHECK(one.cases[0].spec.problem == "qr_v2");
  CHECK(one.cases[0].spec.kind == "onlyqr");
}

TEST_CASE("a case name that nobody knows is shown with its place and the names of all problems") {
  const Tree tree;
  const std::string file = tree.write(
      "f.txt", "batch: 2; n: 4; cond: 1; seed: 5\nbatch: 2; n: 4; cond: 1; seed: 5; case: onlyqt");
  const std::string words = refusal(mode_options("test", file), ExitCode::case_file);
  CHECK_THAT(words, StartsWith(file + ":2:41: unknown case `onlyqt`"));
  CHECK_THAT(words, ContainsSubstring("did you mean `onlyqr`?"));
  CHECK_THAT(words, ContainsSubstring("\n  qr_v2: dense"));
  CHECK_THAT(words, ContainsSubstring("\n  eigh_py: dense"));
  const std::string split = tree.write("g.txt",
                                       "batch: 2; n: 4; cond: 1; seed: 5; case: onlyqr\n"
                                       "batch: 2; n: 4; cond: 1; seed: 5; case: mixed\n");
  CHECK_THAT(refusal(mode_options("test", split), ExitCode::case_file),
             ContainsSubstring("no problem knows all case names"));
}

TEST_CASE("a mode takes its rows, seeds and time limit from a task file") {
  const Tree tree;
  const std::string task = tree.write("t.yaml", k_task);
  const Plan test = plan_of(mode_options("test", task));
  REQUIRE(test.cases.size() == 2);
  CHECK(test.cases[1].spec.spec == "n: 8; batch: 1; cond: 0; seed: 6; case: mixed");
  CHECK(test.cases[1].seeds == std::vector<std::int64_t>{6});
  CHECK(test.time_limit_s == 90);
  const Plan benchmark = plan_of(mode_options("benchmark", task));
  CHECK(benchmark.cases[0].seeds == std::vector<std::int64_t>{142});
  CHECK(benchmark.time_limit_s == 7.5);
  CHECK(plan_of(mode_options("leaderboard", task)).time_limit_s == 890);
  const std::string shape = tree.write("f.txt", "batch: 2; n: 4; cond: 1; seed: 5");
  CHECK_FALSE(plan_of(mode_options("test", shape)).time_limit_s);
  CHECK(plan_of(mode_options("benchmark", shape)).cases[0].seeds.size() == 50);
}

TEST_CASE("a secret seed changes the seeds and not the spec") {
  const Tree tree;
  Options options = mode_options("test", tree.write("f.txt", "batch: 2; n: 4; cond: 1; seed: 5"));
  options.problem = "qr_v2";
  options.seed = 3;
  const Plan test = plan_of(options);
  CHECK(test.cases[0].spec.seed == 5 + 8 * 9 / 2);
  CHECK(test.cases[0].seeds == std::vector<std::int64_t>{41});
  CHECK(test.cases[0].spec.spec == "batch: 2; n: 4; cond: 1; seed: 5");
  options.mode = find_mode("benchmark");
  CHECK(plan_of(options).cases[0].seeds[1] == 41 + 84);
  options.seed = 0;
  CHECK(plan_of(options).cases[0].spec.seed == 5 + 5 * 6 / 2);
}

TEST_CASE("a seed that would wrap is refused with its place") {
  const Tree tree;
  const std::string file = tree.write("f.txt",
                                      "batch: 2; n: 4; cond: 1; seed: 1\n"
                                      "batch: 2; n: 4; cond: 1; seed: 9223372036854775807\n");
  Options options = mode_options("benchmark", file);
  options.problem = "qr_v2";
  CHECK_THAT(refusal(options, ExitCode::case_file), StartsWith(file + ":2:32: seed `"));
  options.mode = find_mode("test");
  CHECK(plan_of(options).cases[1].seeds[0] == 9223372036854775807);
  options.seed = 0;
  CHECK_THAT(refusal(options, ExitCode::case_file), StartsWith(file + ":2:32: seed `"));
  const std::string task = tree.write("t.yaml",
                                      "problem: qr_v2\nbenchmarks:\n"
                                      "  - {batch: 2, n: 4, cond: 1, seed: 9223372036854775807}\n");
  CHECK_THAT(refusal(mode_options("benchmark", task), ExitCode::case_file),
             StartsWith(task + ":3:37: seed `"));
}

TEST_CASE("generate takes the tests' seeds as listed or the benchmarks' of the measured loop") {
  const Tree tree;
  Options options;
  options.verb = Verb::generate;
  options.file = tree.write("t.yaml", k_task);
  CHECK(plan_of(options).cases[0].seeds == std::vector<std::int64_t>{5});
  options.benchmark_inputs = true;
  CHECK(plan_of(options).cases[0].seeds == std::vector<std::int64_t>{142});
}

TEST_CASE("only and profile pick cases and keep their numbers") {
  const Tree tree;
  std::string text;
  for (int i = 0; i < 5; ++i) text += "batch: 2; n: 4; cond: 1; seed: " + std::to_string(i) + "\n";
  Options options = mode_options("test", tree.write("f.txt", text));
  options.problem = "qr_v2";
  options.only = {1, 4};
  const Plan plan = plan_of(options);
  REQUIRE(plan.cases.size() == 2);
  CHECK(plan.cases[1].case_index == 4);
  CHECK(plan.cases[1].spec.seed == 4);
  options.only = {5};
  CHECK_THAT(refusal(options, ExitCode::usage), ContainsSubstring("there are 5 cases, 0 to 4"));
  options.only = {3};
  options.mode = find_mode("profile");
  REQUIRE(plan_of(options).cases.size() == 1);
  CHECK(plan_of(options).cases[0].case_index == 3);
}

TEST_CASE("a file that cannot be run is refused with its place") {
  const Tree tree;
  struct Row {
    std::string file, words;
  };
  const std::vector<Row> rows = {
      {tree.path("missing.txt"), "cannot read the case file (No such file"},
      {tree.path("bin"), "it is a folder"},
      {tree.write("empty.txt", ""), ""},
      {tree.write("blank.txt", "batch: 2; n: 4; cond: 1; seed: 5\n\n"), ":2:"},
      {tree.write("binary.txt", std::string("\x7f"
                                            "ELF\0\1\2",
                                            7)),
       ":1:"},
      {tree.write("long.txt", std::string(10000000, 'x')), ":1:"},
      {tree.write("list.txt", "batch: [1, 2]; n: 4; cond: 1; seed: 5"), ":1:8"},
      {tree.write("zero.txt", "batch: 0; n: 4; cond: 1; seed: 5"), ":1:8"},
      {tree.write("none.yaml", "tests:\n  - {batch: 1, n: 2, cond: 0, seed: 1}\n"), "benchmarks"},
      {tree.write("other.yaml",
                  "problem: nosuch\nbenchmarks:\n  - {batch: 1, n: 2, cond: 0, seed: 1}\n"),
       "unknown problem `nosuch`"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.file);
    const std::string words = refusal(mode_options("benchmark", row.file), ExitCode::case_file);
    CHECK_THAT(words, StartsWith(row.file + ":"));
    CHECK_THAT(words, ContainsSubstring(row.words));
    CHECK(words.size() < 2000);
  }
}

TEST_CASE("the user's own matrices are one case of their shape") {
  const Tree tree;
  const std::vector<float> data(18, 1.0F);
  const std::string cube = tree.path("a.npy"), square = tree.path("b.npy"),
                    odd = tree.path("c.npy");
  write_npy(cube, {2, 3, 3}, data.data());
  write_npy(square, {3, 3}, data.data());
  write_npy(odd, {2, 9}, data.data());
  Options options = mode_options("benchmark", "");
  options.input = cube;
  CHECK_THAT(refusal(options, ExitCode::usage), ContainsSubstring("add `--problem NAME`"));
  options.problem = "qr_v2";
  const Plan plan = plan_of(options);
  REQUIRE(plan.cases.size() == 1);
  CHECK(plan.cases[0].spec.batch == 2);
  CHECK(plan.cases[0].spec.n == 3);
  CHECK(plan.cases[0].spec.kind == "input");
  CHECK(plan.cases[0].spec.input_path == cube);
  CHECK(plan.cases[0].spec.spec == "input: " + cube + "; batch: 2; n: 3");
  CHECK(plan.cases[0].seeds.size() == 1);
  options.input = square;
  CHECK(plan_of(options).cases[0].spec.batch == 1);
  options.input = odd;
  CHECK_THAT(refusal(options, ExitCode::case_file), ContainsSubstring("shape [2,9]"));
  options.input = tree.path("none.npy");
  CHECK_THAT(refusal(options, ExitCode::case_file), ContainsSubstring(options.input));
}

TEST_CASE("an unknown problem is refused with the known ones") {
  Options options = mode_options("test", "");
  options.problem = "qr_v3";
  CHECK_THAT(refusal(options, ExitCode::usage),
             ContainsSubstring("unknown problem `qr_v3`; did you mean `qr_v2`?"));
}
