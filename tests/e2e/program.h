// Runs the kbench of this build as a user or the public runner does, and collects what comes out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace kbench::test {

using Words = std::vector<std::string>;

/// A folder that goes with the object.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path(std::string_view name) const { return folder_ + "/" + std::string(name); }
  /// Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view text) const;
  std::string read(std::string_view name) const;

 private:
  std::string folder_;
};

struct Outcome {
  int status = -1;          ///< exit status, or 128 + signal
  std::string out, err;     ///< what a person sees
  std::string lines;        ///< what stands behind POPCORN_FD
  nlohmann::json document;  ///< of `--json`

  /// Value of a result line, or `(no such line)`.
  std::string line(std::string_view key) const;
};

/// `kbench <mode> <a file with these cases> --kernel <plugin> <options>` to its end.
Outcome run_kbench(std::string_view mode, std::string_view cases, const std::string& plugin,
                   const Words& options);

/// The same by `ranks` ranks of `launcher`. Launchers close most descriptors before a rank starts:
/// the result lines stand among `out`.
Outcome run_ranks(const std::string& launcher, int ranks, std::string_view mode,
                  std::string_view cases, const std::string& plugin, const Words& options);

/// `kbench compare <kernels> <a file with these cases> <options>` to its end.
Outcome compare_kernels(const Words& kernels, std::string_view cases, const Words& options);

/// A test plug-in and a shipped kernel of this build.
std::string test_plugin(std::string_view name);
std::string shipped_kernel(std::string_view problem, std::string_view name);

}  // namespace kbench::test
