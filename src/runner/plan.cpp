// Makes the plan of a run: reads shape files and task files, chooses the problem by the chain flag,
// file, plug-in, case names, and validates every case. Starts nothing and writes nothing.
#include "runner/plan.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/excerpt.h"
#include "core/npy.h"
#include "core/seed.h"
#include "core/sweep.h"
#include "core/task_file.h"
#include "core/text.h"
#include "runner/case_text.h"
#include "runner/paths.h"

namespace kbench {
namespace {

/// One file, read and parsed: the rows that this verb runs.
struct Source {
  std::string path;
  std::vector<SpecLine> rows;
  std::optional<std::string> problem;
  std::optional<double> time_limit_s;
};

bool takes_tests(const Options& options) {
  return options.mode != nullptr ? options.mode->uses_tests : !options.benchmark_inputs;
}

/// kbench must have written its verdict before the caller's limit, which discards everything.
std::optional<double> own_limit(const Options& options, const TaskFile& task) {
  if (options.mode == nullptr) return std::nullopt;
  std::optional<double> limit = task.benchmark_timeout_s;
  if (options.mode->id == ModeId::test) limit = task.test_timeout_s;
  if (options.mode->id == ModeId::leaderboard) limit = task.ranked_timeout_s;
  constexpr double k_margin_s = 10;
  if (limit) *limit = *limit > 2 * k_margin_s ? *limit - k_margin_s : *limit / 2;
  return limit;
}

Source read_source(const Options& options, const std::string& path,
                   const std::function<bool()>& cancelled = {}) {
  Source source;
  source.path = path;
  const std::string text = read_case_text(path, cancelled);
  if (!looks_like_task_file(text, path)) {
    source.rows = parse_spec_text(text, path);
    return source;
  }
  TaskFile task = parse_task_file(text, path);
  const bool tests = takes_tests(options);
  source.rows = std::move(tests ? task.tests : task.benchmarks);
  if (source.rows.empty()) {
    throw Error(ExitCode::case_file,
                fmt::format("{}:1:1: the task file has no rows under `{}:`, which this verb runs; "
                            "add them or take another verb",
                            path, tests ? "tests" : "benchmarks"));
  }
  source.problem = task.problem;
  source.time_limit_s = own_limit(options, task);
  return source;
}

/// The lines of --case; each that comes out of braces is one row.
Source read_case_lines(const Options& options) {
  Source source;
  source.path = "--case";
  for (const std::string& text : options.case_lines) {
    for (const std::string& line : expand_sweep(text, source.path)) {
      source.rows.push_back(
          parse_spec_line(line, source.path, static_cast<int>(source.rows.size()) + 1));
    }
  }
  return source;
}

/// Null where the line has no such key.
const SpecEntry* entry_of(const SpecLine& line, std::string_view key) {
  for (const SpecEntry& entry : line.entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

bool knows(const ProblemInfo& problem, std::string_view name) {
  const std::string lower = to_lower(name);
  return std::find(problem.cases.begin(), problem.cases.end(), lower) != problem.cases.end();
}

/// No candidate knows every case name: shows the first name that nobody knows, and all names.
[[noreturn]] void refuse_cases(const Source& source,
                               const std::vector<const ProblemInfo*>& candidates) {
  std::string known;
  std::vector<std::string_view> names;
  for (const ProblemInfo* problem : candidates) {
    known += fmt::format("\n  {}: {}", problem->name, fmt::join(problem->cases, ", "));
    names.insert(names.end(), problem->cases.begin(), problem->cases.end());
  }
  for (const SpecLine& line : source.rows) {
    const SpecEntry* entry = entry_of(line, "case");
    if (entry == nullptr) continue;
    const auto* name = std::get_if<std::string>(&entry->value);
    if (name == nullptr || std::any_of(candidates.begin(), candidates.end(),
                                       [&](const auto* p) { return knows(*p, *name); })) {
      continue;
    }
    const std::string_view near = did_you_mean(*name, names);
    throw Error(ExitCode::case_file,
                fmt::format("{}:{}:{}: unknown case `{}` (no problem knows it); {}known:{}",
                            line.file, entry->value_line, entry->value_column, shorten(*name, 80),
                            near.empty() ? "" : fmt::format("did you mean `{}`? ", near), known));
  }
  throw Error(ExitCode::case_file,
              fmt::format("{}:1:1: no problem knows all case names of the file; split it, one "
                          "problem a file. Known:{}",
                          source.path, known));
}

/// Problems that may be meant while neither a flag nor a file nor a plug-in's path says so.
std::vector<const ProblemInfo*> candidate_problems(const Options& options, Problems problems) {
  std::vector<const ProblemInfo*> candidates;
  for (const ProblemInfo* problem : problems) {
    // Any line of integers would do: it must be asked for, or be the kernel's.
    if (problem->free_form && (options.kernel.empty() || is_kernel_path(options.kernel))) continue;
    const bool has_kernel = options.kernel.empty() || is_kernel_path(options.kernel) ||
                            !find_plugin(std::string(problem->name), options.kernel).empty();
    if (has_kernel) candidates.push_back(problem);
  }
  return candidates;
}

/// The chain: flag, task file, plug-in, case names.
std::vector<const ProblemInfo*> problems_of(const Options& options, Problems problems,
                                            const Source& source,
                                            const std::function<std::string()>& plugin_problem) {
  if (!options.problem.empty()) return {&find_problem_info(problems, options.problem)};
  if (source.problem) {
    for (const ProblemInfo* problem : problems) {
      if (problem->name == *source.problem) return {problem};
    }
    throw Error(ExitCode::case_file,
                fmt::format("{}:1:1: unknown problem `{}`; see `kbench list problems`", source.path,
                            *source.problem));
  }
  if (is_kernel_path(options.kernel)) {
    const std::string name = plugin_problem();
    if (!name.empty()) return {&find_problem_info(problems, name)};
  }
  std::vector<const ProblemInfo*> candidates = candidate_problems(options, problems);
  if (candidates.size() == 1) return candidates;
  const std::vector<const ProblemInfo*> all = candidates;
  std::erase_if(candidates, [&](const auto* p) { return !knows_all_cases(*p, source.rows); });
  if (candidates.empty()) refuse_cases(source, all);
  return candidates;
}

/// The case's own seed, or those of the measured loop; one call where there are no inputs.
std::vector<std::int64_t> input_seeds(const Options& options, const Case& spec) {
  if (spec.n == 0) return {0};
  // A trace looks at the inputs of the measured loop: all of them only where they share one flush.
  const bool traced = options.mode != nullptr && options.mode->id == ModeId::trace;
  if (traced && options.flush.value_or(Flush::clean) != Flush::once) {
    return {measured_seed(spec.seed, 0)};
  }
  const bool measured = options.mode != nullptr ? options.mode->measures : options.benchmark_inputs;
  if (!measured && !traced) return {spec.seed};
  std::vector<std::int64_t> seeds;
  const std::int64_t count = input_count(spec.batch, spec.n);
  for (std::int64_t j = 0; j < count; ++j) seeds.push_back(measured_seed(spec.seed, j));
  return seeds;
}

void count_work(const ProblemInfo& problem, PlannedCase& planned) {
  const Case& spec = planned.spec;
  if (problem.nominal_flops != nullptr) planned.flops = problem.nominal_flops(spec.batch, spec.n);
  if (problem.nominal_bytes != nullptr) planned.bytes = problem.nominal_bytes(spec.batch, spec.n);
}

void add_rows(const Options& options, const ProblemInfo& problem, const Source& source,
              Plan& plan) {
  if (problem.free_form && options.verb == Verb::generate) {
    throw Error(ExitCode::usage,
                fmt::format("problem `{}` has no inputs to write (its plug-ins make "
                            "their own data); name another with `--problem`",
                            problem.name));
  }
  for (const SpecLine& line : source.rows) {
    PlannedCase planned;
    planned.spec = make_case(line, problem);
    planned.case_index = static_cast<std::int64_t>(plan.cases.size());
    count_work(problem, planned);
    try {
      if (options.seed) planned.spec.seed = combine_seed(planned.spec.seed, *options.seed);
      planned.seeds = input_seeds(options, planned.spec);
    } catch (const Error& error) {
      const SpecEntry* seed = entry_of(line, "seed");
      throw Error(error.code(),
                  at_position(line.file, seed == nullptr ? line.line : seed->value_line,
                              seed == nullptr ? 1 : seed->value_column, error.what()));
    }
    plan.cases.push_back(std::move(planned));
  }
}

/// One case whose matrices come from the user's own file.
void add_input(const Options& options, const ProblemInfo& problem, Plan& plan) {
  const NpyHeader header = read_npy_header(options.input);
  if (header.fortran_order) {
    throw Error(ExitCode::case_file,
                fmt::format("cannot use `{}` (it is in Fortran order); save it with numpy.save as "
                            "a C-order array of dtype float32",
                            to_one_line(options.input)));
  }
  const std::vector<std::int64_t>& shape = header.shape;
  const bool ranks = shape.size() == 2 || shape.size() == 3;
  if (!ranks || shape[shape.size() - 1] != shape[shape.size() - 2] || shape[0] < 1 ||
      shape.back() < 1) {
    throw Error(ExitCode::case_file,
                fmt::format("`{}` has shape [{}]; square matrices are needed, [n,n] or [batch,n,n]",
                            to_one_line(options.input), fmt::join(shape, ",")));
  }
  Case spec;
  spec.problem = problem.name;
  spec.batch = shape.size() == 3 ? shape[0] : 1;
  spec.n = shape.back();
  spec.kind = "input";
  spec.input_path = options.input;
  spec.spec = fmt::format("input: {}; batch: {}; n: {}", options.input, spec.batch, spec.n);
  PlannedCase planned;
  planned.spec = std::move(spec);
  planned.seeds = {0};
  count_work(problem, planned);
  plan.cases.push_back(std::move(planned));
}

const ProblemInfo& problem_of_input(const Options& options, Problems problems,
                                    const std::function<std::string()>& plugin_problem) {
  if (!options.problem.empty()) return find_problem_info(problems, options.problem);
  if (is_kernel_path(options.kernel)) {
    const std::string name = plugin_problem();
    if (!name.empty()) return find_problem_info(problems, name);
  }
  const auto candidates = candidate_problems(options, problems);
  if (candidates.size() == 1) return *candidates.front();
  throw Error(ExitCode::usage, fmt::format("`--input {}` says no problem (several fit); add "
                                           "`--problem NAME`",
                                           options.input));
}

void add_shipped(const Options& options, Problems problems, Plan& plan,
                 const std::function<std::string()>& plugin_problem) {
  std::vector<const ProblemInfo*> chosen = candidate_problems(options, problems);
  if (!options.problem.empty()) {
    chosen = {&find_problem_info(problems, options.problem)};
  } else if (is_kernel_path(options.kernel)) {
    const std::string name = plugin_problem();
    if (!name.empty()) chosen = {&find_problem_info(problems, name)};
  }
  double limit_s = 0;
  bool limited = true;
  for (const ProblemInfo* problem : chosen) {
    const std::string path = shipped_task_file(std::string(problem->name));
    if (path.empty()) {
      throw Error(ExitCode::case_file,
                  fmt::format("no shipped task file `{}.yaml` beside this kbench; name a FILE",
                              problem->name));
    }
    const Source source = read_source(options, path);
    add_rows(options, *problem, source, plan);
    limited = limited && source.time_limit_s.has_value();
    limit_s += source.time_limit_s.value_or(0);
  }
  if (limited && limit_s > 0) plan.time_limit_s = limit_s;
}

void select(const Options& options, Plan& plan) {
  const auto count = static_cast<std::int64_t>(plan.cases.size());
  if (!options.only.empty()) {
    if (options.only.back() >= count) {
      throw Error(
          ExitCode::usage,
          fmt::format("no case {} (`--only`; there are {} cases, 0 to {}); `--dry-run` shows them",
                      options.only.back(), count, count - 1));
    }
    std::vector<PlannedCase> kept;
    for (std::int64_t i : options.only) kept.push_back(plan.cases[static_cast<std::size_t>(i)]);
    plan.cases = std::move(kept);
  }
  std::erase_if(plan.cases,
                [&](const PlannedCase& planned) { return !matches(options.filter, planned.spec); });
  if (plan.cases.empty()) {
    throw Error(ExitCode::usage, fmt::format("no case matches `--filter {}` ({} cases are there); "
                                             "loosen the conditions",
                                             to_one_line(options.filter_text), count));
  }
  if (options.mode != nullptr && options.mode->only_first_case) plan.cases.resize(1);
}

}  // namespace

const ProblemInfo& find_problem_info(Problems problems, const std::string& name) {
  std::vector<std::string_view> names;
  for (const ProblemInfo* problem : problems) {
    if (problem->name == name) return *problem;
    names.push_back(problem->name);
  }
  const std::string_view near = did_you_mean(name, names);
  throw Error(ExitCode::usage,
              fmt::format("unknown problem `{}`; {}known: {}", to_one_line(name),
                          near.empty() ? "" : fmt::format("did you mean `{}`? ", near),
                          fmt::join(names, ", ")));
}

Plan make_plan(const Options& options, Problems problems,
               const std::function<std::string()>& plugin_problem,
               const std::function<bool()>& cancelled) {
  Plan plan;
  if (!options.problem.empty()) find_problem_info(problems, options.problem);
  if (!options.input.empty()) {
    add_input(options, problem_of_input(options, problems, plugin_problem), plan);
  } else if (options.file.empty() && options.case_lines.empty()) {
    add_shipped(options, problems, plan, plugin_problem);
  } else {
    const Source source = options.case_lines.empty() ? read_source(options, options.file, cancelled)
                                                     : read_case_lines(options);
    for (const ProblemInfo* problem : problems_of(options, problems, source, plugin_problem)) {
      add_rows(options, *problem, source, plan);
    }
    plan.time_limit_s = source.time_limit_s;
  }
  select(options, plan);
  return plan;
}

}  // namespace kbench
