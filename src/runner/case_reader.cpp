// Reads a case back key by key, the reverse of json.cpp. Judges no figure, opens no file and knows
// nothing of the run that the case will be part of.
#include "runner/case_reader.h"

#include <cstdint>
#include <string>

#include "runner/json_values.h"

namespace kbench {
namespace {

using Json = nlohmann::ordered_json;

/// Null where there is no such key.
const Json& at(const Json& object, const char* key) {
  static const Json k_null;
  if (!object.is_object()) return k_null;
  const auto found = object.find(key);
  return found == object.end() ? k_null : *found;
}

/// What is not known is 0.
double number(const Json& value) { return value.is_null() ? 0 : read_number(value); }

double number(const Json& object, const char* key) { return number(at(object, key)); }

std::int64_t integer(const Json& object, const char* key) {
  const Json& value = at(object, key);
  return value.is_null() ? 0 : value.get<std::int64_t>();
}

std::vector<double> numbers(const Json& list) {
  std::vector<double> values;
  for (const Json& value : list) values.push_back(number(value));
  return values;
}

/// The value among `values` that is called `name`; the first one for a name that is not known.
template <class Value>
Value named(const std::string& name, std::initializer_list<Value> values) {
  for (const Value value : values) {
    if (to_string(value) == name) return value;
  }
  return *values.begin();
}

KernelInfo read_kernel(const Json& json) {
  KernelInfo kernel;
  kernel.name = read_text(json, "name");
  kernel.problem = read_text(json, "problem");
  kernel.description = read_text(json, "description");
  kernel.path = read_text(json, "path");
  kernel.device = named(read_text(json, "device"), {DeviceKind::host, DeviceKind::cuda});
  const Json& synchronises = at(json, "synchronises_host");
  kernel.synchronises_host = synchronises.is_boolean() && synchronises.get<bool>();
  return kernel;
}

/// Bits from their names; those without one stand as one number in hexadecimal.
std::uint64_t reasons_of(const Json& names) {
  std::uint64_t reasons = 0;
  for (const Json& json : names) {
    const std::string name = json.get<std::string>();
    if (name.rfind("0x", 0) == 0) {
      reasons |= std::stoull(name, nullptr, 16);
      continue;
    }
    for (int bit = 0; bit < 64; ++bit) {
      const std::uint64_t one = std::uint64_t{1} << bit;
      if (throttle_names(one).front() == name) reasons |= one;
    }
  }
  return reasons;
}

std::optional<ClockState> read_state(const Json& json) {
  if (json.is_null()) return std::nullopt;
  ClockState state;
  if (!at(json, "sm_mhz").is_null()) state.sm_mhz = integer(json, "sm_mhz");
  if (!at(json, "temperature_c").is_null()) state.temperature_c = integer(json, "temperature_c");
  if (!at(json, "power_w").is_null()) state.power_w = number(json, "power_w");
  const Json& names = at(json, "throttle_reasons");
  if (!names.is_null()) state.throttle_reasons = reasons_of(names);
  return state;
}

void read_circumstances(const Json& json, Reply& reply) {
  const Json& clocks = at(json, "clocks");
  reply.clocks = {read_state(at(clocks, "before")), read_state(at(clocks, "after")),
                  read_text(clocks, "absent")};
  const Json& costs = at(json, "launch_costs_ns");
  reply.launch_costs = {number(costs, "event_pair"), number(costs, "empty_kernel"),
                        number(costs, "empty_kernel_idle")};
  const Json& idle = at(json, "idle");
  if (!at(idle, "event_ns").is_null()) {
    reply.idle = IdleTime{number(idle, "event_ns"), number(idle, "busy_ns")};
  }
  reply.idle_unknown = read_text(idle, "unknown");
  const Json& queued = at(json, "queued");
  if (queued.is_null()) return;
  reply.queued = QueuedFigures{
      named(read_text(queued, "held_by"), {HoldKind::none, HoldKind::hold, HoldKind::delay}),
      read_text(queued, "reason"), number(queued, "delay_ns"), numbers(at(queued, "samples_ns"))};
}

void read_checks(const Json& json, Reply& reply) {
  const Json& gates = at(json, "gates");
  for (const auto& [name, value] : at(json, "residuals").items()) {
    reply.residuals.push_back({name, number(value), number(gates, name.c_str())});
  }
  reply.worst_of_gate = number(json, "worst_of_gate");
  reply.worst_gate = read_text(json, "worst_gate");
  for (const Json& input : at(json, "inputs")) {
    reply.inputs.push_back(
        {integer(input, "seed"), read_text(input, "sha256"), "", number(input, "ms")});
  }
}

Reply read_reply(const Json& json) {
  Reply reply;
  reply.message = read_text(json, "message");
  read_checks(json, reply);
  reply.samples_ns = numbers(at(json, "samples_ns"));
  reply.stop =
      named(read_text(json, "stop"), {StopReason::none, StopReason::precise, StopReason::budget,
                                      StopReason::wall, StopReason::repeats});
  reply.calls_per_repeat = integer(json, "calls_per_repeat");
  reply.warm_up_repeats = integer(json, "warm_up_repeats");
  reply.fresh_inputs = read_text(json, "fresh_inputs");
  reply.audit_repeats = integer(json, "audit_repeats");
  const Json& audited = at(json, "audit_call_ns");
  if (!audited.is_null()) reply.audit_call_ns = number(audited);
  reply.floor_ns = number(json, "floor_ns");
  reply.floor_reason = read_text(json, "floor_reason");
  const Json& roof = at(json, "roof");
  reply.copy_bytes_per_s = number(roof, "copy_bytes_per_s");
  reply.tensor_flops_per_s = number(roof, "tensor_flops_per_s");
  read_circumstances(json, reply);
  const Json& leaked = at(json, "leaked_bytes_per_call");
  if (!leaked.is_null()) reply.leaked_bytes_per_call = number(leaked);
  const Json& times = at(json, "times_ms");
  reply.create_ms = number(times, "create");
  reply.first_call_ms = number(times, "first_call");
  reply.check_ms = number(times, "check");
  reply.recheck_ms = number(times, "recheck");
  reply.workspace_bytes = integer(json, "workspace_bytes");
  reply.device_peak_bytes = integer(json, "device_peak_bytes");
  reply.kernel_report = read_text(at(json, "kernel"), "report");
  return reply;
}

}  // namespace

CaseRecord read_case_record(const Json& json) {
  CaseRecord row;
  row.spec.problem = read_text(json, "problem");
  row.spec.spec = read_text(json, "spec");
  row.spec.batch = integer(json, "batch");
  row.spec.n = integer(json, "n");
  row.spec.cond = integer(json, "cond");
  row.spec.seed = integer(json, "seed");
  row.spec.kind = read_text(json, "case");
  row.spec.input_path = read_text(json, "input");
  row.case_index = integer(json, "case_index");
  row.wall_s = number(json, "wall_s");
  row.passed = read_text(json, "status") == "pass";
  row.ended = row.passed || read_text(json, "status") == "fail";
  row.error = read_text(json, "error");
  row.kernel = read_kernel(at(json, "kernel"));
  row.kernel_sha256 = read_text(at(json, "kernel"), "sha256");
  row.reply = read_reply(json);
  row.reply.passed = row.passed;
  row.fresh_inputs = row.reply.fresh_inputs;
  if (!at(json, "nonce").is_null()) row.nonce = at(json, "nonce").get<std::uint64_t>();
  const Json& nominal = at(json, "nominal");
  row.flops = number(nominal, "flops");
  row.bytes = number(nominal, "bytes");
  row.dealt_again = read_text(json, "dealt_again");
  row.resumed_from = read_text(json, "resumed_from");
  if (at(json, "summary_ns").is_object()) {
    row.summary = summarize(row.reply.samples_ns);
    row.distribution = describe_distribution(row.reply.samples_ns);
  }
  return row;
}

}  // namespace kbench
