// Prints the command line that shows one case to a profiler. Runs nothing, and knows of a profiler
// no more than its options.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/text.h"
#include "runner/commands.h"
#include "runner/paths.h"
#include "runner/say.h"
#include "runner/toolchain.h"

namespace kbench {
namespace {

using Words = std::vector<std::string>;

struct Tool {
  std::string_view name;
  Words options;
  std::string_view verb;
  Words verb_options;
};

/// One timed repeat for nsys, which keeps what happened between launches. One call for ncu, which
/// runs each kernel many times over.
const std::array<Tool, 2>& tools() {
  static const std::array<Tool, 2> k_tools = {{
      {"nsys",
       {"profile", "--capture-range=cudaProfilerApi", "--capture-range-end=stop",
        "--trace=cuda,nvtx", "--cuda-graph-trace=node"},
       "benchmark",
       {"--repeats", "1"}},
      {"ncu",
       {"--profile-from-start", "off", "--set", "full", "--clock-control", "none"},
       "profile",
       {}},
  }};
  return k_tools;
}

const Tool& find_tool(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Tool& tool : tools()) {
    if (tool.name == name) return tool;
    names.push_back(tool.name);
  }
  const std::string_view near = did_you_mean(name, names);
  throw Error(
      ExitCode::usage,
      fmt::format("`{}` is no profiler that kbench knows; {}give `nsys` or `ncu`",
                  to_one_line(name), near.empty() ? "" : fmt::format("did you mean `{}`? ", near)));
}

/// The case that is shown. Throws Error(usage) where several are named.
PlannedCase choose_case(const Options& options, Problems problems) {
  Options benchmark = options;
  benchmark.mode = find_mode("benchmark");
  const Plan plan = make_plan(benchmark, problems, [] { return std::string(); });
  const std::vector<PlannedCase>& cases = plan.cases;
  if (options.only.size() > 1) {
    throw Error(
        ExitCode::usage,
        fmt::format("a profile is of one case (`--only` names {}); name one", options.only.size()));
  }
  // Which problem a kernel of the user's is for is known when the printed command loads it: its
  // cases are then numbered alike, as each problem takes every line of the file.
  const bool mixed = std::any_of(cases.begin(), cases.end(), [&](const PlannedCase& other) {
    return other.spec.problem != cases.front().spec.problem;
  });
  if (mixed && is_kernel_path(options.kernel)) {
    say(fmt::format("case {} of the kernel's problem; take another with `--only N`",
                    cases.front().case_index));
  } else if (cases.size() > 1) {
    say(fmt::format("case 0 of {}: {}; take another with `--only N`", cases.size(),
                    to_one_line(cases.front().spec.spec)));
  }
  return cases.front();
}

/// What the user said of the case and the kernel, said again.
Words case_words(const Options& options, std::int64_t case_index) {
  Words words;
  const auto add = [&words](const char* flag, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {flag, value});
  };
  if (!options.file.empty()) words.push_back(options.file);
  add("--input", options.input);
  if (options.input.empty()) add("--only", std::to_string(case_index));
  add("--problem", options.problem);
  add("--kernel", options.kernel);
  if (!options.nvcc_flags.empty()) add("--nvcc-flags", shell_text(options.nvcc_flags));
  if (options.device.kind == DeviceRequest::Kind::cuda) {
    add("--device", fmt::format("cuda:{}", options.device.index));
  }
  if (options.seed) add("--seed", std::to_string(*options.seed));
  return words;
}

}  // namespace

ExitCode profile_command(const Options& options, Problems problems) {
  const Tool& tool = find_tool(options.tool);
  if (options.device.kind == DeviceRequest::Kind::host) {
    throw Error(ExitCode::usage, fmt::format("{} shows what a GPU does (`--device host` has none); "
                                             "leave `--device host` out",
                                             tool.name));
  }
  check_kernel(options, problems);
  const PlannedCase chosen = choose_case(options, problems);
  Words words = {std::string(tool.name)};
  words.insert(words.end(), tool.options.begin(), tool.options.end());
  const std::string report =
      options.report.empty() ? fmt::format("kbench-{}", tool.name) : options.report;
  words.insert(words.end(), {"-o", report, executable_path(), std::string(tool.verb)});
  for (const std::string& word : case_words(options, chosen.case_index)) words.push_back(word);
  words.insert(words.end(), tool.verb_options.begin(), tool.verb_options.end());
  const std::string line = shell_text(words) + '\n';
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
  return ExitCode::ok;
}

}  // namespace kbench
