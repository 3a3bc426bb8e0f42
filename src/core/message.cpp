// The fields of every message, named once for writing and reading. Must not know when a message is
// sent or what an answer to it means.
#include "core/message.h"

#include <array>

#include "core/json_codec.h"
#include "core/trace_fields.h"

namespace kbench {
namespace {

constexpr std::array<std::string_view, 2> k_device_kinds{"host", "cuda"};
constexpr std::array<std::string_view, 3> k_device_requests{"auto", "host", "cuda"};
constexpr std::array<std::string_view, 5> k_job_kinds{"check", "measure", "profile", "trace",
                                                      "generate"};
constexpr std::array<std::string_view, 5> k_stop_reasons{"none", "precise", "budget", "wall",
                                                         "repeats"};

constexpr std::array<std::string_view, 2> k_launches{"as_called", "queued"};
constexpr std::array<std::string_view, 3> k_hold_kinds{"none", "hold", "delay"};

/// Exit codes have gaps, so they travel as numbers.
class CodeField {
 public:
  explicit CodeField(ExitCode code) : number(static_cast<int>(code)) {}
  ExitCode code() const {
    for (const ExitCode known :
         {ExitCode::ok, ExitCode::usage, ExitCode::device, ExitCode::popcorn_fd,
          ExitCode::case_failed, ExitCode::case_file}) {
      if (static_cast<int>(known) == number) return known;
    }
    throw std::runtime_error("field `code` is no exit code");
  }
  int number;
};

}  // namespace

template <>
std::span<const std::string_view> enum_names<DeviceKind>() {
  return k_device_kinds;
}
template <>
std::span<const std::string_view> enum_names<DeviceRequest::Kind>() {
  return k_device_requests;
}
template <>
std::span<const std::string_view> enum_names<JobKind>() {
  return k_job_kinds;
}
template <>
std::span<const std::string_view> enum_names<Launch>() {
  return k_launches;
}
template <>
std::span<const std::string_view> enum_names<HoldKind>() {
  return k_hold_kinds;
}
template <>
std::span<const std::string_view> enum_names<StopReason>() {
  return k_stop_reasons;
}

void fields(auto& visit, Is<StopLimits> auto& m) {
  visit("max_repeats", m.max_repeats);
  visit("budget_ns", m.budget_ns);
}

void fields(auto& visit, Is<Parameter> auto& m) {
  visit("name", m.name);
  visit("value", m.value);
}

void fields(auto& visit, Is<Case> auto& m) {
  visit("problem", m.problem);
  visit("spec", m.spec);
  visit("batch", m.batch);
  visit("n", m.n);
  visit("cond", m.cond);
  visit("seed", m.seed);
  visit("kind", m.kind);
  visit("input_path", m.input_path);
  visit("parameters", m.parameters);
}

void fields(auto& visit, Is<DeviceRequest> auto& m) {
  visit("kind", m.kind);
  visit("index", m.index);
}

void fields(auto& visit, Is<DeviceInfo> auto& m) {
  visit("kind", m.kind);
  visit("index", m.index);
  visit("name", m.name);
  visit("uuid", m.uuid);
  visit("capability", m.capability);
  visit("driver", m.driver);
  visit("runtime", m.runtime);
  visit("libraries", m.libraries);
  visit("memory_bytes", m.memory_bytes);
  visit("free_bytes", m.free_bytes);
  visit("cache_bytes", m.cache_bytes);
  visit("flush_bytes", m.flush_bytes);
  visit("multiprocessors", m.multiprocessors);
  visit("clock", m.clock);
}

void fields(auto& visit, Is<KernelInfo> auto& m) {
  visit("name", m.name);
  visit("problem", m.problem);
  visit("description", m.description);
  visit("path", m.path);
  visit("device", m.device);
  visit("synchronises_host", m.synchronises_host);
}

void fields(auto& visit, Is<Figure> auto& m) {
  visit("name", m.name);
  visit("value", m.value);
  visit("gate", m.gate);
}

void fields(auto& visit, Is<InputRecord> auto& m) {
  visit("seed", m.seed);
  visit("sha256", m.sha256);
  visit("path", m.path);
  visit("ms", m.ms);
}

void fields(auto& visit, Is<ClockState> auto& m) {
  visit("sm_mhz", m.sm_mhz);
  visit("temperature_c", m.temperature_c);
  visit("power_w", m.power_w);
  visit("throttle_reasons", m.throttle_reasons);
}

void fields(auto& visit, Is<Clocks> auto& m) {
  visit("before", m.before);
  visit("after", m.after);
  visit("absent", m.absent);
}

void fields(auto& visit, Is<QueuedFigures> auto& m) {
  visit("held_by", m.held_by);
  visit("reason", m.reason);
  visit("delay_ns", m.delay_ns);
  visit("samples_ns", m.samples_ns);
}

void fields(auto& visit, Is<LaunchCosts> auto& m) {
  visit("event_pair_ns", m.event_pair_ns);
  visit("empty_kernel_ns", m.empty_kernel_ns);
  visit("empty_kernel_idle_ns", m.empty_kernel_idle_ns);
}

void fields(auto& visit, Is<Setup> auto& m) {
  visit("token", m.token);
  visit("device", m.device);
  visit("kernel_path", m.kernel_path);
  visit("list_devices", m.list_devices);
  visit("lock", m.lock);
  visit("ask_cupti", m.ask_cupti);
  visit("call_timeout_s", m.call_timeout_s);
}

void fields(auto& visit, Is<Hello> auto& m) {
  visit("token", m.token);
  visit("device", m.device);
  visit("devices", m.devices);
  visit("kernel", m.kernel);
  visit("cupti", m.cupti);
  visit("note", m.note);
  visit("error", m.error);
  CodeField code(m.code);
  visit("code", code.number);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(m)>>) m.code = code.code();
}

void fields(auto& visit, Is<Job> auto& m) {
  visit("token", m.token);
  visit("kind", m.kind);
  visit("spec", m.spec);
  visit("kernel_path", m.kernel_path);
  visit("seeds", m.seeds);
  visit("warm_up", m.warm_up);
  visit("limits", m.limits);
  visit("exact_repeats", m.exact_repeats);
  visit("paced", m.paced);
  visit("together", m.together);
  visit("may_hold", m.may_hold);
  visit("range", m.range);
  visit("hash_inputs", m.hash_inputs);
  visit("flush", m.flush);
  visit("trace", m.trace);
  visit("idle_time", m.idle_time);
  visit("fresh_inputs", m.fresh_inputs);
  visit("nonce", m.nonce);
  visit("call_timeout_s", m.call_timeout_s);
  visit("save_failing", m.save_failing);
  visit("save_stem", m.save_stem);
  visit("out", m.out);
  visit("hold_limit_s", m.hold_limit_s);
  visit("launch", m.launch);
}

void fields(auto& visit, Is<Event> auto& m) {
  visit("token", m.token);
  visit("phase", m.phase);
  visit("repeat", m.repeat);
  visit("limit_s", m.limit_s);
  visit("what", m.what);
  visit("mean_ns", m.mean_ns);
  visit("err_ns", m.err_ns);
}

void fields(auto& visit, Is<Ready> auto& m) {
  visit("token", m.token);
  visit("sample_ns", m.sample_ns);
  visit("at_start", m.at_start);
}

void fields(auto& visit, Is<Turn> auto& m) {
  visit("token", m.token);
  visit("more", m.more);
  visit("start_ns", m.start_ns);
}

void fields(auto& visit, Is<StartBracket> auto& m) {
  visit("after_ns", m.after_ns);
  visit("before_ns", m.before_ns);
}

void fields(auto& visit, Is<Reply> auto& m) {
  visit("token", m.token);
  visit("passed", m.passed);
  visit("message", m.message);
  visit("error", m.error);
  visit("worker_unusable", m.worker_unusable);
  visit("residuals", m.residuals);
  visit("worst_of_gate", m.worst_of_gate);
  visit("worst_gate", m.worst_gate);
  visit("samples_ns", m.samples_ns);
  visit("calls_per_repeat", m.calls_per_repeat);
  visit("stop", m.stop);
  visit("warm_up_repeats", m.warm_up_repeats);
  visit("inputs", m.inputs);
  visit("fresh_inputs", m.fresh_inputs);
  visit("audit_repeats", m.audit_repeats);
  visit("audit_call_ns", m.audit_call_ns);
  visit("floor_ns", m.floor_ns);
  visit("copy_bytes_per_s", m.copy_bytes_per_s);
  visit("tensor_flops_per_s", m.tensor_flops_per_s);
  visit("floor_reason", m.floor_reason);
  visit("starts", m.starts);
  visit("queued", m.queued);
  visit("launch_costs", m.launch_costs);
  visit("clocks", m.clocks);
  visit("first_call_ms", m.first_call_ms);
  visit("create_ms", m.create_ms);
  visit("check_ms", m.check_ms);
  visit("recheck_ms", m.recheck_ms);
  visit("workspace_bytes", m.workspace_bytes);
  visit("device_peak_bytes", m.device_peak_bytes);
  visit("leaked_bytes_per_call", m.leaked_bytes_per_call);
  visit("kernel", m.kernel);
  visit("kernel_report", m.kernel_report);
  visit("trace", m.trace);
  visit("idle", m.idle);
  visit("idle_unknown", m.idle_unknown);
  visit("declared_flops", m.declared_flops);
  visit("declared_bytes", m.declared_bytes);
}

namespace {

// Names of the alternatives of Message, in its order.
constexpr std::array<std::string_view, std::variant_size_v<Message>> k_types{
    "setup", "hello", "job", "event", "reply", "ready", "turn"};

template <std::size_t Index = 0>
Message read_message(std::string_view type, const Json& body) {
  if constexpr (Index == k_types.size()) {
    throw std::runtime_error(fmt::format("unknown message type `{}`", shorten(type, 40)));
  } else {
    if (type != k_types[Index]) return read_message<Index + 1>(type, body);
    std::variant_alternative_t<Index, Message> message;
    JsonReader reader(body);
    fields(reader, message);
    reader.finish();
    return message;
  }
}

}  // namespace

std::string to_json(const Message& message) {
  Json object = std::visit([](const auto& held) { return JsonWriter::encode(held); }, message);
  object["type"] = k_types[message.index()];
  return object.dump(-1, ' ', true);  // ASCII only: no character of any text can end the line
}

Message from_json(std::string_view text) {
  Json body = Json::parse(text.begin(), text.end(), nullptr, false);
  if (!body.is_object()) throw std::runtime_error("the message is no JSON object");
  const auto found = body.find("type");
  if (found == body.end() || !found->is_string()) {
    throw std::runtime_error("the message has no type");
  }
  const auto type = found->get<std::string>();
  body.erase(found);
  return read_message(type, body);
}

}  // namespace kbench
