// Processes and folders for the end-to-end tests. Knows the command line and the files it names;
// does not know what a test expects.
#include "program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace fs = std::filesystem;

namespace kbench::test {
namespace {

constexpr int k_result_fd = 9;

/// This environment with POPCORN_FD and without what would change a run. Tiny matrices gain nothing
/// from OpenBLAS's threads, and on a busy machine every hand-over to one waits for its turn.
Words environment(int result_fd) {
  Words words = {"POPCORN_FD=" + std::to_string(result_fd), "OMPI_ALLOW_RUN_AS_ROOT=1",
                 "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
                 "OPENBLAS_NUM_THREADS=1"};
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string word = *at;
    if (!word.starts_with("POPCORN_") && !word.starts_with("KBENCH_")) words.push_back(word);
  }
  return words;
}

std::vector<char*> pointers(Words& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

pid_t start(Words argv, const Scratch& scratch, int result_fd) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const auto redirect = [&](int fd, const char* name) {
    posix_spawn_file_actions_addopen(&files, fd, scratch.path(name).c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  };
  redirect(STDOUT_FILENO, "stdout");
  redirect(STDERR_FILENO, "stderr");
  redirect(k_result_fd, "lines");
  Words variables = environment(result_fd);
  pid_t child = -1;
  const int error = posix_spawn(&child, argv[0].c_str(), &files, nullptr, pointers(argv).data(),
                                pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw std::runtime_error("cannot start " + argv[0]);
  return child;
}

Outcome run_to_end(Words argv, const Scratch& scratch, int result_fd = k_result_fd) {
  argv.insert(argv.end(), {"--json", scratch.path("results.json")});
  const pid_t child = start(argv, scratch, result_fd);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  Outcome outcome;
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = scratch.read("stdout");
  outcome.err = scratch.read("stderr");
  outcome.lines = scratch.read("lines");
  outcome.document = nlohmann::json::parse(scratch.read("results.json"), nullptr, false);
  return outcome;
}

}  // namespace

Scratch::Scratch() {
  std::string pattern = (fs::temp_directory_path() / "kbench-e2e-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  folder_ = pattern;
}

Scratch::~Scratch() {
  std::error_code error;
  fs::remove_all(folder_, error);
}

std::string Scratch::write(std::string_view name, std::string_view text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

std::string Scratch::read(std::string_view name) const {
  std::ifstream file(path(name), std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Outcome::line(std::string_view key) const {
  const std::string start = std::string(key) + ": ";
  std::istringstream stream(lines);
  for (std::string text; std::getline(stream, text);) {
    if (text.starts_with(start)) return text.substr(start.size());
  }
  return "(no such line)";
}

Outcome run_kbench(std::string_view mode, std::string_view cases, const std::string& plugin,
                   const Words& options) {
  const Scratch scratch;
  Words argv = {KBENCH_BINARY_DIR "/bin/kbench", std::string(mode),
                scratch.write("cases.txt", cases), "--kernel", plugin};
  argv.insert(argv.end(), options.begin(), options.end());
  return run_to_end(std::move(argv), scratch);
}

Outcome run_ranks(const std::string& launcher, int ranks, std::string_view mode,
                  std::string_view cases, const std::string& plugin, const Words& options) {
  const Scratch scratch;
  Words argv = {launcher,
                "-n",
                std::to_string(ranks),
                KBENCH_BINARY_DIR "/bin/kbench",
                std::string(mode),
                scratch.write("cases.txt", cases),
                "--kernel",
                plugin};
  argv.insert(argv.end(), options.begin(), options.end());
  return run_to_end(std::move(argv), scratch, STDOUT_FILENO);
}

Outcome compare_kernels(const Words& kernels, std::string_view cases, const Words& options) {
  const Scratch scratch;
  Words argv = {KBENCH_BINARY_DIR "/bin/kbench", "compare"};
  argv.insert(argv.end(), kernels.begin(), kernels.end());
  argv.push_back(scratch.write("cases.txt", cases));
  argv.insert(argv.end(), options.begin(), options.end());
  return run_to_end(std::move(argv), scratch);
}

std::string test_plugin(std::string_view name) {
  return KBENCH_BINARY_DIR "/tests/plugins/" + std::string(name) + ".so";
}

std::string shipped_kernel(std::string_view problem, std::string_view name) {
  return KBENCH_BINARY_DIR "/kernels/" + std::string(problem) + "/" + std::string(name) + ".so";
}

}  // namespace kbench::test
