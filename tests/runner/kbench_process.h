// Starts this executable as kbench in an installed tree of its own and collects what comes out.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

/// A folder that goes with the object: `bin/kbench`, `kernels/<problem>/<name>.so` (fake plug-ins),
/// `share/kbench/specs/<problem>.yaml` and whatever a test writes.
class Tree {
 public:
  Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree();

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;
  std::string make_fifo(const std::string& name) const;

 private:
  std::string folder_;
};

struct Outcome {
  int status = -1;  ///< exit status, or 128 + signal
  std::string out, err;
};

using Environment = std::map<std::string, std::string>;

/// kbench, running. The descriptors in `inherited` are passed on as they are numbered.
class Kbench {
 public:
  Kbench(const Tree& tree, const std::vector<std::string>& arguments,
         const Environment& environment = {}, const std::vector<int>& inherited = {},
         std::optional<int> replaced_stdout = std::nullopt,
         std::optional<int> replaced_stderr = std::nullopt);
  Kbench(const Kbench&) = delete;
  Kbench& operator=(const Kbench&) = delete;

  pid_t process() const { return process_; }
  Outcome wait();

 private:
  const Tree& tree_;
  pid_t process_;
};

/// Runs kbench to its end.
Outcome kbench_run(const Tree& tree, const std::vector<std::string>& arguments,
                   const Environment& environment = {});

struct PopcornOutcome : Outcome {
  std::string lines;  ///< what stands in the pipe after the end, as the calling runner reads it
};

/// The same with POPCORN_FD: a pipe that is read only after the end.
PopcornOutcome popcorn_run(const Tree& tree, const std::vector<std::string>& arguments,
                           Environment environment = {});

/// Reads the numbers that a waiting worker writes into the fifo; blocks until they come.
std::vector<pid_t> read_processes(const std::string& fifo);

/// True when the process is gone, or goes within ten seconds.
bool is_gone(pid_t process);
