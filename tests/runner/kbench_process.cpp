// Processes and folders for the tests of the runner.
#include "kbench_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace fs = std::filesystem;

Tree::Tree() {
  std::string pattern = (fs::temp_directory_path() / "kbench-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  folder_ = pattern;
  fs::create_directories(path("bin"));
  std::error_code error;
  fs::create_hard_link(fs::read_symlink("/proc/self/exe"), path("bin/kbench"), error);
  if (error) fs::copy_file(fs::read_symlink("/proc/self/exe"), path("bin/kbench"));
  write("kernels/qr_v2/lapack.so", "qr_v2 host");
  write("kernels/eigh_py/lapack.so", "eigh_py host");
  write("kernels/qr_v2/blocked.so", "qr_v2 host");
}

Tree::~Tree() {
  std::error_code error;
  fs::remove_all(folder_, error);
}

std::string Tree::write(const std::string& name, const std::string& text) const {
  fs::create_directories(fs::path(path(name)).parent_path());
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

std::string Tree::read(const std::string& name) const {
  std::ifstream file(path(name), std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Tree::make_fifo(const std::string& name) const {
  if (mkfifo(path(name).c_str(), 0600) != 0) throw std::runtime_error("mkfifo");
  return path(name);
}

Kbench::Kbench(const Tree& tree, const std::vector<std::string>& arguments,
               const Environment& environment, const std::vector<int>& inherited,
               std::optional<int> replaced_stdout, std::optional<int> replaced_stderr)
    : tree_(tree) {
  const std::string program = tree.path("bin/kbench");
  const std::string out = tree.path("stdout"), err = tree.path("stderr");
  std::vector<char*> words = {const_cast<char*>(program.c_str())};
  for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  process_ = fork();
  if (process_ != 0) return;
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  dup2(replaced_stdout ? *replaced_stdout : open(out.c_str(), flags, 0600), 1);
  dup2(replaced_stderr ? *replaced_stderr : open(err.c_str(), flags, 0600), 2);
  for (int fd = 3; fd < 256; ++fd) {
    const bool keep = std::find(inherited.begin(), inherited.end(), fd) != inherited.end();
    fcntl(fd, F_SETFD, keep ? 0 : FD_CLOEXEC);
  }
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  execv(program.c_str(), words.data());
  _exit(99);
}

Outcome Kbench::wait() {
  Outcome outcome;
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = tree_.read("stdout");
  outcome.err = tree_.read("stderr");
  return outcome;
}

Outcome kbench_run(const Tree& tree, const std::vector<std::string>& arguments,
                   const Environment& environment) {
  return Kbench(tree, arguments, environment).wait();
}

PopcornOutcome popcorn_run(const Tree& tree, const std::vector<std::string>& arguments,
                           Environment environment) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("pipe");
  environment["POPCORN_FD"] = std::to_string(ends[1]);
  Kbench kbench(tree, arguments, environment, {ends[1]});
  close(ends[1]);
  PopcornOutcome outcome;
  static_cast<Outcome&>(outcome) = kbench.wait();
  std::array<char, 65536> bytes;
  for (ssize_t count = 0; (count = read(ends[0], bytes.data(), bytes.size())) > 0;) {
    outcome.lines.append(bytes.data(), static_cast<std::size_t>(count));
  }
  close(ends[0]);
  return outcome;
}

std::vector<pid_t> read_processes(const std::string& fifo) {
  std::ifstream file(fifo);
  std::vector<pid_t> processes;
  for (pid_t process = 0; file >> process;) processes.push_back(process);
  return processes;
}

bool is_gone(pid_t process) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd entry{fd, POLLIN, 0};
  const bool gone = poll(&entry, 1, 10000) > 0;
  close(fd);
  return gone;
}
