// A results document (docs/results.md) read back from its file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/comparison.h"
#include "core/message.h"
#include "runner/machine.h"

namespace kbench {

struct ResultCase {
  Case spec;
  std::int64_t index = 0;
  std::string kernel;
  std::string status;  ///< `pass`, `fail`, `not run`
  std::string error;
  std::string not_comparable;  ///< reason, or empty
  std::vector<Figure> residuals;
  double worst_of_gate = 0;
  std::string worst_gate;
  std::vector<double> samples_ns;
  std::optional<double> mean_ns, err_ns, best_ns, median_ns;  ///< as the document states them
  std::string stop;
  std::int64_t calls_per_repeat = 0;
  std::string fresh_inputs;
  std::optional<Ratio> over_baseline;
  double wall_s = 0;            ///< of the case as a whole; 0 in documents that do not state it
  double flops = 0, bytes = 0;  ///< nominal; 0 in documents that do not state them
  double floor_ns = 0;
  std::string floor_reason;
  double copy_bytes_per_s = 0, tensor_flops_per_s = 0;  ///< 0: not known
  std::vector<std::string> warnings;
};

struct ResultsFile {
  std::string path;
  std::string kbench_version, started, mode, profiler, baseline, verdict;
  std::vector<std::string> command_line;
  std::vector<std::pair<std::string, std::string>> tags;
  MachineInfo machine;
  std::optional<DeviceInfo> device;
  bool warm_up = true;
  bool finished = false;
  std::vector<ResultCase> cases;
};

/// True when `path` ends in `.json`.
bool is_results_path(const std::string& path);

/// Throws Error(usage) naming the file when it cannot be read, is no JSON, has another schema,
/// lacks a key that every version of the schema has, or states a figure that no run can have. The
/// reading, as that of a pipe may never end, ends once `cancelled` answers true.
ResultsFile read_results(const std::string& path, const std::function<bool()>& cancelled);
/// Its text alone, whatever it is. Throws Error(usage) when it cannot be read.
std::string read_results_text(const std::string& path, const std::function<bool()>& cancelled);
/// The same for text that is there already.
ResultsFile parse_results(const std::string& text, const std::string& path);

}  // namespace kbench
