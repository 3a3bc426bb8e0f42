// Runs a compiler, or any program, below a small guard process that ends it and its children when
// the runner cancels, dies or is killed. Does not know what the program is for.
#include "runner/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

#include "core/error.h"
#include "runner/descendants.h"
#include "runner/fd.h"

namespace kbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int k_poll_ms = 50;
constexpr int k_patience_ms = 10000;

struct Pipe {
  Fd read, write;
};

[[noreturn]] void refuse(const char* what) {
  throw Error(ExitCode::usage,
              fmt::format("cannot start a program ({}: {}); free processes and descriptors", what,
                          std::strerror(errno)));
}

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) refuse("pipe2");
  return {Fd(ends[0]), Fd(ends[1])};
}

/// argv and envp as execve wants them, made before the fork.
struct ExecText {
  std::vector<std::string> variables;
  std::vector<char*> argv, envp;

  explicit ExecText(const Command& command) {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view name = std::string_view(*entry).substr(0, std::strcspn(*entry, "="));
      const bool replaced = std::any_of(command.environment.begin(), command.environment.end(),
                                        [&](const auto& pair) { return pair.first == name; });
      if (!replaced) variables.emplace_back(*entry);
    }
    for (const auto& [name, value] : command.environment) variables.push_back(name + '=' + value);
    for (const std::string& word : command.argv) argv.push_back(const_cast<char*>(word.c_str()));
    for (std::string& variable : variables) envp.push_back(variable.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
  }
};

/// Ends of the pipes as the guard holds them after the fork.
struct GuardEnds {
  int life, status, output;
};

void close_all_but(std::array<int, 3> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned first = 3;
  for (int fd : kept) {
    const unsigned number = static_cast<unsigned>(fd);
    if (number > first) close_range(first, number - 1, 0);
    first = std::max(first, number + 1);
  }
  close_range(first, ~0u, 0);
}

[[noreturn]] void become_program(const ExecText& text, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int signal : {SIGPIPE, SIGXFSZ, SIGTERM, SIGINT, SIGHUP, SIGCHLD}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, 0);
  dup2(output, 1);
  dup2(output, 2);
  close_range(3, ~0u, 0);
  execve(text.argv[0], text.argv.data(), text.envp.data());
  dprintf(2, "cannot start `%s` (%s)\n", text.argv[0], std::strerror(errno));
  _exit(127);
}

/// Reaps what has ended; true once the program is among it.
bool reap(pid_t program, int& status) {
  int its_status = 0;
  bool ended = false;
  for (pid_t reaped = 0; (reaped = waitpid(-1, &its_status, WNOHANG)) > 0;) {
    if (reaped != program) continue;
    status = its_status;
    ended = true;
  }
  return ended;
}

/// Body of the guard: the program's wait status goes to `ends.status`; everything below is ended
/// when the program has, or as soon as the runner lets go of the life pipe. The guard's own copy of
/// the output's end tells the runner by its closing that all of this is done.
[[noreturn]] void guard(const ExecText& text, const GuardEnds& ends) {
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  signal(SIGPIPE, SIG_IGN);
  for (int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_DFL);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_SETMASK, &child, nullptr);
  close_all_but({ends.life, ends.status, ends.output});
  const int deaths = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);

  const pid_t program = fork();
  if (program == 0) become_program(text, ends.output);
  int status = 127 << 8;
  bool ended = program < 0;
  std::array<pollfd, 2> wait = {{{ends.life, POLLIN, 0}, {deaths, POLLIN, 0}}};
  while (!ended && wait[0].revents == 0) {
    poll(wait.data(), wait.size(), -1);
    signalfd_siginfo info;
    while (read(deaths, &info, sizeof info) > 0) {
    }
    ended = reap(program, status);
  }
  end_descendants({}, k_patience_ms);
  _exit(ended && write(ends.status, &status, sizeof status) == sizeof status ? 0 : 1);
}

/// Takes what there is. False at the end of the stream.
bool read_some(int fd, std::string& output, std::size_t limit) {
  std::array<char, 65536> bytes;
  const ssize_t count = read(fd, bytes.data(), bytes.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  const std::size_t room = limit + 1 - std::min(limit + 1, output.size());
  output.append(bytes.data(), std::min(room, static_cast<std::size_t>(count)));
  return count > 0;
}

CommandResult::End read_all(const Command& command, int fd, std::string& output) {
  const Clock::time_point start = Clock::now();
  for (bool open = true; open;) {
    if (command.cancelled && command.cancelled()) return CommandResult::End::cancelled;
    const std::chrono::duration<double> spent = Clock::now() - start;
    if (command.time_limit_s > 0 && spent.count() > command.time_limit_s) {
      return CommandResult::End::timed_out;
    }
    pollfd entry{fd, POLLIN, 0};
    if (poll(&entry, 1, k_poll_ms) > 0) open = read_some(fd, output, command.output_limit);
  }
  return CommandResult::End::exited;
}

}  // namespace

CommandResult run_command(const Command& command) {
  const ExecText text(command);
  Pipe life = make_pipe(), status = make_pipe(), output = make_pipe();
  const pid_t child = fork();
  if (child < 0) refuse("fork");
  if (child == 0) {
    for (Fd* fd : {&life.write, &status.read, &output.read}) fd->reset();
    guard(text, {life.read.get(), status.write.get(), output.write.get()});
  }
  life.read.reset();
  status.write.reset();
  output.write.reset();

  CommandResult result;
  result.end = read_all(command, output.read.get(), result.output);
  if (result.output.size() > command.output_limit) {
    result.output.resize(command.output_limit);
    result.output += fmt::format("\n... (cut after {} bytes)\n", command.output_limit);
  }
  const bool ended = result.end == CommandResult::End::exited;
  if (!ended) life.write.reset();
  int wait_status = 0;
  const ssize_t count = read(status.read.get(), &wait_status, sizeof wait_status);
  life.write.reset();
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!ended) return result;
  if (count != sizeof wait_status) wait_status = SIGKILL;  // the guard itself was killed
  result.end =
      WIFSIGNALED(wait_status) ? CommandResult::End::signalled : CommandResult::End::exited;
  result.status = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  return result;
}

std::string describe_end(const CommandResult& result, double time_limit_s) {
  switch (result.end) {
    case CommandResult::End::exited:
      return fmt::format("exit status {}", result.status);
    case CommandResult::End::signalled: {
      const char* name = sigabbrev_np(result.status);
      return name != nullptr ? fmt::format("killed by SIG{}", name)
                             : fmt::format("killed by signal {}", result.status);
    }
    case CommandResult::End::timed_out:
      return fmt::format("time limit of {:g} s", time_limit_s);
    case CommandResult::End::cancelled:
      return "interrupted";
  }
  return "";
}

}  // namespace kbench
