// The verb `trace` on the runner's side: what is asked for, why nothing is traced, and how a trace
// looks.
#include "runner/trace.h"

#include <filesystem>

#include "catch.h"
#include "core/error.h"

namespace kbench {
namespace {

CaseRecord traced_case() {
  CaseRecord row;
  row.passed = true;
  TraceFigures trace;
  trace.repeats = {{10000, 8000, 6000, 2000, 3, 1, 0}, {10000, 8000, 6000, 2000, 3, 1, 0}};
  trace.kernels = {{"void a::panel<float, (int)8>(float*)", ActivityKind::kernel, 6, 9000, 4500,
                    4500, 4000, 5000, 0.5625},
                   {"memcpy DtoD", ActivityKind::memcpy, 2, 3000, 1500, 1500, 1500, 1500, 0.1875}};
  trace.other_names = 2;
  trace.other_ns = 1000;
  trace.untraced_event_ns = {9000, 9000};
  trace.overhead = 1.0 / 9;
  trace.warnings = {"launches vary"};
  trace.chrome_trace = "/tmp/t.json";
  row.reply.trace = trace;
  return row;
}

TEST_CASE("a traced case is shown with its events, span, gap and kernels") {
  const std::string expected =
      "traced, 2 repeats of 1 call\n"
      "    event            9 us  per call, without tracing; with it 10 us (+11.1 %)\n"
      "    span             8 us  3 kernels, 1 copies, 0 memsets\n"
      "    busy             6 us  nothing ran in 40.0 % of the event time\n"
      "         total  share  launches       mean     median        min        max  kernel (times "
      "and launches per call)\n"
      "          9 us  56.2%         3     4.5 us     4.5 us       4 us       5 us  "
      "a::panel<...>\n"
      "          3 us  18.8%         1     1.5 us     1.5 us     1.5 us     1.5 us  memcpy DtoD\n"
      "          1 us in 2 kernels that no `--name` selects\n"
      "    warning: launches vary\n"
      "    Chrome trace: /tmp/t.json\n";
  CHECK(trace_text(traced_case(), 0) == expected);
}

TEST_CASE("a kernel that states its bytes and flops gets its rates, and an unchecked one says so") {
  CaseRecord row = traced_case();
  row.reply.message = "not checked";
  row.flops = 18e6;
  row.bytes = 9000;
  const std::string text = trace_text(row, 0);
  CHECK(text.find("traced, 2 repeats of 1 call, not checked\n") == 0);
  CHECK(text.find("    rate                   2 TFLOP/s, 1 GB/s, by the event time and the stated "
                  "counts\n") != std::string::npos);
}

TEST_CASE("the JSON of a trace has whole names and every repeat; an untraced case has none") {
  const auto json = trace_json(traced_case().reply);
  CHECK(json.at("kernels").at(0).at("name") == "void a::panel<float, (int)8>(float*)");
  CHECK(json.at("kernels").at(1).at("kind") == "memcpy");
  CHECK(json.at("repeats").size() == 2);
  CHECK(json.at("repeats").at(0).at("gap_ns") == 2000);
  CHECK(json.at("other_kernels").at("count") == 2);
  CHECK(json.at("chrome_trace") == "/tmp/t.json");
  CHECK(trace_json(Reply()).is_null());
}

TEST_CASE("the idle share comes from the traced repeats, or is said to be unknown") {
  CHECK(idle_share(traced_case().reply) == std::optional<double>(0.4));
  Reply measured;
  CHECK_FALSE(idle_share(measured));
  measured.idle_unknown = "held";
  CHECK(idle_json(measured).at("unknown") == "held");
  CHECK(idle_json(measured).at("share").is_null());
  measured.idle = IdleTime{10, 10.5};
  CHECK(idle_share(measured) == std::optional<double>(0.0));
}

TEST_CASE("why a worker cannot trace, and which exit code follows") {
  struct Row {
    DeviceKind device;
    std::optional<CuptiState> cupti;
    std::optional<ExitCode> code;
    std::string words;
  };
  using Kind = CuptiState::Kind;
  const std::vector<Row> rows = {
      {DeviceKind::cuda, std::nullopt, std::nullopt, ""},
      {DeviceKind::cuda, CuptiState{Kind::available, "", ""}, std::nullopt, ""},
      {DeviceKind::cuda, CuptiState{Kind::held, "Nsight Compute", "error 39"}, ExitCode::ok,
       "nothing is traced: Nsight Compute has CUPTI (error 39); run `kbench trace` without it"},
      {DeviceKind::cuda, CuptiState{Kind::missing, "", "not found"}, ExitCode::device,
       "no tracing (not found)"},
      {DeviceKind::host, std::nullopt, ExitCode::device,
       "nothing to trace on the host (CUPTI records what a CUDA device does); use `--device cuda` "
       "on a machine with a GPU"},
  };
  for (const Row& row : rows) {
    Hello hello;
    hello.device.emplace();
    hello.device->kind = row.device;
    hello.cupti = row.cupti;
    const std::optional<NoTrace> found = why_no_trace(hello);
    REQUIRE(found.has_value() == row.code.has_value());
    if (!found) continue;
    CHECK(found->code == *row.code);
    CHECK(found->words == row.words);
  }
}

TEST_CASE("a trace job has ten repeats unless told, and one file a case where there are several") {
  Options options;
  options.names = {"panel"};
  options.multiple = true;
  options.chrome_trace = "out/trace.json";
  Plan plan;
  plan.cases.resize(1);
  plan.cases[0].case_index = 3;
  Job job;
  request_trace(options, plan, 0, job);
  CHECK(job.kind == JobKind::trace);
  CHECK(job.exact_repeats == 10);
  CHECK(job.trace->names == options.names);
  CHECK(job.trace->multiple);
  const std::filesystem::path here = std::filesystem::current_path();
  CHECK(job.trace->chrome_trace == (here / "out/trace.json").string());
  plan.cases.resize(2);
  options.repeats = 7;
  request_trace(options, plan, 0, job);
  CHECK(job.exact_repeats == 7);
  CHECK(job.trace->chrome_trace == (here / "out/trace-3.json").string());
}

}  // namespace
}  // namespace kbench
