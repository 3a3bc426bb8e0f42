// What a kernel can do to the worker, and that the run goes on and nothing is left behind.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>

#include "catch.h"
#include "kbench_process.h"

namespace {

std::string case_line(const std::string& name) {
  return "batch: 2; n: 4; cond: 1; seed: 5; case: " + name + "\n";
}

}  // namespace

TEST_CASE("a kernel that breaks the worker is one failed case in words and the rest still runs") {
  const Tree tree;
  struct Row {
    std::string name, words;
  };
  const std::vector<Row> rows = {
      {"segv", "worker killed by SIGSEGV before replying"},
      {"latesegv", "worker killed by SIGSEGV before replying (phase: repeat 3)"},
      {"exit0", "worker exited with status 0 before replying"},
      {"hang", "custom_kernel did not return within 0.125 s: killed (phase: checked pass 2)"},
      {"stuck", "kbench's own code did not return within 0.125 s: killed (phase: check 2)"},
      {"garbage", "worker's channel was disturbed (the stream holds bytes that are no frame)"},
      {"wrongtoken", "worker's channel was disturbed (a message without the token of the job)"},
      {"wrongtype", "worker's channel was disturbed (a message that only the runner sends)"},
      {"closes", "worker's channel was disturbed (closed by the living worker)"},
      {"sticky", "illegal address"},
  };
  // Under a profiler the worker is a plain child without a keeper; nothing else may differ.
  for (std::size_t run = 0; run < 2 * rows.size(); ++run) {
    const Row& row = rows[run / 2];
    const std::string session = run % 2 == 0 ? "" : "1";
    CAPTURE(row.name, session);
    const std::string file =
        tree.write("f.txt", case_line("dense") + case_line(row.name) + case_line("dense"));
    const std::string log = tree.write("log", "");
    const PopcornOutcome outcome =
        popcorn_run(tree, {"test", file, "--problem", "qr_v2"},
                    {{"FAKE_LOG", log}, {"NSYS_PROFILING_SESSION_ID", session}});
    CHECK(outcome.status == 112);
    CHECK_THAT(outcome.lines, ContainsSubstring("test.0.status: pass\n"));
    CHECK_THAT(outcome.lines,
               ContainsSubstring("test.1.status: fail\ntest.1.error: " + row.words + "\n"));
    CHECK_THAT(outcome.lines, ContainsSubstring("test.2.status: pass\n"));
    CHECK_THAT(outcome.lines, ContainsSubstring("check: fail\n"));
    // A fresh worker, and only one.
    const std::string lines = tree.read("log");
    std::size_t set_ups = 0;
    for (std::size_t at = 0; (at = lines.find("setup", at)) != std::string::npos; ++at) ++set_ups;
    CHECK(set_ups == 2);
  }
}

TEST_CASE("a kernel's chatter goes to stderr, bounded, and never into the results") {
  const Tree tree;
  const std::string file = tree.write("f.txt", case_line("chatter"));
  const PopcornOutcome outcome = popcorn_run(tree, {"test", file, "--problem", "qr_v2"});
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, ContainsSubstring("... output of the worker cut"));
  CHECK(outcome.err.size() < 70000);
  CHECK_THAT(outcome.out, !ContainsSubstring("xxxx"));
  CHECK_THAT(outcome.lines, !ContainsSubstring("xxxx"));
}

TEST_CASE("a process that left the worker's session does not outlive the run") {
  const Tree tree;
  struct Row {
    std::string name, session;
  };
  const std::vector<Row> rows = {
      {"daemon", ""}, {"daemonexit", ""}, {"killkeeper", ""}, {"daemon", "1"}, {"daemonexit", "1"}};
  for (const auto& [name, session] : rows) {
    CAPTURE(name, session);
    const std::string fifo = tree.make_fifo(name + session);
    const std::string file = tree.write("f.txt", case_line(name));
    Kbench kbench(tree, {"test", file, "--problem", "qr_v2"},
                  {{"FAKE_FIFO", fifo}, {"NSYS_PROFILING_SESSION_ID", session}});
    const std::vector<pid_t> processes = read_processes(fifo);
    REQUIRE(processes.size() == 2);
    CHECK(kbench.wait().status == (name == "daemon" ? 0 : 112));
    // Not within a while: when kbench has ended they have ended.
    for (const pid_t process : processes) CHECK(kill(process, 0) != 0);
  }
}

TEST_CASE("a signal ends the run with a verdict and leaves no process") {
  const Tree tree;
  const std::string file =
      tree.write("f.txt", case_line("dense") + case_line("wait") + case_line("dense"));
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    CAPTURE(signal);
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    unlink(tree.path("fifo").c_str());
    const std::string fifo = tree.make_fifo("fifo");
    Kbench kbench(tree, {"test", file, "--problem", "qr_v2"},
                  {{"FAKE_FIFO", fifo}, {"POPCORN_FD", std::to_string(ends[1])}}, {ends[1]});
    close(ends[1]);
    const std::vector<pid_t> processes = read_processes(fifo);
    kill(kbench.process(), signal);
    kill(kbench.process(), signal);
    CHECK(kbench.wait().status == 112);
    for (const pid_t process : processes) CHECK(kill(process, 0) != 0);
    std::array<char, 4096> bytes;
    std::string lines;
    // The end of the stream shows that nobody holds the descriptor any more.
    for (ssize_t count = 0; (count = read(ends[0], bytes.data(), bytes.size())) > 0;) {
      lines.append(bytes.data(), static_cast<std::size_t>(count));
    }
    close(ends[0]);
    CHECK_THAT(lines, ContainsSubstring("test.1.error: stopped (interrupted)\n"));
    CHECK_THAT(lines, ContainsSubstring("test.2.error: not run (interrupted)\ncheck: fail\n"));
  }
}

TEST_CASE("SIGKILL of the runner leaves no process either") {
  const Tree tree;
  const std::string fifo = tree.make_fifo("fifo");
  const std::string file = tree.write("f.txt", case_line("wait"));
  Kbench kbench(tree, {"test", file, "--problem", "qr_v2"}, {{"FAKE_FIFO", fifo}});
  const std::vector<pid_t> processes = read_processes(fifo);
  REQUIRE(processes.size() == 2);
  kill(kbench.process(), SIGKILL);
  CHECK(kbench.wait().status == 128 + SIGKILL);
  for (const pid_t process : processes) CHECK(is_gone(process));
}

TEST_CASE("the time limit stops the running case and the rest, with a verdict") {
  const Tree tree;
  const std::string fifo = tree.path("fifo");
  const std::string file =
      tree.write("f.txt", case_line("dense") + case_line("wait") + case_line("dense"));
  tree.make_fifo("fifo");
  const int reader = open(fifo.c_str(), O_RDWR);
  const PopcornOutcome outcome = popcorn_run(
      tree, {"test", file, "--problem", "qr_v2", "--time-limit", "0.75"}, {{"FAKE_FIFO", fifo}});
  close(reader);
  CHECK(outcome.status == 112);
  CHECK_THAT(outcome.lines, ContainsSubstring("test.0.status: pass\n"));
  CHECK_THAT(outcome.lines, ContainsSubstring("test.1.error: stopped (time limit of 0.75 s)\n"));
  CHECK_THAT(outcome.lines, ContainsSubstring("test.2.error: not run (time limit)\ncheck: fail\n"));
}

TEST_CASE("in-process runs the worker in a thread, says so, and still ends when it hangs") {
  const Tree tree;
  const std::string good = tree.write("good.txt", case_line("dense"));
  const Outcome pass = kbench_run(tree, {"test", good, "--in-process"});
  CHECK(pass.status == 0);
  CHECK_THAT(pass.err, ContainsSubstring("isolation is off"));
  const std::string bad = tree.write("bad.txt", case_line("hang") + case_line("dense"));
  const PopcornOutcome hang =
      popcorn_run(tree, {"test", bad, "--in-process", "--problem", "qr_v2"});
  CHECK(hang.status == 112);
  CHECK_THAT(hang.lines, ContainsSubstring("test.0.error: custom_kernel did not return"));
  CHECK_THAT(hang.lines, ContainsSubstring("test.1.error: not run (the worker's thread"));
  CHECK_THAT(hang.lines, ContainsSubstring("check: fail\n"));
}

TEST_CASE("a worker that is stopped is ended at once and the rest still runs") {
  const Tree tree;
  const std::string file = tree.write("f.txt", case_line("stops") + case_line("dense"));
  const PopcornOutcome outcome = popcorn_run(tree, {"test", file, "--problem", "qr_v2"});
  CHECK(outcome.status == 112);
  CHECK_THAT(outcome.lines, ContainsSubstring("test.0.error: worker stopped by SIGSTOP before "
                                              "replying (phase: check 2)\n"));
  CHECK_THAT(outcome.lines, ContainsSubstring("test.1.status: pass\n"));
}

TEST_CASE("no descriptor of the runner or its keeper can be opened by a worker") {
  const Tree tree;
  const std::string file = tree.write("f.txt", case_line("reaches") + case_line("wrong"));
  const PopcornOutcome outcome = popcorn_run(tree, {"test", file, "--problem", "qr_v2"});
  CHECK_THAT(outcome.lines, ContainsSubstring("test.0.message: reached 0\n"));
  CHECK_THAT(outcome.lines, !ContainsSubstring("check: pass"));
}

TEST_CASE("no worker is left when the last case and the verdict are written") {
  const Tree tree;
  const std::string file = tree.write("f.txt", case_line("dense") + case_line("dense"));
  const std::string lines = tree.write("lines", "");
  const int fd = open(lines.c_str(), O_WRONLY);
  Kbench kbench(
      tree, {"test", file, "--problem", "qr_v2"},
      {{"POPCORN_FD", std::to_string(fd)}, {"FAKE_LOG", tree.path("log")}, {"FAKE_LINES", lines}},
      {fd});
  close(fd);
  CHECK(kbench.wait().status == 0);
  const std::string log = tree.read("log");
  CHECK_THAT(log, ContainsSubstring("lines when it left:\ntest-count: 2\ntest.0.spec"));
  CHECK_THAT(log, !ContainsSubstring("test.1"));
  CHECK_THAT(tree.read("lines"), ContainsSubstring("test.1.status: pass\n"));
}

TEST_CASE("when no second worker can be started the cases fail in words and there is a verdict") {
  const Tree tree;
  const std::string file =
      tree.write("f.txt", case_line("dense") + case_line("starves") + case_line("dense"));
  const PopcornOutcome outcome = popcorn_run(tree, {"test", file, "--problem", "qr_v2"});
  CHECK(outcome.status == 112);
  CHECK_THAT(outcome.lines, ContainsSubstring("test.0.status: pass\n"));
  CHECK_THAT(outcome.lines,
             ContainsSubstring("test.2.error: cannot start a worker (socketpair: Too many open "
                               "files); free processes and descriptors\ncheck: fail\n"));
}
