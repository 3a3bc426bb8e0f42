// The document `kbench.comparison/1` (docs/comparing.md) as a pure function of a comparison's
// record. Writes no file.
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "runner/comparison.h"

namespace kbench {
namespace {

using Json = nlohmann::ordered_json;

Json text(const std::string& value) { return to_valid_utf8(value); }

Json text_or_null(const std::string& value) { return value.empty() ? Json(nullptr) : text(value); }

Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json ratios_json(const ComparisonRecord& record, const std::vector<ComparedRatio>& ratios) {
  Json list = Json::array();
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    const Ratio& ratio = ratios[i].ratio;
    Json interval = nullptr;
    if (ratio.interval) interval = {number(ratio.interval->low), number(ratio.interval->high)};
    list.push_back({{"kernel", kernel_letter(i + 1)},
                    {"ratio", number(ratio.value)},
                    {"interval", interval},
                    {"verdict", to_string(ratios[i].verdict)},
                    {"too_slow", record.fail_if_slower.has_value() &&
                                     is_slower_by(ratio, *record.fail_if_slower)}});
  }
  return list;
}

Json times_json(const ComparedTimes& times, std::size_t kernel) {
  Json samples = Json::array();
  for (const double sample : times.samples_ns) samples.push_back(number(sample));
  return {{"kernel", kernel_letter(kernel)},
          {"error", text_or_null(times.error)},
          {"samples_ns", samples},
          {"median_ns", times.samples_ns.empty() ? Json(nullptr) : number(times.median_ns)},
          {"worst_of_gate", number(times.worst_of_gate)},
          {"worst_gate", text_or_null(times.worst_gate)}};
}

Json case_json(const ComparisonRecord& record, std::size_t i) {
  const ComparedCase& row = record.cases[i];
  Json times = Json::array();
  for (std::size_t k = 0; k < row.times.size(); ++k) times.push_back(times_json(row.times[k], k));
  return {{"index", i},
          {"case_index", row.case_index},
          {"problem", text(row.spec.problem)},
          {"spec", text(row.spec.spec)},
          {"batch", row.spec.batch},
          {"n", row.spec.n},
          {"cond", row.spec.cond},
          {"seed", row.spec.seed},
          {"case", text(row.spec.kind)},
          {"input", text_or_null(row.spec.input_path)},
          {"fresh_inputs", text_or_null(row.fresh_inputs)},
          {"stop", to_string(row.stop)},
          {"times", times},
          {"ratios", ratios_json(record, row.ratios)}};
}

Json kernels_json(const ComparisonRecord& record) {
  Json kernels = Json::array();
  for (std::size_t k = 0; k < record.kernels.size(); ++k) {
    const ComparedKernel& kernel = record.kernels[k];
    kernels.push_back({{"letter", kernel_letter(k)},
                       {"asked", text(kernel.asked)},
                       {"name", text(kernel.info.name)},
                       {"path", text(kernel.info.path)},
                       {"source", text_or_null(kernel.source)}});
  }
  return kernels;
}

Json device_json(const std::optional<DeviceInfo>& device) {
  if (!device) return nullptr;
  return {{"kind", to_string(device->kind)}, {"index", device->index},
          {"name", text(device->name)},      {"uuid", text(device->uuid)},
          {"driver", text(device->driver)},  {"runtime", text(device->runtime)},
          {"clock", text(device->clock)},    {"flush_bytes", device->flush_bytes}};
}

}  // namespace

std::string comparison_document(const ComparisonRecord& record) {
  Json words = Json::array();
  for (const std::string& word : record.command_line) words.push_back(text(word));
  Json json = {
      {"schema", "kbench.comparison/1"},
      {"kbench_version", KBENCH_VERSION},
      {"started", record.started},
      {"command_line", words},
      {"hostname", text(record.machine.hostname)},
      {"device", device_json(record.device)},
      {"paired", record.paired},
      {"nonce", record.paired ? Json(record.nonce) : Json(nullptr)},
      {"same", record.same},
      {"run_level", k_run_level},
      {"level", record.level},
      {"fail_if_slower", record.fail_if_slower ? Json(*record.fail_if_slower) : Json(nullptr)},
      {"kernels", kernels_json(record)}};
  json["cases"] = Json::array();
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    json["cases"].push_back(case_json(record, i));
  }
  json["means"] = Json::array();
  for (const ComparedMean& mean : record.means) {
    json["means"].push_back(
        {{"problem", text(mean.problem)}, {"ratios", ratios_json(record, mean.ratios)}});
  }
  json["finished"] = record.finished;
  json["exit_code"] = record.finished ? Json(static_cast<int>(record.exit_code)) : Json(nullptr);
  return json.dump(1) + '\n';
}

}  // namespace kbench
