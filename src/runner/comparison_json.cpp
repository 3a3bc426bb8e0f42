// The document `kbench.comparison/1` (docs/comparing.md) as a pure function of a comparison's
// record. Writes no file.
#include <nlohmann/json.hpp>

#include "runner/comparison.h"
#include "runner/json_values.h"

namespace kbench {
namespace {

using Json = nlohmann::ordered_json;

Json ratios_json(const ComparisonRecord& record, const std::vector<ComparedRatio>& ratios) {
  Json list = Json::array();
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    const Ratio& ratio = ratios[i].ratio;
    Json interval = nullptr;
    if (ratio.interval)
      interval = {json_number(ratio.interval->low), json_number(ratio.interval->high)};
    list.push_back({{"kernel", kernel_letter(i + 1)},
                    {"ratio", json_number(ratio.value)},
                    {"interval", interval},
                    {"verdict", to_string(ratios[i].verdict)},
                    {"too_slow", record.fail_if_slower.has_value() &&
                                     is_slower_by(ratio, *record.fail_if_slower)}});
  }
  return list;
}

Json times_json(const ComparedTimes& times, std::size_t kernel) {
  Json samples = Json::array();
  for (const double sample : times.samples_ns) samples.push_back(json_number(sample));
  return {{"kernel", kernel_letter(kernel)},
          {"error", json_text_or_null(times.error)},
          {"samples_ns", samples},
          {"median_ns", times.samples_ns.empty() ? Json(nullptr) : json_number(times.median_ns)},
          {"worst_of_gate", json_number(times.worst_of_gate)},
          {"worst_gate", json_text_or_null(times.worst_gate)}};
}

Json case_json(const ComparisonRecord& record, std::size_t i) {
  const ComparedCase& row = record.cases[i];
  Json times = Json::array();
  for (std::size_t k = 0; k < row.times.size(); ++k) times.push_back(times_json(row.times[k], k));
  return {{"index", i},
          {"case_index", row.case_index},
          {"problem", json_text(row.spec.problem)},
          {"spec", json_text(row.spec.spec)},
          {"batch", row.spec.batch},
          {"n", row.spec.n},
          {"cond", row.spec.cond},
          {"seed", row.spec.seed},
          {"case", json_text(row.spec.kind)},
          {"input", json_text_or_null(row.spec.input_path)},
          {"fresh_inputs", json_text_or_null(row.fresh_inputs)},
          {"stop", to_string(row.stop)},
          {"times", times},
          {"ratios", ratios_json(record, row.ratios)}};
}

Json kernels_json(const ComparisonRecord& record) {
  Json kernels = Json::array();
  for (std::size_t k = 0; k < record.kernels.size(); ++k) {
    const ComparedKernel& kernel = record.kernels[k];
    kernels.push_back({{"letter", kernel_letter(k)},
                       {"asked", json_text(kernel.asked)},
                       {"name", json_text(kernel.info.name)},
                       {"path", json_text(kernel.info.path)},
                       {"source", json_text_or_null(kernel.source)}});
  }
  return kernels;
}

Json device_json(const std::optional<DeviceInfo>& device) {
  if (!device) return nullptr;
  return {{"kind", to_string(device->kind)},     {"index", device->index},
          {"name", json_text(device->name)},     {"uuid", json_text(device->uuid)},
          {"driver", json_text(device->driver)}, {"runtime", json_text(device->runtime)},
          {"clock", json_text(device->clock)},   {"flush_bytes", device->flush_bytes}};
}

}  // namespace

std::string comparison_document(const ComparisonRecord& record) {
  Json words = Json::array();
  for (const std::string& word : record.command_line) words.push_back(json_text(word));
  Json json = {
      {"schema", "kbench.comparison/1"},
      {"kbench_version", KBENCH_VERSION},
      {"started", record.started},
      {"command_line", words},
      {"hostname", json_text(record.machine.hostname)},
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
        {{"problem", json_text(mean.problem)}, {"ratios", ratios_json(record, mean.ratios)}});
  }
  json["finished"] = record.finished;
  json["exit_code"] = record.finished ? Json(static_cast<int>(record.exit_code)) : Json(nullptr);
  return json.dump(1) + '\n';
}

}  // namespace kbench
