// The life of the keeper process. It shares no descriptor, session or terminal with the runner, so
// neither a closed terminal nor a signal to the runner's group ends it before its work is done.
#include "runner/keeper.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runner/descendants.h"

namespace kbench {
namespace {

constexpr int k_socket = 3;
/// Processes stuck in a driver may take this long to die; after that nothing can be done.
constexpr int k_patience_ms = 60000;

void close_between(unsigned first, unsigned last) {
  if (first > last || close_range(first, last, 0) == 0) return;
  const long limit = sysconf(_SC_OPEN_MAX);
  for (unsigned fd = first; fd <= last && static_cast<long>(fd) < limit; ++fd) {
    close(static_cast<int>(fd));
  }
}

template <std::size_t N>
void close_all_but(std::array<int, N> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned first = 0;
  for (int fd : kept) {
    if (fd > 0) close_between(first, static_cast<unsigned>(fd) - 1);
    first = static_cast<unsigned>(fd) + 1;
  }
  close_between(first, ~0u);
}

void default_signals() {
  for (int signal : {SIGPIPE, SIGXFSZ, SIGTERM, SIGINT, SIGHUP, SIGCHLD}) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Without this right even a worker of root cannot look into the runner, which is not dumpable.
/// Taken from every set that an exec draws on.
void give_up_tracing() {
  prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return;
  auto& low = sets[CAP_TO_INDEX(CAP_SYS_PTRACE)];
  low.effective &= ~CAP_TO_MASK(CAP_SYS_PTRACE);
  low.permitted &= ~CAP_TO_MASK(CAP_SYS_PTRACE);
  low.inheritable &= ~CAP_TO_MASK(CAP_SYS_PTRACE);
  syscall(SYS_capset, &header, sets.data());
}

void tell(int status_fd, int status) {
  // A failed write means that the runner is gone; what is left to do is the same.
  [[maybe_unused]] const ssize_t told = write(status_fd, &status, sizeof status);
}

/// True when the worker has been reaped, or stands still and will be ended; its status has then
/// been told.
bool reap(pid_t worker, int status_fd) {
  int status = 0;
  pid_t reaped = 0;
  while ((reaped = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
    if (reaped != worker) continue;
    tell(status_fd, status);
    return true;
  }
  return false;
}

}  // namespace

void become_worker(const KeeperEnds& ends, pid_t parent, const std::string& executable,
                   bool keep_others) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  default_signals();
  dup2(ends.output, 1);
  dup2(ends.output, 2);
  int socket = ends.socket;
  if (!keep_others && socket != k_socket) {
    dup2(socket, k_socket);
    socket = k_socket;
  } else {
    fcntl(socket, F_SETFD, 0);
  }
  if (!keep_others) {
    close_between(k_socket + 1, ~0u);
    give_up_tracing();
  }
  const std::string number = std::to_string(socket);
  // The path is gone when kbench was rebuilt meanwhile; the link still leads to the same program.
  for (const char* path : {executable.c_str(), "/proc/self/exe"}) {
    execl(path, path, "worker", "--socket", number.c_str(), static_cast<char*>(nullptr));
  }
  dprintf(2, "cannot start the worker `%s` (%s)\n", executable.c_str(), std::strerror(errno));
  _exit(127);
}

void keep(const KeeperEnds& ends, const std::string& executable) {
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "kbench-keeper");
  // What it inherits of the runner's memory is no more the worker's business than the runner's own.
  prctl(PR_SET_DUMPABLE, 0);
  signal(SIGPIPE, SIG_IGN);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_DFL);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_SETMASK, &child, nullptr);
  close_all_but(std::array{ends.life, ends.status, ends.socket, ends.output});
  // Descriptors 0-2 are free now and are taken in turn.
  for (int fd = 0; fd <= 2; ++fd) {
    if (open("/dev/null", O_RDWR) > 2) break;
  }
  const int deaths = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);

  const pid_t keeper = getpid();
  const pid_t worker = fork();
  if (worker == 0) become_worker(ends, keeper, executable, false);
  if (worker < 0) tell(ends.status, -errno);
  close(ends.socket);
  close(ends.output);

  std::array<pollfd, 2> wait = {{{ends.life, POLLIN, 0}, {deaths, POLLIN, 0}}};
  while (worker > 0 && wait[0].revents == 0) {
    poll(wait.data(), wait.size(), -1);
    signalfd_siginfo info;
    while (read(deaths, &info, sizeof info) > 0) {
    }
    if (reap(worker, ends.status)) break;
  }
  _exit(end_descendants({}, k_patience_ms) ? 0 : 1);
}

}  // namespace kbench
