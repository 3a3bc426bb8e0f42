// Programs run, are limited, and leave nothing behind.
#include "runner/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "catch.h"
#include "runner_compile/support.h"

using namespace kbench;
using namespace kbench::test;
using End = CommandResult::End;

namespace {

Command shell(const std::string& script) {
  Command command;
  command.argv = {"/bin/sh", "-c", script};
  return command;
}

/// Waits up to ten seconds for `holds`.
template <class Condition>
bool soon(Condition holds) {
  for (int i = 0; i < 1000; ++i) {
    if (holds()) return true;
    poll(nullptr, 0, 10);
  }
  return false;
}

/// A process that has ended and not been reaped counts as gone.
bool is_running(pid_t process) {
  const std::string stat = read("/proc/" + std::to_string(process) + "/stat");
  const std::size_t bracket = stat.rfind(')');
  return bracket != std::string::npos && stat.compare(bracket, 3, ") Z") != 0;
}

pid_t process_in(const fs::path& file) {
  const std::string text = read(file);
  return text.empty() || text.back() != '\n' ? 0 : std::stoi(text);
}

/// Starts a child and a grandchild in a session of its own, both of which would live for long, and
/// writes their ids to `child` and `grandchild` below `folder`.
std::string long_lived(const fs::path& folder) {
  const std::string place = folder.string();
  return "setsid sleep 1000 & echo $! > " + place + "/grandchild; echo $$ > " + place +
         "/child; exec sleep 1000";
}

}  // namespace

TEST_CASE("output of both streams and the exit status come back") {
  const CommandResult result = run_command(shell("echo out; echo err >&2; exit 3"));
  CHECK(result.end == End::exited);
  CHECK(result.status == 3);
  CHECK(result.output == "out\nerr\n");
  CHECK_FALSE(result.succeeded());
  CHECK(describe_end(result, 0) == "exit status 3");
  CHECK(run_command(shell("exit 0")).succeeded());
}

TEST_CASE("arguments meet no shell") {
  Command command;
  command.argv = {"/bin/echo", "$(touch pwn)", "`x`", "a b", "*"};
  CHECK(run_command(command).output == "$(touch pwn) `x` a b *\n");
}

TEST_CASE("death by a signal has a name") {
  const CommandResult result = run_command(shell("kill -SEGV $$"));
  CHECK(result.end == End::signalled);
  CHECK(describe_end(result, 0) == "killed by SIGSEGV");
}

TEST_CASE("a program that cannot be started says why") {
  Command command;
  command.argv = {"/nowhere/program"};
  const CommandResult result = run_command(command);
  CHECK(result.status == 127);
  CHECK(result.output == "cannot start `/nowhere/program` (No such file or directory)\n");
}

TEST_CASE("stdin is empty and variables are set on top of ours") {
  const Variable kept("KBENCH_TEST_KEPT", "kept");
  const Variable replaced("KBENCH_TEST_NEW", "old");
  Command command = shell("cat; echo $KBENCH_TEST_KEPT $KBENCH_TEST_NEW");
  command.environment = {{"KBENCH_TEST_NEW", "new"}};
  CHECK(run_command(command).output == "kept new\n");
}

TEST_CASE("a program gets no descriptor of ours and no blocked signal") {
  const int leaky = fcntl(0, F_DUPFD, 50);  // without close-on-exec
  sigset_t term, before;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_BLOCK, &term, &before);
  Command list, mask;
  list.argv = {"/bin/ls", "/proc/self/fd"};
  mask.argv = {"/bin/grep", "SigBlk:", "/proc/self/status"};
  const std::string descriptors = run_command(list).output, blocked = run_command(mask).output;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  close(leaky);
  CHECK(descriptors == "0\n1\n2\n3\n");  // 3 is the folder that is being listed
  CHECK(blocked == "SigBlk:\t0000000000000000\n");
}

TEST_CASE("endless output is cut, and this is said") {
  Command command = shell("yes | head -c 1000000");
  command.output_limit = 1000;
  const CommandResult result = run_command(command);
  CHECK(result.end == End::exited);
  CHECK(result.output.size() < 1100);
  CHECK_THAT(result.output, ContainsSubstring("... (cut after 1000 bytes)"));
}

TEST_CASE("the time limit ends the program and all that it started") {
  const TempFolder folder;
  Command command = shell(long_lived(folder.path()));
  command.time_limit_s = 0.5;
  const CommandResult result = run_command(command);
  CHECK(result.end == End::timed_out);
  CHECK(describe_end(result, 0.5) == "time limit of 0.5 s");
  CHECK_FALSE(is_running(process_in(folder / "child")));
  CHECK_FALSE(is_running(process_in(folder / "grandchild")));
}

TEST_CASE("the time limit holds for a program that has closed its output") {
  Command command = shell("exec >&- 2>&-; exec sleep 1000");
  command.time_limit_s = 0.3;
  CHECK(run_command(command).end == End::timed_out);
}

TEST_CASE("cancelling ends the program and all that it started") {
  const TempFolder folder;
  Command command = shell(long_lived(folder.path()));
  command.cancelled = [&] { return process_in(folder / "child") != 0; };
  const CommandResult result = run_command(command);
  CHECK(result.end == End::cancelled);
  CHECK(describe_end(result, 0) == "interrupted");
  CHECK_FALSE(is_running(process_in(folder / "child")));
  CHECK_FALSE(is_running(process_in(folder / "grandchild")));
}

TEST_CASE("a child that is left behind with our pipe neither blocks nor survives") {
  const TempFolder folder;
  const auto start = std::chrono::steady_clock::now();
  const CommandResult result = run_command(
      shell("setsid sleep 1000 & echo $! > " + (folder / "grandchild").string() + "; echo done"));
  CHECK(result.succeeded());
  CHECK(result.output == "done\n");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
  CHECK_FALSE(is_running(process_in(folder / "grandchild")));
}

TEST_CASE("when the caller is killed outright, nothing of the program remains") {
  const TempFolder folder;
  const pid_t caller = fork();
  if (caller == 0) {
    run_command(shell(long_lived(folder.path())));
    _exit(0);
  }
  REQUIRE(soon([&] { return process_in(folder / "child") != 0; }));
  const pid_t child = process_in(folder / "child"), grandchild = process_in(folder / "grandchild");
  REQUIRE(is_running(child));
  kill(caller, SIGKILL);
  waitpid(caller, nullptr, 0);
  CHECK(soon([&] { return !is_running(child) && !is_running(grandchild); }));
}
