#include "core/message.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "catch.h"
#include "core/defaults.h"
#include "core/expect_error.h"

using namespace kbench;
using Json = nlohmann::json;

namespace {

constexpr double k_nan = std::numeric_limits<double>::quiet_NaN();
constexpr double k_inf = std::numeric_limits<double>::infinity();
constexpr std::uint64_t k_big_nonce = std::numeric_limits<std::uint64_t>::max();

KernelInfo some_kernel() {
  return {"mine", "qr_v2", "a \"quoted\" one", "/tmp/k.so", DeviceKind::cuda, true};
}

DeviceInfo some_device() {
  return {DeviceKind::cuda,
          3,
          "NVIDIA H200",
          "GPU-1",
          "9.0",
          "580.1",
          "13.0",
          {{"cublas", "13.1"}},
          1,
          2,
          3,
          4,
          132,
          "cuda_event"};
}

Case some_case() { return {"qr_v2", "n: 1\t", 20, 32, 1, 43214, "mixed", "A.npy", {{"m", 4}}}; }

Job some_job() {
  return {"t",
          JobKind::generate,
          some_case(),
          "k.so",
          {1, -2},
          StopLimits{200, 1e8},
          {1000, k_inf},
          5,
          true,
          true,
          false,
          false,
          true,
          true,
          k_big_nonce,
          2.5,
          "fail",
          "stem",
          "out",
          Flush::clean,
          TraceRequest{{"gemm"}, true, "trace.json"},
          true,
          3.5,
          Launch::queued};
}

TraceFigures some_trace() {
  TraceFigures trace;
  trace.calls_per_repeat = 2;
  trace.repeats = {{5, 4, 3, 1, 2, 0, 1}};
  trace.kernels = {{"void f<int>()", ActivityKind::memset, 4, 40, 10, 9, 8, 12, 0.5}};
  trace.other_names = 3;
  trace.other_ns = 7;
  trace.untraced_event_ns = {6, k_nan};
  trace.overhead = 0.25;
  trace.warnings = {"a warning"};
  trace.chrome_trace = "/tmp/trace.json";
  return trace;
}

Reply some_reply() {
  Reply r;
  r.token = "t";
  r.passed = true;
  r.message = "batch=1";
  r.error = "none";
  r.worker_unusable = true;
  r.residuals = {{"a", 0.1}, {"b", k_nan}};
  r.worst_of_gate = 1.0 / 3;
  r.worst_gate = "factor";
  r.samples_ns = {1.25, k_nan, k_inf, -k_inf, 5e-324, 1.7976931348623157e308};
  r.calls_per_repeat = 50;
  r.stop = StopReason::budget;
  r.warm_up_repeats = 7;
  r.inputs = {{42, "ab", "x.npy", 0.5}};
  r.fresh_inputs = "fixed";
  r.audit_repeats = 25;
  r.audit_call_ns = 640.25;
  r.starts = {{(std::int64_t{1} << 60) + 1, (std::int64_t{1} << 60) + 3}};
  r.floor_ns = 1234.5;
  r.floor_reason = "copy bandwidth";
  r.queued = QueuedFigures{HoldKind::delay, "it waits", 1e6, {7.5, k_nan}};
  r.launch_costs = {1280, 2700, 5400};
  r.clocks.before = ClockState{1980, 64, 693.5, 0x24};
  r.clocks.absent = "no NVML";
  r.first_call_ms = 1;
  r.create_ms = 2;
  r.check_ms = 3;
  r.recheck_ms = 4;
  r.workspace_bytes = 5;
  r.device_peak_bytes = std::numeric_limits<std::int64_t>::max();
  r.leaked_bytes_per_call = 65536.5;
  r.kernel = some_kernel();
  r.kernel_report = "fallbacks=0";
  r.trace = some_trace();
  r.idle = IdleTime{25, 10};
  r.idle_unknown = "no reason";
  r.declared_flops = 12;
  r.declared_bytes = 13;
  return r;
}

Hello some_hello() {
  return {"t",
          some_device(),
          {some_device(), {}},
          some_kernel(),
          "note",
          "wrong",
          ExitCode::device,
          CuptiState{CuptiState::Kind::held, "Nsight Compute", "a reason"}};
}

std::string thrown_by(const std::string& text) {
  try {
    from_json(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "(nothing thrown)";
}

}  // namespace

TEST_CASE("every message comes back as it was sent") {
  const std::vector<Message> messages{
      Setup{"t", {DeviceRequest::Kind::cuda, 2}, "k.so", true, true},
      Setup{},
      some_hello(),
      Hello{},
      some_job(),
      Job{},
      Event{"t", "repeat", 3, 60, "custom_kernel", 12.5, k_nan},
      Event{},
      Ready{"t", 12.5},
      Ready{"t", k_nan},
      Ready{"t", 0, true},
      Turn{"t", true},
      Turn{"t", true, std::int64_t{1} << 60},
      some_reply(),
      Reply{},
  };
  for (const Message& message : messages) {
    const std::string text = to_json(message);
    CAPTURE(text);
    CHECK(text.find('\n') == std::string::npos);
    const Message back = from_json(text);
    CHECK(back.index() == message.index());
    CHECK(to_json(back) == text);
  }
}

TEST_CASE("the fields of a reply keep their values and types") {
  const Reply back = std::get<Reply>(from_json(to_json(some_reply())));
  CHECK(back.passed);
  CHECK(back.worker_unusable);
  REQUIRE(back.samples_ns.size() == 6);
  CHECK(back.samples_ns[0] == 1.25);
  CHECK(std::isnan(back.samples_ns[1]));
  CHECK(back.samples_ns[2] == k_inf);
  CHECK(back.samples_ns[3] == -k_inf);
  CHECK(back.samples_ns[4] == 5e-324);
  CHECK(back.samples_ns[5] == 1.7976931348623157e308);
  CHECK(back.worst_of_gate == 1.0 / 3);
  CHECK(std::isnan(back.residuals.at(1).value));
  CHECK(back.stop == StopReason::budget);
  CHECK(back.inputs.at(0).sha256 == "ab");
  CHECK(back.fresh_inputs == "fixed");
  CHECK(back.audit_repeats == 25);
  CHECK(back.audit_call_ns == 640.25);
  CHECK(back.starts.at(0).after_ns == (std::int64_t{1} << 60) + 1);
  CHECK(back.floor_ns == 1234.5);
  CHECK(back.floor_reason == "copy bandwidth");
  CHECK(back.device_peak_bytes == std::numeric_limits<std::int64_t>::max());
  CHECK(back.leaked_bytes_per_call == 65536.5);
  REQUIRE(back.kernel.has_value());
  CHECK(back.kernel->device == DeviceKind::cuda);
  CHECK(back.kernel->synchronises_host);
}

TEST_CASE("the fields of hello and job keep their values and types") {
  const Hello hello = std::get<Hello>(from_json(to_json(some_hello())));
  CHECK(hello.code == ExitCode::device);
  REQUIRE(hello.device.has_value());
  CHECK(hello.device->multiprocessors == 132);
  CHECK(hello.device->clock == "cuda_event");
  CHECK(hello.device->libraries.at(0).second == "13.1");
  CHECK(hello.devices.size() == 2);
  const Job job = std::get<Job>(from_json(to_json(some_job())));
  CHECK(job.kind == JobKind::generate);
  CHECK(job.seeds == std::vector<std::int64_t>{1, -2});
  REQUIRE(job.warm_up.has_value());
  CHECK(job.warm_up->max_repeats == 200);
  CHECK(job.limits.budget_ns == k_inf);
  CHECK_FALSE(job.range);
  CHECK(job.fresh_inputs);
  CHECK(job.nonce == k_big_nonce);
  CHECK(job.spec.spec == "n: 1\t");
  CHECK(job.spec.input_path == "A.npy");
  CHECK(job.out == "out");
}

TEST_CASE("text of a kernel is made valid before it meets JSON and cannot end the line") {
  Reply reply;
  reply.error = "a\xFF\n\xE2\x80\xA8\"}\x01";
  const std::string text = to_json(reply);
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.find("\xE2\x80\xA8") == std::string::npos);
  CHECK(std::get<Reply>(from_json(text)).error == "a\xEF\xBF\xBD\n\xE2\x80\xA8\"}\x01");
}

TEST_CASE("anything that is no message is refused") {
  CHECK_THAT(thrown_by(""), ContainsSubstring("no JSON object"));
  CHECK_THAT(thrown_by("[]"), ContainsSubstring("no JSON object"));
  CHECK_THAT(thrown_by("{"), ContainsSubstring("no JSON object"));
  CHECK_THAT(thrown_by("{\"type\":\"job\"} x"), ContainsSubstring("no JSON object"));
  CHECK_THAT(thrown_by("\xFF"), ContainsSubstring("no JSON object"));
  CHECK_THAT(thrown_by("{}"), ContainsSubstring("has no type"));
  CHECK_THAT(thrown_by(R"({"type":3})"), ContainsSubstring("has no type"));
  CHECK_THAT(thrown_by(R"({"type":"verdict"})"),
             ContainsSubstring("unknown message type `verdict`"));
  CHECK_THAT(thrown_by(R"({"type":"event"})"), ContainsSubstring("field `token` is missing"));
}

TEST_CASE("each field is required and of its type and no other is taken") {
  for (const Message& message : {Message(Setup{"t", {}, "k", true}), Message(some_hello()),
                                 Message(some_job()), Message(Event{}), Message(some_reply())}) {
    const Json whole = Json::parse(to_json(message));
    for (const auto& [name, value] : whole.items()) {
      CAPTURE(name);
      Json missing = whole;
      missing.erase(name);
      CHECK(thrown_by(missing.dump()) != "(nothing thrown)");
      Json wrong = whole;
      wrong[name] = Json::array({Json::object()});
      CHECK(thrown_by(wrong.dump()) != "(nothing thrown)");
    }
    Json more = whole;
    more["more"] = 1;
    CHECK_THAT(thrown_by(more.dump()), ContainsSubstring("unknown field"));
  }
}

TEST_CASE("numbers and names out of range are refused") {
  struct Row {
    Message message;
    const char* pointer;
    Json value;
  };
  const std::vector<Row> rows{
      {some_job(), "/spec/batch", 9223372036854775808u},
      {some_job(), "/spec/batch", 1.5},
      {some_job(), "/spec/batch", "1"},
      {some_job(), "/kind", "guess"},
      {some_job(), "/limits/budget_ns", "many"},
      {some_job(), "/range", 1},
      {some_job(), "/nonce", -1},
      {some_job(), "/nonce", 1.5},
      {some_job(), "/nonce", 18446744073709551616.0},
      {some_job(), "/spec/extra", 1},
      {some_hello(), "/device/index", 2147483648},
      {some_hello(), "/device/libraries/0", Json::array({"cublas"})},
      {some_hello(), "/code", 114},
      {some_hello(), "/code", "0"},
      {some_reply(), "/stop", "bored"},
      {some_reply(), "/samples_ns/1", nullptr},
  };
  for (const Row& row : rows) {
    CAPTURE(row.pointer);
    Json json = Json::parse(to_json(row.message));
    json[Json::json_pointer(row.pointer)] = row.value;
    CHECK(thrown_by(json.dump()) != "(nothing thrown)");
  }
}

TEST_CASE("the words for a device are read and others refused") {
  using Kind = DeviceRequest::Kind;
  struct Row {
    const char* text;
    Kind kind;
    int index;
  };
  for (const Row& row :
       {Row{"auto", Kind::automatic, 0}, Row{"host", Kind::host, 0}, Row{"cuda", Kind::cuda, 0},
        Row{"cuda:0", Kind::cuda, 0}, Row{"cuda:12", Kind::cuda, 12}}) {
    CAPTURE(row.text);
    CHECK(parse_device(row.text).kind == row.kind);
    CHECK(parse_device(row.text).index == row.index);
  }
  for (const char* text : {"", "CUDA:", "cuda:", "cuda:-1", "cuda:x", "cuda:1x", "cuda:+1",
                           "cuda:99999999999", "gpu", "host:0", " cuda"}) {
    CAPTURE(text);
    CHECK(test::error_of([&] { parse_device(text); }).code == 2);
  }
  CHECK_THAT(test::error_of([] { parse_device("cudda"); }).text,
             ContainsSubstring("did you mean `cuda`?"));
  CHECK(to_string(DeviceKind::cuda) == "cuda");
  CHECK(to_string(DeviceKind::host) == "host");
}

TEST_CASE("each problem has a default kernel on each device") {
  CHECK(default_kernel("qr_v2", DeviceKind::cuda) == "blocked");
  CHECK(default_kernel("eigh_py", DeviceKind::cuda) == "tridiagonal");
  CHECK(default_kernel("qr_v2", DeviceKind::host) == "lapack");
  CHECK(default_kernel("eigh_py", DeviceKind::host) == "lapack");
  CHECK(default_kernel("svd", DeviceKind::host).empty());
}
