// --kernel SOURCE: compiled for the device of the run, run like any plug-in, and every way in which
// that can fail.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "catch.h"
#include "fake_compiler.h"
#include "kbench_process.h"

using nlohmann::json;

namespace {

constexpr const char* k_case = "batch: 2; n: 4; cond: 1; seed: 5\n";
constexpr const char* k_words = "my.cu:3:1: error: first\n  | ^\nsecond\n";

std::string two_cases() { return std::string(k_case) + k_case; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

/// The same with more variables.
Environment with(Environment environment, const Environment& more) {
  for (const auto& [name, value] : more) environment[name] = value;
  return environment;
}

}  // namespace

TEST_CASE("a source of every kind is compiled once, run on its own device, and then cached") {
  struct Row {
    std::string file, device;
  };
  for (const Row& row : {Row{"my.cu", "cuda"},
                         {"my.cpp", "host"},
                         {"my.cc", "host"},
                         {"my.cxx", "host"},
                         {"my.c", "host"}}) {
    CAPTURE(row.file);
    const Tree tree;
    const Environment environment = fake_compiler(tree, "eigh_py " + row.device);
    const std::string file = tree.write("f.txt", k_case);
    const std::string source = tree.write(row.file, "text");
    for (const auto& arguments : {std::vector<std::string>{"test", file, "--kernel", source},
                                  {"--kernel=" + source, "benchmark", file},
                                  {"leaderboard", file, "--kernel", source},
                                  {"profile", "--kernel", source, file}}) {
      CAPTURE(arguments);
      const bool first = arguments[0] == "test";
      Environment quiet = environment;
      quiet["KBENCH_QUIET"] = "on";
      const Outcome outcome = kbench_run(tree, arguments, quiet);
      CHECK(outcome.status == 0);
      CHECK_THAT(outcome.err,
                 StartsWith(first ? "compiled " + source + " in " : source + ": cached ("));
      CHECK(count(outcome.err, "\n") == 1);
      CHECK_THAT(outcome.out, StartsWith("eigh_py: kernel kernel, device "));
      CHECK_THAT(outcome.out,
                 ContainsSubstring(row.device == "cuda" ? "device cuda:0" : "device host"));
    }
    CHECK(count(tree.read("compiled"), "-o ") == 1);
  }
}

TEST_CASE(
    "a CUDA source is built for the device that a worker names, after the case file is read") {
  const Tree tree;
  const Environment environment = fake_compiler(tree, "qr_v2 cuda");
  const std::string file = tree.write("f.txt", k_case), bad = tree.write("bad.txt", "batch: ");
  const std::string source = tree.write("my.cu", "text");
  CHECK(kbench_run(tree, {"test", bad, "--kernel", source}, environment).status == 113);
  CHECK(tree.read("log").empty());
  CHECK(kbench_run(tree, {"test", file, "--kernel", source, "--device", "cuda:3"}, environment)
            .status == 0);
  CHECK_THAT(tree.read("compiled"), ContainsSubstring("arch=compute_86,code=sm_86"));
  CHECK_THAT(tree.read("log"), StartsWith("setup \ndevice cuda 3\nleft by itself\ncompile\n"
                                          "setup kernel.so\ndevice cuda 3\n"));
  tree.write("log", "");
  const std::string host = tree.write("my.cpp", "text");
  CHECK(kbench_run(tree, {"test", file, "--kernel", host},
                   with(environment, {{"FAKE_PLUGIN", "qr_v2 host"}}))
            .status == 0);
  CHECK_THAT(tree.read("log"), StartsWith("compile\nsetup kernel.so\ndevice other 0\n"));
}

TEST_CASE("the problem of a source is that of its plug-in, unless flag or file say otherwise") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  const std::string task = tree.write("t.yaml",
                                      "problem: eigh_py\ntests:\n"
                                      "  - {batch: 2, n: 4, cond: 1, seed: 5}\n");
  const std::string source = tree.write("my.cpp", "text");
  struct Row {
    std::vector<std::string> arguments;
    std::string plugin;
    int status;
    std::string out, err;
  };
  const std::vector<Row> rows = {
      {{"test", file}, "eigh_py host", 0, "eigh_py: kernel", ""},
      {{"test", file}, "qr_v2 host", 0, "qr_v2: kernel", ""},
      {{"test", file, "--problem", "qr_v2"}, "qr_v2 host", 0, "qr_v2: kernel", ""},
      {{"test", file, "--problem", "qr_v2"}, "eigh_py host", 2, "", "is for problem eigh_py"},
      {{"test", task}, "eigh_py host", 0, "eigh_py: kernel", ""},
      {{"test", task}, "qr_v2 host", 2, "", "is for problem qr_v2 on host, not for eigh_py"},
      {{"test", file}, "qr_v2 cuda", 0, "qr_v2: kernel", ""},
      {{"test", file}, "lu_v1 host", 2, "", "unknown problem `lu_v1`"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments, row.plugin);
    std::filesystem::remove_all(tree.path("cache"));
    std::vector<std::string> arguments = row.arguments;
    arguments.insert(arguments.end(), {"--kernel", source});
    const Outcome outcome = kbench_run(tree, arguments, fake_compiler(tree, row.plugin));
    CHECK(outcome.status == row.status);
    CHECK_THAT(outcome.out, ContainsSubstring(row.out));
    CHECK_THAT(outcome.err, ContainsSubstring(row.err));
  }
}

TEST_CASE("a source that does not compile fails every case, with the compiler's words on stderr") {
  const Tree tree;
  const Environment environment = with(
      fake_compiler(tree, ""), {{"FAKE_FAILS", "3"}, {"FAKE_SAYS", tree.write("says", k_words)}});
  const std::string file = tree.write("f.txt", two_cases());
  const std::string source = tree.write("my.cu", "KBENCH_SIMPLE_KERNEL(qr_v2, ...)");
  const std::string error =
      "`" + source + "` does not compile (compiler: exit status 3); see the compiler's words";
  for (const std::string verb : {"test", "benchmark", "leaderboard", "profile"}) {
    CAPTURE(verb);
    const PopcornOutcome outcome = popcorn_run(
        tree, {verb, file, "--kernel", source, "--json", tree.path("r.json")}, environment);
    CHECK(outcome.status == 112);
    CHECK(outcome.err == error + "\n" + k_words);
    const std::string stem = verb == "test" ? "test." : "benchmark.";
    const int cases = verb == "profile" ? 1 : 2;
    CHECK_THAT(outcome.lines, ContainsSubstring("-count: " + std::to_string(cases) + "\n"));
    for (int i = 0; i < cases; ++i) {
      const std::string line = stem + std::to_string(i) + ".";
      CHECK_THAT(outcome.lines, ContainsSubstring(line + "status: fail\n"));
      CHECK_THAT(outcome.lines, ContainsSubstring(line + "error: " + error + "\n"));
    }
    CHECK_THAT(outcome.lines, ContainsSubstring("\ncheck: fail\n"));
    CHECK_THAT(outcome.out, StartsWith("qr_v2: kernel my, device cuda:0 (Fake CPU)"));
    const json document = json::parse(tree.read("r.json"));
    CHECK(document["verdict"] == "fail");
    CHECK(document["device"]["capability"] == "8.6");
    CHECK(document["cases"][0]["error"] == error);
    CHECK(document["cases"][0]["kernel"]["name"] == "my");
    CHECK(document["cases"][0]["kernel"]["source"] == source);
  }
}

TEST_CASE("the problem of a source that does not compile is the one that its text names") {
  const Tree tree;
  const Environment environment = with(fake_compiler(tree, ""), {{"FAKE_FAILS", "1"}});
  const std::string file = tree.write("f.txt", k_case);
  struct Row {
    std::string text;
    std::vector<std::string> arguments, problems;
  };
  const std::vector<Row> rows = {
      {"KBENCH_SIMPLE_KERNEL(eigh_py, KBENCH_HOST)", {}, {"eigh_py"}},
      {"{1, \"k\", \"qr_v2\", not_eigh_py, eigh_py2}", {}, {"qr_v2"}},
      {"eigh_py", {"--problem", "qr_v2"}, {"qr_v2"}},
      {"qr_v2 eigh_py", {}, {"qr_v2", "eigh_py"}},
      {"", {}, {"qr_v2", "eigh_py"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    std::vector<std::string> arguments = {"test", file, "--kernel", tree.write("my.cpp", row.text)};
    arguments.insert(arguments.end(), row.arguments.begin(), row.arguments.end());
    const Outcome outcome = kbench_run(tree, arguments, environment);
    CHECK(outcome.status == 112);
    CHECK_THAT(outcome.out,
               ContainsSubstring("0 passed, " + std::to_string(row.problems.size()) + " failed"));
    for (const std::string& problem : row.problems) {
      CHECK_THAT(outcome.out, ContainsSubstring(problem + ": kernel my"));
    }
  }
}

TEST_CASE("what is missing ends the run before anything is compiled or written") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  const std::string cuda = tree.write("my.cu", "text"), host = tree.write("my.cpp", "text");
  struct Row {
    std::vector<std::string> arguments;
    Environment environment;
    int status;
    std::string err;
  };
  const std::string none = tree.path("none.cu");
  const std::vector<Row> rows = {
      {{"test", file, "--kernel", cuda},
       {{"FAKE_HELLO", "no device"}},
       110,
       "kernel `" + cuda + "` needs a CUDA device: no CUDA device (driver missing); use"},
      {{"test", file, "--kernel", none},
       {},
       2,
       "cannot read the kernel `" + none + "` (no readable file is there); check the path, or"},
      {{"test", file, "--kernel", tree.path("folder.cu")}, {}, 2, "cannot read the kernel `"},
      {{"test", file, "--kernel", host}, {{"CXX", "/no/such"}}, 2, "`/no/such` is no program (CXX"},
      {{"test", file, "--kernel", cuda},
       {{"KBENCH_NVCC", "/no/such"}},
       2,
       "`/no/such` is no program (KBENCH_NVCC names it as the compiler)"},
      {{"test", file, "--kernel", "my.py"}, {}, 2, "unknown kernel `my.py`"},
      {{"test", tree.path("no.txt"), "--kernel", host}, {}, 113, tree.path("no.txt") + ":1:1:"},
  };
  tree.write("folder.cu/x", "");
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    const PopcornOutcome outcome =
        popcorn_run(tree, row.arguments, with(fake_compiler(tree, "qr_v2 host"), row.environment));
    CHECK(outcome.status == row.status);
    CHECK_THAT(outcome.err, StartsWith(row.err));
    CHECK(count(outcome.err, "\n") == 1);
    CHECK(outcome.out.empty());
    CHECK(outcome.lines.empty());
    CHECK(tree.read("compiled").empty());
  }
}

TEST_CASE("a plug-in of the user's that kills its worker when it is loaded fails every case") {
  const Tree tree;
  const std::string file = tree.write("f.txt", two_cases());
  const std::string source = tree.write("my.cpp", "qr_v2");
  const PopcornOutcome outcome =
      popcorn_run(tree, {"test", file, "--kernel", source},
                  with(fake_compiler(tree, "qr_v2 host"), {{"FAKE_HELLO", "dies loading"}}));
  CHECK(outcome.status == 112);
  const std::string error = "error: cannot load kernel `" + source +
                            "` (worker killed by SIGKILL before replying (phase: set-up)); correct "
                            "the source\n";
  CHECK_THAT(outcome.lines, ContainsSubstring("test.0." + error));
  CHECK_THAT(outcome.lines, ContainsSubstring("test.1." + error + "check: fail\n"));
}

TEST_CASE("a worker that dies before it names the architecture fails every case") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  const Environment compiler = fake_compiler(tree, "qr_v2 cuda");
  const std::string source = tree.write("my.cu", "qr_v2");
  for (const std::string wrong : {"dies", "failed"}) {
    const PopcornOutcome outcome = popcorn_run(tree, {"test", file, "--kernel", source},
                                               with(compiler, {{"FAKE_HELLO", wrong}}));
    CHECK(outcome.status == 112);
    CHECK_THAT(outcome.lines, ContainsSubstring(wrong == "dies" ? "worker killed by SIGKILL before"
                                                                : "error: set-up went wrong\n"));
    CHECK_THAT(outcome.lines, ContainsSubstring("check: fail\n"));
    CHECK(tree.read("compiled").empty());
  }
}

TEST_CASE("the flags of the user reach the compiler as words, and the results") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  const std::string source = tree.write("my.c", "text");
  const Environment compiler = fake_compiler(tree, "qr_v2 host");
  struct Row {
    std::vector<std::string> arguments;
    Environment environment;
    std::string words;
  };
  const std::vector<Row> rows = {
      {{"--nvcc-flags", "-DA=1 -DB='x y'", "test"}, {}, " -DA=1 -DB=x y /"},
      {{"test", "--nvcc-flags=-DC"}, {{"KBENCH_NVCC_FLAGS", "-DD"}}, " -DC /"},
      {{"test"}, {{"KBENCH_NVCC_FLAGS", "-DD"}}, " -DD /"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    tree.write("compiled", "");
    std::vector<std::string> arguments = row.arguments;
    arguments.insert(arguments.end(), {file, "--kernel", source, "--json", tree.path("r.json")});
    CHECK(kbench_run(tree, arguments, with(compiler, row.environment)).status == 0);
    CHECK_THAT(tree.read("compiled"), ContainsSubstring(row.words));
  }
  const json flags = json::parse(tree.read("r.json"))["options"]["nvcc_flags"];
  CHECK(flags == json({"-DD"}));
  const Outcome other = kbench_run(
      tree,
      {"test", file, "--kernel", "blocked", "--nvcc-flags", "-O1", "--json", tree.path("r.json")},
      compiler);
  CHECK(other.status == 0);
  CHECK_THAT(other.err, StartsWith("--nvcc-flags has no effect"));
  CHECK(json::parse(tree.read("r.json"))["options"]["nvcc_flags"].empty());
}

TEST_CASE("what a compiler says beside its result is shown, without the lines on resources") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  const std::string source = tree.write("my.cu", "text");
  const std::string says = tree.write("says",
                                      "my.cu(2): warning #177-D: unused\n"
                                      "ptxas info    : 0 bytes gmem\n"
                                      "ptxas info    : Used 48 registers, used 0 barriers\n");
  const Outcome outcome =
      kbench_run(tree, {"test", file, "--kernel", source},
                 with(fake_compiler(tree, "qr_v2 cuda"), {{"FAKE_SAYS", says}}));
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, StartsWith("my.cu(2): warning #177-D: unused\ncompiled " + source));
}

TEST_CASE("the header of an installed tree goes before that of the source tree") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_case);
  const std::string source = tree.write("my.c", "text");
  const Environment compiler = fake_compiler(tree, "qr_v2 host");
  const std::string installed = "folder " + std::filesystem::canonical(tree.path("")).string();
  CHECK(kbench_run(tree, {"test", file, "--kernel", source}, compiler).status == 0);
  CHECK(count(tree.read("compiled"), installed + "/include/kbench\n") == 0);
  CHECK(count(tree.read("compiled"), "/kernels\n") == 1);
  tree.write("include/kbench/kbench_kernel.h", "/* installed */");
  CHECK(kbench_run(tree, {"test", file, "--kernel", source}, compiler).status == 0);
  CHECK(count(tree.read("compiled"), installed + "/include/kbench\n") == 1);
}

TEST_CASE("an interruption ends the compiler at once and still gives a verdict") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Tree tree;
    const std::string fifo = tree.make_fifo("fifo");
    const std::string file = tree.write("f.txt", two_cases());
    const std::string source = tree.write("my.cpp", "qr_v2");
    Kbench kbench(tree, {"benchmark", file, "--kernel", source, "--json", tree.path("r.json")},
                  with(fake_compiler(tree, "qr_v2 host"), {{"FAKE_WAITS", fifo}}));
    const std::vector<pid_t> processes = read_processes(fifo);
    REQUIRE(processes.size() == 1);
    kill(kbench.process(), signal);
    const Outcome outcome = kbench.wait();
    CHECK(outcome.status == 112);
    CHECK(is_gone(processes[0]));
    CHECK_THAT(outcome.err, ContainsSubstring("does not compile (compiler: interrupted)"));
    const json cases = json::parse(tree.read("r.json"))["cases"];
    REQUIRE(cases.size() == 2);
    for (const json& row : cases) CHECK(row["error"] == "not run (interrupted)");
  }
}

TEST_CASE("the time limit of the run ends the compiler") {
  const Tree tree;
  const std::string fifo = tree.make_fifo("fifo");
  const int reader = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const std::string file = tree.write("f.txt", k_case);
  const std::string source = tree.write("my.cpp", "qr_v2");
  const PopcornOutcome outcome =
      popcorn_run(tree, {"test", file, "--kernel", source, "--time-limit", "0.5"},
                  with(fake_compiler(tree, "qr_v2 host"), {{"FAKE_WAITS", fifo}}));
  close(reader);
  CHECK(outcome.status == 112);
  CHECK_THAT(outcome.lines, ContainsSubstring("test.0.error: not run (time limit)\ncheck: fail\n"));
}

TEST_CASE(
    "a source that makes no plug-in fails its cases, a plug-in named by its path is refused") {
  const Tree tree;
  const std::string file = tree.write("f.txt", two_cases());
  const std::string source = tree.write("my.cpp", "// qr_v2");
  const Environment environment =
      with(fake_compiler(tree, "qr_v2 host"), {{"FAKE_HELLO", "no descriptor"}});
  const std::string words = "kernel `" + source + "` exports no `kbench_kernel_descriptor`";
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--problem", "qr_v2"}}) {
    std::vector<std::string> line = {"test", file, "--kernel", source};
    line.insert(line.end(), more.begin(), more.end());
    CAPTURE(line);
    const PopcornOutcome outcome = popcorn_run(tree, line, environment);
    CHECK(outcome.status == 112);
    CHECK_THAT(outcome.lines, StartsWith("test-count: 2\n"));
    CHECK_THAT(outcome.lines, ContainsSubstring("test.0.error: " + words));
    CHECK_THAT(outcome.lines, ContainsSubstring("test.1.error: " + words));
    CHECK_THAT(outcome.lines, ContainsSubstring("\ncheck: fail\n"));
  }
  const Outcome compared =
      kbench_run(tree, {"compare", "lapack", source, file, "--problem", "qr_v2"}, environment);
  CHECK(compared.status == 112);
  CHECK_THAT(compared.out, ContainsSubstring(words));
  const std::string library = tree.write("own.so", "qr_v2 host");
  const PopcornOutcome refused =
      popcorn_run(tree, {"test", file, "--kernel", library, "--problem", "qr_v2"}, environment);
  CHECK(refused.status == 2);
  CHECK(refused.lines.empty());
}

TEST_CASE("a compilation that takes long is said while it runs") {
  const Tree tree;
  const std::string fifo = tree.make_fifo("fifo"), source = tree.write("my.cpp", "text");
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  Kbench kbench(tree, {"build", source},
                with(fake_compiler(tree, "qr_v2 host"), {{"FAKE_WAITS", fifo}}), {}, std::nullopt,
                ends[1]);
  close(ends[1]);
  const pid_t compiler = read_processes(fifo).front();
  std::string said;
  for (char c = 0; c != '\n' && read(ends[0], &c, 1) == 1;) said += c;
  CHECK(said == "compiling " + source + "\n");
  kill(compiler, SIGCONT);
  CHECK(kbench.wait().status == 0);
  close(ends[0]);
}
