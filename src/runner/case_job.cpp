// From the row of a mode, the options and the plan to the job that a worker gets. Knows no lane and
// no result.
#include "runner/case_job.h"

#include <fmt/core.h>

#include <filesystem>

#include "runner/case_kernels.h"
#include "runner/trace.h"

namespace kbench {

namespace {

JobKind job_kind(const Mode& mode) {
  if (mode.measures) return JobKind::measure;
  return mode.only_first_case ? JobKind::profile : JobKind::check;
}

}  // namespace

Flush flush_of(const Options& options) {
  return options.flush.value_or(options.mode->id == ModeId::trace ? Flush::clean : Flush::once);
}

Job make_case_job(const Start& start, const RunRecord& record, std::size_t i, std::uint64_t nonce,
                  bool is_warm) {
  const Options& options = start.options;
  const Mode& mode = *record.mode;
  const CaseRecord& row = record.cases[i];
  const Case& spec = row.spec;
  Job job;
  job.kind = job_kind(mode);
  job.spec = spec;
  job.kernel_path = kernel_path(start, record, spec.problem);
  job.seeds = start.plan.cases[i].seeds;
  const bool first = mode.warm_up == WarmUp::first_case && !is_warm;
  if ((mode.warm_up == WarmUp::every_case || first) && record.warm_up) {
    job.warm_up = mode.warm_up_limits;
  }
  job.limits = mode.limits;
  job.exact_repeats = record.exact_repeats;
  job.paced = job.together = options.together;
  job.may_hold = record.why_not_queued.empty();
  job.range = options.range;
  job.hash_inputs = options.hash_inputs;
  job.flush = flush_of(options);
  // After the timed repeats of a case; in a leaderboard run nothing touches CUPTI.
  job.idle_time = mode.id == ModeId::benchmark && !options.together &&
                  options.cupti != CuptiUse::off && record.profiler.empty() && record.device &&
                  record.device->kind == DeviceKind::cuda;
  if (mode.id == ModeId::trace) request_trace(options, start.plan, i, job);
  job.fresh_inputs = mode.measures && options.fresh_inputs != FreshInputs::off;
  if (mode.measures) job.nonce = nonce;
  job.call_timeout_s = options.call_timeout_s;
  // Absolute: a kernel may change the worker's folder.
  if (!options.save_failing.empty()) {
    job.save_failing = std::filesystem::absolute(options.save_failing).string();
  }
  if (record.why_not_queued.empty()) job.launch = options.launch;
  job.save_stem =
      fmt::format("{}-{}-{}x{}-{}", spec.problem, row.case_index, spec.batch, spec.n, spec.kind);
  return job;
}

}  // namespace kbench
