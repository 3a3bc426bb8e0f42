// The results document `kbench.results/1` as a pure function of the record. docs/results.md states
// every key; a change of meaning needs a new schema name. Writes no file.
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "runner/figures.h"
#include "runner/json_circumstances.h"
#include "runner/json_values.h"
#include "runner/report.h"
#include "runner/trace.h"
#include "runner/warnings.h"

namespace kbench {
namespace {

using Json = nlohmann::ordered_json;

Json words_json(const std::vector<std::string>& words) {
  Json list = Json::array();
  for (const std::string& word : words) list.push_back(json_text(word));
  return list;
}

Json machine_json(const MachineInfo& machine) {
  return {{"hostname", json_text(machine.hostname)},
          {"os", json_text(machine.os)},
          {"kernel", json_text(machine.kernel)},
          {"cpu", json_text(machine.cpu)},
          {"cores", machine.cores},
          {"memory_bytes", machine.memory_bytes}};
}

Json places_json(const RunRecord& record) {
  Json places = Json::array();
  for (const PlaceRecord& place : record.places) {
    places.push_back({{"name", json_text(place.name)},
                      {"rank", place.rank < 0 ? Json(nullptr) : Json(place.rank)},
                      {"hostname", json_text_or_null(place.host)},
                      {"device", place.device ? device_json(*place.device) : Json(nullptr)},
                      {"lost", json_text_or_null(place.lost)}});
  }
  return places;
}

Json kernel_json(const RunRecord& record, const CaseRecord& row) {
  return {{"name", json_text(row.kernel.name)},
          {"problem", json_text(row.kernel.problem)},
          {"description", json_text(row.kernel.description)},
          {"path", json_text(row.kernel.path)},
          {"sha256", json_text_or_null(row.kernel_sha256)},
          {"source", json_text_or_null(record.kernel_source)},
          {"device", to_string(row.kernel.device)},
          {"synchronises_host", row.kernel.synchronises_host},
          {"report", json_text(row.reply.kernel_report)}};
}

Json samples_json(const Reply& reply) {
  Json samples = Json::array();
  for (double sample : reply.samples_ns) samples.push_back(json_number(sample));
  return samples;
}

Json residuals_json(const Reply& reply) {
  Json residuals = Json::object();
  for (const Figure& figure : reply.residuals)
    residuals[to_valid_utf8(figure.name)] = json_number(figure.value);
  return residuals;
}

/// Of the residuals that have one: the largest value that passes.
Json gates_json(const Reply& reply) {
  Json gates = Json::object();
  for (const Figure& figure : reply.residuals) {
    if (figure.gate > 0) gates[to_valid_utf8(figure.name)] = json_number(figure.gate);
  }
  return gates;
}

Json inputs_json(const Reply& reply) {
  Json inputs = Json::array();
  for (const InputRecord& input : reply.inputs) {
    inputs.push_back({{"seed", input.seed},
                      {"ms", json_number(input.ms)},
                      {"sha256", json_text_or_null(input.sha256)}});
  }
  return inputs;
}

Json distribution_json(const std::optional<Distribution>& distribution) {
  if (!distribution) return nullptr;
  Json interval = nullptr;
  if (distribution->median_95) {
    interval = {json_number(distribution->median_95->low),
                json_number(distribution->median_95->high)};
  }
  return {{"p10", json_number(distribution->p10)},
          {"p25", json_number(distribution->p25)},
          {"p75", json_number(distribution->p75)},
          {"p90", json_number(distribution->p90)},
          {"median_95", interval}};
}

Json optional_number(std::optional<double> value) {
  return value ? json_number(*value) : Json(nullptr);
}

Json ratio_json(const std::optional<Ratio>& ratio) {
  if (!ratio) return nullptr;
  Json interval = nullptr;
  if (ratio->interval) {
    interval = {json_number(ratio->interval->low), json_number(ratio->interval->high)};
  }
  return {{"ratio", json_number(ratio->value)}, {"interval", interval}};
}

Json rates_json(const CaseRecord& row) {
  return {{"flops", json_number(row.flops)},
          {"bytes", json_number(row.bytes)},
          {"tflop_per_s", optional_number(tflop_per_s(row))},
          {"gb_per_s", optional_number(gb_per_s(row))},
          {"floor_share", optional_number(floor_share(row))}};
}

Json warnings_json(const RunRecord& record, std::size_t i) {
  Json warnings = Json::array();
  for (const Warning& warning : warnings_of(record, i)) {
    warnings.push_back({{"kind", warning.kind}, {"text", json_text(warning.text)}});
  }
  return warnings;
}

Json case_json(const RunRecord& record, std::size_t i) {
  const CaseRecord& row = record.cases[i];
  const Reply& reply = row.reply;
  Json json = {{"index", i},
               {"case_index", row.case_index},
               {"problem", json_text(row.spec.problem)},
               {"spec", json_text(row.spec.spec)},
               {"batch", row.spec.batch},
               {"n", row.spec.n},
               {"cond", row.spec.cond},
               {"seed", row.spec.seed},
               {"case", json_text(row.spec.kind)},
               {"input", json_text_or_null(row.spec.input_path)},
               {"kernel", kernel_json(record, row)},
               {"place", row.place ? Json(*row.place) : Json(nullptr)},
               {"dealt_again", json_text_or_null(row.dealt_again)},
               {"resumed_from", json_text_or_null(row.resumed_from)},
               {"status", status_of(row)},
               {"wall_s", json_number(row.wall_s)},
               {"comparable", record.not_comparable.empty()},
               {"not_comparable_reason", json_text_or_null(record.not_comparable)}};
  json["message"] = row.passed ? json_text(reply.message) : Json(nullptr);
  json["error"] = row.ended && !row.passed ? json_text(failure_text(row)) : Json(nullptr);
  json["residuals"] = residuals_json(reply);
  json["gates"] = gates_json(reply);
  json["worst_of_gate"] = json_number(reply.worst_of_gate);
  json["worst_gate"] = json_text_or_null(reply.worst_gate);
  json["samples_ns"] = samples_json(reply);
  json["summary_ns"] = summary_json(row.summary);
  json["distribution_ns"] = distribution_json(row.distribution);
  json["nominal"] = rates_json(row);
  json["over_baseline"] = ratio_json(row.over_baseline);
  json["warnings"] = warnings_json(record, i);
  json["stop"] = to_string(reply.stop);
  json["calls_per_repeat"] = reply.calls_per_repeat;
  json["warm_up_repeats"] = reply.warm_up_repeats;
  json["fresh_inputs"] = json_text_or_null(row.fresh_inputs);
  json["nonce"] = row.nonce ? Json(*row.nonce) : Json(nullptr);
  json["audit_repeats"] = reply.audit_repeats;
  json["audit_call_ns"] = optional_number(reply.audit_call_ns);
  json["floor_ns"] = json_number(reply.floor_ns);
  json["floor_reason"] = json_text_or_null(reply.floor_reason);
  json["queued"] = queued_json(reply.queued);
  json["together"] = together_json(row.together);
  json["launch_costs_ns"] = launch_costs_json(reply.launch_costs);
  json["roof"] = {{"copy_bytes_per_s", json_number(reply.copy_bytes_per_s)},
                  {"tensor_flops_per_s", json_number(reply.tensor_flops_per_s)}};
  json["clocks"] = clocks_json(reply.clocks);
  json["idle"] = idle_json(reply);
  json["trace"] = trace_json(reply);
  json["inputs"] = inputs_json(reply);
  json["times_ms"] = {{"create", json_number(reply.create_ms)},
                      {"first_call", json_number(reply.first_call_ms)},
                      {"check", json_number(reply.check_ms)},
                      {"recheck", json_number(reply.recheck_ms)}};
  json["workspace_bytes"] = reply.workspace_bytes;
  json["device_peak_bytes"] = reply.device_peak_bytes;
  json["leaked_bytes_per_call"] = optional_number(reply.leaked_bytes_per_call);
  return json;
}

Json tags_json(const RunRecord& record) {
  Json tags = Json::object();
  for (const auto& [key, value] : record.tags) tags[key] = json_text(value);
  return tags;
}

Json problems_json(const RunRecord& record) {
  Json problems = Json::array();
  for (const std::string& problem : problem_names(record)) {
    const std::optional<double> mean = problem_geometric_mean(record, problem);
    problems.push_back({{"problem", json_text(problem)},
                        {"geometric_mean_ns", mean ? json_number(*mean) : Json(nullptr)},
                        {"over_baseline", ratio_json(problem_ratio(record, problem))}});
  }
  return problems;
}

}  // namespace

std::string json_document(const RunRecord& record) {
  Json json = {{"schema", "kbench.results/1"},
               {"kbench_version", KBENCH_VERSION},
               {"started", record.started},
               {"command_line", words_json(record.command_line)},
               {"tags", tags_json(record)},
               {"mode", record.mode->name},
               {"machine", machine_json(record.machine)},
               {"device", record.device ? device_json(*record.device) : Json(nullptr)},
               {"places", places_json(record)},
               {"profiler", json_text_or_null(record.profiler)},
               {"baseline", json_text_or_null(record.baseline)}};
  json["options"] = {
      {"flush_bytes", record.device ? Json(record.device->flush_bytes) : Json(nullptr)},
      {"range", record.range},
      {"warm_up", record.warm_up},
      {"repeats", record.exact_repeats > 0 ? Json(record.exact_repeats) : Json(nullptr)},
      {"nvcc_flags", words_json(record.nvcc_flags)}};
  json["cases"] = Json::array();
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    json["cases"].push_back(case_json(record, i));
  }
  json["problems"] = problems_json(record);
  json["finished"] = record.finished;
  const char* verdict = record.all_passed() ? "pass" : "fail";
  json["verdict"] = record.finished ? Json(verdict) : Json(nullptr);
  json["exit_code"] = record.finished ? Json(static_cast<int>(record.exit_code)) : Json(nullptr);
  return json.dump(1) + '\n';
}

}  // namespace kbench
