// Set-up and judgement of a case. Knows problems, arrays and the plug-in's session; makes no
// custom_kernel call and reads no stopwatch.
#include "worker/case_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "core/error.h"
#include "worker/inputs.h"
#include "worker/kernel_plugin.h"
#include "worker/save_failing.h"

namespace kbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double k_cuda_call_limit_s = 60;
constexpr double k_host_call_limit_s = 600;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double call_limit(const Job& job, const kbench_kernel& kernel) {
  if (job.call_timeout_s > 0) return job.call_timeout_s;
  return device_kind(kernel) == DeviceKind::cuda ? k_cuda_call_limit_s : k_host_call_limit_s;
}

/// NaN is worse than any number.
bool worse(double a, double b) { return std::isnan(a) || (!std::isnan(b) && a > b); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

CaseRun::CaseRun(Device& device, const Problem& problem, const kbench_kernel& kernel,
                 const Job& job, const Progress& progress, Reply& reply)
    : device_(device),
      problem_(problem),
      kernel_(kernel),
      job_(job),
      progress_(progress),
      reply_(reply),
      call_limit_s_(call_limit(job, kernel)),
      session_(device, kernel, progress, call_limit_s_) {}

void CaseRun::set_up() {
  const std::int64_t count = static_cast<std::int64_t>(job_.seeds.size());
  // The flush buffer is allocated by its first use and is then part of what is taken.
  if (job_.kind == JobKind::measure) device_.flush_cache();
  require_memory(device_, problem_, job_.spec, count, true);
  arrays_.emplace(device_, problem_, job_.spec, kernel_.output_layout, count);
  build_inputs(device_, problem_, job_.spec, job_.seeds, arrays_->pristine(), progress_,
               reply_.inputs);

  const Clock::time_point begin = Clock::now();
  session_.create(arrays_->shapes(session_.error_text(), session_.error_size()));
  reply_.workspace_bytes = session_.workspace_bytes();
  arrays_->complete(reply_.workspace_bytes, session_.error_text(), session_.error_size());
  session_.prepare(arrays_->calls());
  reply_.create_ms = ms_since(begin);

  progress_.own_code("set-up");
  checker_ = problem_.make_checker(device_, job_.spec.batch, job_.spec.n);
  reply_.device_peak_bytes = arrays_->total_bytes() + problem_.scratch_bytes(job_.spec);
}

void CaseRun::begin_repeat() {
  device_.synchronize();
  arrays_->restore_inputs();
  arrays_->poison_outputs();
  const std::string breach = arrays_->breach();
  if (!breach.empty()) fail(0, "custom_kernel " + breach);
}

void CaseRun::inspect() {
  const std::string breach = arrays_->breach();
  if (!breach.empty()) fail(0, "custom_kernel " + breach);
  for (std::int64_t j = 0; j < arrays_->count(); ++j) {
    if (!arrays_->input_unchanged(j)) {
      fail(j,
           fmt::format("custom_kernel changed its input (call {}); inputs are read-only", j + 1));
    }
  }
}

void CaseRun::check_output(std::int64_t j, std::int64_t repeat) {
  const Clock::time_point begin = Clock::now();
  const Verdict verdict = checker_->check(arrays_->pristine()[static_cast<std::size_t>(j)],
                                          arrays_->outputs(j), output_layout(kernel_), repeat == 0);
  const double ms = ms_since(begin);
  if (repeat > 0) recheck_ms_.push_back(ms);
  if (!checked_) reply_.check_ms = ms;
  take_figures(verdict.figures);
  if (!checked_ || worse(verdict.worst_of_gate, reply_.worst_of_gate)) {
    reply_.worst_of_gate = verdict.worst_of_gate;
    reply_.worst_gate = verdict.worst_gate;
    if (repeat == 0) reply_.message = verdict.message;
  }
  checked_ = true;
  if (!verdict.passed) fail(j, verdict.error + where(j, repeat));
}

void CaseRun::take_figures(const std::vector<Figure>& figures) {
  for (const Figure& figure : figures) {
    const auto known = std::find_if(reply_.residuals.begin(), reply_.residuals.end(),
                                    [&](const Figure& f) { return f.name == figure.name; });
    if (known == reply_.residuals.end()) {
      reply_.residuals.push_back(figure);
    } else if (worse(figure.value, known->value)) {
      known->value = figure.value;
    }
  }
}

std::string CaseRun::where(std::int64_t j, std::int64_t repeat) const {
  const std::int64_t seed = job_.seeds[static_cast<std::size_t>(j)];
  if (repeat > 0) return fmt::format(" (call {} of repeat {}, seed {})", j + 1, repeat, seed);
  return arrays_->count() > 1 ? fmt::format(" (call {}, seed {})", j + 1, seed) : std::string();
}

void CaseRun::fail(std::int64_t j, std::string text) {
  const std::string breach = arrays_->breach();
  if (!breach.empty()) text = "custom_kernel " + breach;
  if (!job_.save_failing.empty()) {
    try {
      const std::string base =
          save_failing(device_, problem_, job_.spec, job_.save_failing, job_.save_stem,
                       arrays_->pristine()[static_cast<std::size_t>(j)], arrays_->outputs(j),
                       output_layout(kernel_));
      text += fmt::format("; saved as `{}.*.npy`", base);
    } catch (const DeviceError&) {
      throw;
    } catch (const std::exception& error) {
      text += fmt::format("; not saved: {}", error.what());
    }
  }
  throw Error(ExitCode::case_failed, text);
}

void CaseRun::finish() {
  reply_.recheck_ms = median(recheck_ms_);
  reply_.kernel_report = session_.report();
  progress_.own_code("finish");
}

void CaseRun::abandon() noexcept { session_.abandon(); }

}  // namespace kbench
