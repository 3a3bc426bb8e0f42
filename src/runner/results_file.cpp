// Reads `kbench.results/1` back into plain data. Keys that came later than the schema's first
// version may be missing; what a figure means is not decided here.
#include "runner/results_file.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "core/text.h"
#include "runner/bounded_file.h"
#include "runner/json_values.h"

namespace kbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view k_schema = "kbench.results/1";

const Json& member(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw std::runtime_error(fmt::format("there is no key `{}`", key));
  return *found;
}

bool is_time(double value) { return std::isfinite(value) && value > 0; }

std::int64_t integer(const Json& object, const char* key) {
  return member(object, key).get<std::int64_t>();
}

/// 0 where the key is missing or null.
double later_number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? 0 : read_number(*found);
}

const Json& later_object(const Json& object, const char* key) {
  static const Json k_none = Json::object();
  const auto found = object.find(key);
  return found == object.end() || !found->is_object() ? k_none : *found;
}

DeviceInfo read_device(const Json& json) {
  DeviceInfo device;
  device.kind = read_text(json, "kind") == "cuda" ? DeviceKind::cuda : DeviceKind::host;
  device.index = static_cast<int>(integer(json, "index"));
  device.name = read_text(json, "name");
  device.uuid = read_text(json, "uuid");
  device.capability = read_text(json, "capability");
  device.driver = read_text(json, "driver");
  device.runtime = read_text(json, "runtime");
  for (const auto& [name, version] : member(json, "libraries").items()) {
    device.libraries.emplace_back(name, version.get<std::string>());
  }
  device.memory_bytes = integer(json, "memory_bytes");
  device.cache_bytes = integer(json, "cache_bytes");
  device.flush_bytes = integer(json, "flush_bytes");
  device.multiprocessors = static_cast<int>(integer(json, "multiprocessors"));
  device.clock = read_text(json, "clock");
  return device;
}

MachineInfo read_machine(const Json& json) {
  MachineInfo machine;
  machine.hostname = read_text(json, "hostname");
  machine.os = read_text(json, "os");
  machine.kernel = read_text(json, "kernel");
  machine.cpu = read_text(json, "cpu");
  machine.cores = static_cast<int>(integer(json, "cores"));
  machine.memory_bytes = integer(json, "memory_bytes");
  return machine;
}

void read_summary(const Json& json, ResultCase& row) {
  if (json.is_null()) return;
  row.mean_ns = read_number(member(json, "mean"));
  row.err_ns = read_number(member(json, "err"));
  row.best_ns = read_number(member(json, "best"));
  row.median_ns = read_number(member(json, "median"));
}

void read_residuals(const Json& json, ResultCase& row) {
  const Json& gates = later_object(json, "gates");
  for (const auto& [name, value] : member(json, "residuals").items()) {
    row.residuals.push_back({name, read_number(value), later_number(gates, name.c_str())});
  }
  row.worst_of_gate = read_number(member(json, "worst_of_gate"));
  row.worst_gate = read_text(json, "worst_gate");
}

void read_warnings(const Json& json, ResultCase& row) {
  if (json.contains("warnings")) {
    for (const Json& warning : json["warnings"]) row.warnings.push_back(read_text(warning, "text"));
  }
  const Json& clocks = later_object(json, "clocks");
  if (clocks.contains("warnings")) {
    for (const Json& warning : clocks["warnings"]) {
      if (warning.is_string()) row.warnings.push_back(warning.get<std::string>());
    }
  }
}

std::optional<Ratio> read_ratio(const Json& json) {
  if (!json.contains("ratio")) return std::nullopt;
  Ratio ratio{read_number(json["ratio"]), std::nullopt};
  const Json& interval = member(json, "interval");
  if (interval.is_array() && interval.size() == 2) {
    ratio.interval = Interval{read_number(interval[0]), read_number(interval[1])};
  }
  return ratio;
}

[[noreturn]] void refuse_figure(const char* name, double value) {
  throw std::runtime_error(fmt::format("`{}` is {}, which cannot be", name, value));
}

/// Figures that no run has. Times that are none are part of a document, but of no case that passed.
void require_possible(const ResultCase& row) {
  const std::pair<const char*, double> amounts[] = {
      {"batch", static_cast<double>(row.spec.batch)},
      {"n", static_cast<double>(row.spec.n)},
      {"calls_per_repeat", static_cast<double>(row.calls_per_repeat)},
      {"wall_s", row.wall_s},
      {"flops", row.flops},
      {"bytes", row.bytes},
      {"floor_ns", row.floor_ns},
      {"copy_bytes_per_s", row.copy_bytes_per_s},
      {"tensor_flops_per_s", row.tensor_flops_per_s},
      {"err", row.status == "pass" ? row.err_ns.value_or(0) : 0}};
  for (const auto& [name, value] : amounts) {
    if (!std::isfinite(value) || value < 0) refuse_figure(name, value);
  }
  if (row.status != "pass") return;
  const std::pair<const char*, std::optional<double>> times[] = {
      {"mean", row.mean_ns}, {"best", row.best_ns}, {"median", row.median_ns}};
  for (const auto& [name, value] : times) {
    if (value && !is_time(*value)) refuse_figure(name, *value);
  }
  for (const double sample : row.samples_ns) {
    if (!is_time(sample)) refuse_figure("samples_ns", sample);
  }
}

ResultCase read_case(const Json& json) {
  ResultCase row;
  row.index = integer(json, "index");
  row.spec.problem = read_text(json, "problem");
  row.spec.spec = read_text(json, "spec");
  row.spec.batch = integer(json, "batch");
  row.spec.n = integer(json, "n");
  row.spec.cond = integer(json, "cond");
  row.spec.seed = integer(json, "seed");
  row.spec.kind = read_text(json, "case");
  row.spec.input_path = read_text(json, "input");
  row.kernel = read_text(member(json, "kernel"), "name");
  row.status = read_text(json, "status");
  row.error = read_text(json, "error");
  row.not_comparable = read_text(json, "not_comparable_reason");
  read_residuals(json, row);
  for (const Json& sample : member(json, "samples_ns"))
    row.samples_ns.push_back(read_number(sample));
  read_summary(member(json, "summary_ns"), row);
  row.stop = read_text(json, "stop");
  row.calls_per_repeat = integer(json, "calls_per_repeat");
  row.fresh_inputs = read_text(json, "fresh_inputs");
  row.over_baseline = read_ratio(later_object(json, "over_baseline"));
  row.wall_s = later_number(json, "wall_s");
  const Json& nominal = later_object(json, "nominal");
  row.flops = later_number(nominal, "flops");
  row.bytes = later_number(nominal, "bytes");
  row.floor_ns = later_number(json, "floor_ns");
  row.floor_reason = read_text(json, "floor_reason");
  const Json& roof = later_object(json, "roof");
  row.copy_bytes_per_s = later_number(roof, "copy_bytes_per_s");
  row.tensor_flops_per_s = later_number(roof, "tensor_flops_per_s");
  read_warnings(json, row);
  require_possible(row);
  return row;
}

ResultsFile read_document(const Json& json) {
  if (!json.is_object() || read_text(json, "schema") != k_schema) {
    throw std::runtime_error(fmt::format("its schema is not `{}`", k_schema));
  }
  ResultsFile file;
  file.kbench_version = read_text(json, "kbench_version");
  file.started = read_text(json, "started");
  file.mode = read_text(json, "mode");
  file.profiler = read_text(json, "profiler");
  file.baseline = read_text(json, "baseline");
  file.verdict = read_text(json, "verdict");
  for (const Json& word : member(json, "command_line")) {
    file.command_line.push_back(word.get<std::string>());
  }
  for (const auto& [name, value] : later_object(json, "tags").items()) {
    if (value.is_string()) file.tags.emplace_back(name, value.get<std::string>());
  }
  file.machine = read_machine(member(json, "machine"));
  if (!member(json, "device").is_null()) file.device = read_device(json["device"]);
  file.warm_up = member(member(json, "options"), "warm_up").get<bool>();
  file.finished = member(json, "finished").get<bool>();
  for (const Json& row : member(json, "cases")) file.cases.push_back(read_case(row));
  return file;
}

}  // namespace

bool is_results_path(const std::string& path) {
  return std::filesystem::path(path).extension() == ".json";
}

ResultsFile parse_results(const std::string& text, const std::string& path) {
  try {
    ResultsFile file = read_document(Json::parse(text));
    file.path = path;
    return file;
  } catch (const std::exception& error) {
    throw Error(ExitCode::usage,
                fmt::format("`{}` is no results document ({}); give a file that `--json` wrote",
                            to_one_line(path), shorten(to_one_line(error.what()), 200)));
  }
}

std::string read_results_text(const std::string& path, const std::function<bool()>& cancelled) {
  constexpr std::size_t k_most_bytes = std::size_t{1} << 30;
  try {
    return read_bounded(path, k_most_bytes, cancelled);
  } catch (const Unreadable& unreadable) {
    throw Error(ExitCode::usage, fmt::format("cannot read the results `{}` ({}); check the path",
                                             to_one_line(path), unreadable.what()));
  }
}

ResultsFile read_results(const std::string& path, const std::function<bool()>& cancelled) {
  return parse_results(read_results_text(path, cancelled), path);
}

}  // namespace kbench
