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
#include "core/stats.h"
#include "worker/floor.h"
#include "worker/inputs.h"
#include "worker/kernel_plugin.h"
#include "worker/save_failing.h"

namespace kbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double k_cuda_call_limit_s = 60;
constexpr double k_host_call_limit_s = 600;
// A graph of many branches keeps the device busy for tens of microseconds behind its last node.
// Such a share of the window is less than kbench can tell apart, so it is no gain either.
constexpr double k_longest_rest_ns = 20e3, k_rest_share = 2e-3;
// Nothing that is tidied up after a repeat takes so long.
constexpr double k_longest_price_ns = 2e6;
// This thread may lose its processor just when it waits. Work that is left elsewhere shows in
// repeat after repeat.
constexpr std::int64_t k_least_late = 3, k_late_share = 4;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double call_limit(const Job& job, const kbench_kernel& kernel) {
  if (job.call_timeout_s > 0) return job.call_timeout_s;
  return device_kind(kernel) == DeviceKind::cuda ? k_cuda_call_limit_s : k_host_call_limit_s;
}

/// What is said of work that goes on when the clock has stopped; `what` tells it from the rest.
std::string late_work(DeviceKind device, double rest_ns, const std::string& what) {
  const std::string when =
      device == DeviceKind::host
          ? "after the clock had stopped"
          : fmt::format("{:.0f} us after the timed stream had finished", rest_ns * 1e-3);
  return fmt::format(
      "work was still running {} ({}); join every stream and thread before the end of the call",
      when, what);
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
  progress_.own_code("set-up");
  const std::int64_t count = static_cast<std::int64_t>(job_.seeds.size());
  const bool measures = job_.kind == JobKind::measure;
  // The flush buffer is allocated by its first use and is then part of what is taken. The speed is
  // measured while the memory that it needs is free, and before a plug-in is called.
  if (measures) device_.flush_cache();
  if (measures || job_.kind == JobKind::trace) reply_.launch_costs = device_.speed().costs;
  const Holds holds = measures ? Holds::calls_and_snapshot : Holds::calls;
  const double fresh_bytes = measures ? RepeatInputs::bytes(problem_, job_) : 0;
  require_memory(device_, problem_, job_.spec, count, holds, fresh_bytes);
  arrays_.emplace(device_, problem_, job_.spec, kernel_.output_layout, count, holds);
  build_inputs(device_, problem_, job_.spec, job_.seeds, arrays_->pristine(), progress_,
               reply_.inputs);
  if (job_.hash_inputs && !problem_.info().free_form) {
    hash_inputs(device_, job_.spec, arrays_->pristine(), progress_, reply_.inputs);
  }
  inputs_.emplace(device_, problem_, job_, arrays_->pristine());
  if (measures) reply_.fresh_inputs = inputs_->mode();

  const Clock::time_point begin = Clock::now();
  kbench_call shapes = arrays_->shapes(session_.error_text(), session_.error_size());
  kbench_work work{};
  if (problem_.info().free_form) shapes.work = &work;
  session_.create(shapes);
  reply_.declared_flops = work.flops;
  reply_.declared_bytes = work.bytes;
  reply_.workspace_bytes = session_.workspace_bytes();
  arrays_->complete(reply_.workspace_bytes, session_.error_text(), session_.error_size());
  // What `prepare` runs to warm up reads memory that was written, and nothing of any input.
  for (std::int64_t j = 0; j < arrays_->count(); ++j) arrays_->poison_input(j);
  device_.synchronize();
  session_.prepare(arrays_->calls());
  require_undisturbed("create, workspace_bytes or prepare");
  reply_.create_ms = ms_since(begin);

  progress_.own_code("set-up");
  checker_ = problem_.make_checker(device_, job_.spec.batch, job_.spec.n);
  reply_.device_peak_bytes = arrays_->total_bytes() + static_cast<std::int64_t>(fresh_bytes) +
                             problem_.scratch_bytes(job_.spec);
}

void CaseRun::begin(Pass pass) {
  device_.synchronize();
  pass_ = pass;
  has_snapshot_ = false;
  inputs_->choose(pass);
  for (std::int64_t j = 0; j < arrays_->count(); ++j) {
    if (pass.stage == Stage::audit) {
      arrays_->poison_input(j);
    } else {
      inputs_->write(j, arrays_->input(j));
    }
  }
  arrays_->poison_outputs();
  const std::string breach = arrays_->breach();
  if (!breach.empty()) fail(0, "custom_kernel " + breach);
}

void CaseRun::bring_input(std::int64_t j) {
  if (j > 0) arrays_->poison_input(j - 1);
  inputs_->write(j, arrays_->input(j));
}

void CaseRun::take_snapshot() {
  arrays_->take_snapshot();
  has_snapshot_ = true;
}

void CaseRun::require_undisturbed(const std::string& who) {
  require_undisturbed(who, device_.disturbance());
}

void CaseRun::explain_failure(const std::string& who) {
  Disturbance found;
  try {
    found = device_.disturbance();
  } catch (const DeviceError&) {
    return;
  }
  require_undisturbed(who, found);
}

void CaseRun::require_undisturbed(const std::string& who, const Disturbance& found) {
  if (found.what.empty()) return;
  const std::string text = who + " " + found.what;
  if (found.lost) throw DeviceError(text, true);
  throw Error(ExitCode::case_failed, text);
}

void CaseRun::require_finished(double rest_ns) {
  if (!has_snapshot_) return;
  const std::string changed = arrays_->changed_since_snapshot();
  if (!changed.empty()) fail(0, late_work(device_.info().kind, rest_ns, changed + " changed"));
}

void CaseRun::require_quiet(double rest_ns, double window_ns) {
  if (is_audit()) {
    const double price_ns = std::min(rest_ns, k_longest_price_ns);
    rest_price_ns_ = std::max(rest_price_ns_.value_or(0), price_ns);
  }
  if (pass_.stage == Stage::timed) rests_.push_back({rest_ns, window_ns});
  if (!rest_price_ns_) return;  // not known before the first audit
  std::int64_t late = 0;
  double longest_ns = 0;
  for (const Rest& rest : rests_) {
    const double beyond_ns = rest.wait_ns - *rest_price_ns_;
    if (beyond_ns > k_longest_rest_ns + k_rest_share * rest.window_ns) ++late;
    longest_ns = std::max(longest_ns, beyond_ns);
  }
  const auto waited = static_cast<std::int64_t>(rests_.size());
  if (late < k_least_late || k_late_share * late < waited) return;
  fail(0, late_work(device_.info().kind, longest_ns,
                    fmt::format("so in {} of {} repeats", late, waited)));
}

void CaseRun::require_untouched(std::int64_t j, std::int64_t made) {
  const std::string written = arrays_->written_in_snapshot(j);
  if (written.empty()) return;
  fail(j, fmt::format("custom_kernel wrote {} without that call (audit repeat {} ended after call "
                      "{}); each call does its own work and no other's",
                      written, pass_.number, made));
}

// After an audit pass only the last input is still there.
bool CaseRun::input_is_intact(std::int64_t j) {
  const bool gone = pass_.stage == Stage::audit && j + 1 < arrays_->count();
  return gone ? arrays_->input_is_poison(j) : arrays_->input_equals(j, inputs_->reference(j));
}

void CaseRun::inspect(double rest_ns, double window_ns) {
  const std::string breach = arrays_->breach();
  if (!breach.empty()) fail(0, "custom_kernel " + breach);
  require_finished(rest_ns);
  require_quiet(rest_ns, window_ns);
  for (std::int64_t j = 0; j < arrays_->count(); ++j) {
    if (!input_is_intact(j)) {
      fail(j,
           fmt::format("custom_kernel changed its input (call {}); inputs are read-only", j + 1));
    }
  }
}

std::span<const float* const> CaseRun::judged(std::int64_t j) const {
  return has_snapshot_ ? arrays_->snapshot(j) : arrays_->outputs(j);
}

void CaseRun::check_output(std::int64_t j) {
  const Clock::time_point begin = Clock::now();
  const Verdict verdict =
      checker_->check(inputs_->reference(j), judged(j), output_layout(kernel_), !is_repeat());
  const double ms = ms_since(begin);
  if (pass_.stage == Stage::warm_up) {  // the figures are those of the repeats that count
    if (!verdict.passed) fail(j, verdict.error + where(j));
    return;
  }
  if (is_repeat()) recheck_ms_.push_back(ms);
  if (!checked_) reply_.check_ms = ms;
  take_figures(verdict.figures);
  if (!checked_ || worse(verdict.worst_of_gate, reply_.worst_of_gate)) {
    reply_.worst_of_gate = verdict.worst_of_gate;
    reply_.worst_gate = verdict.worst_gate;
    if (!is_repeat()) reply_.message = verdict.message;
  }
  checked_ = true;
  if (!verdict.passed) fail(j, verdict.error + where(j));
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

std::string CaseRun::where(std::int64_t j) const {
  const std::int64_t seed = job_.seeds[static_cast<std::size_t>(j)];
  const bool fresh = inputs_->are_fresh(pass_);
  const std::string input = fmt::format("seed {}{}", seed, fresh ? ", fresh input" : "");
  if (pass_.stage == Stage::timed) {
    return fmt::format(" (call {} of repeat {}, {})", j + 1, pass_.number, input);
  }
  if (pass_.stage == Stage::queued) {
    return fmt::format(" (call {} of queued repeat {}, {})", j + 1, pass_.number, input);
  }
  if (pass_.stage == Stage::audit) {
    return fmt::format(
        " (call {} of audit repeat {}, {}; it was there during this call alone, so no other can do "
        "its work)",
        j + 1, pass_.number, input);
  }
  if (pass_.stage == Stage::cut_audit) {
    return fmt::format(
        " (call {} of audit repeat {}, {}; the repeat ended early, so no later call can do its "
        "work)",
        j + 1, pass_.number, input);
  }
  if (arrays_->count() > 1) return fmt::format(" (call {}, {})", j + 1, input);
  return fresh ? fmt::format(" ({})", input) : std::string();
}

void CaseRun::fail(std::int64_t j, std::string text) {
  const std::string breach = arrays_->breach();
  if (!breach.empty()) text = "custom_kernel " + breach;
  if (!job_.save_failing.empty()) {
    try {
      const std::string base =
          save_failing(device_, problem_, job_.spec, job_.save_failing, job_.save_stem,
                       inputs_->reference(j), judged(j), output_layout(kernel_));
      text += fmt::format("; saved as `{}.*.npy`", base);
    } catch (const DeviceError&) {
      throw;
    } catch (const std::exception& error) {
      text += fmt::format("; not saved: {}", error.what());
    }
  }
  throw Error(ExitCode::case_failed, text);
}

void CaseRun::judge_time() {
  const Floor floor = time_floor(device_.info(), device_.speed(), problem_, job_.spec);
  reply_.floor_ns = floor.ns;
  reply_.floor_reason = floor.reason;
  reply_.copy_bytes_per_s = device_.speed().copy_bytes_per_s;
  reply_.tensor_flops_per_s = tensor_peak(device_.info().capability);
  require_possible_time(summarize(reply_.samples_ns).mean, floor);
}

void CaseRun::finish() {
  reply_.recheck_ms = median(recheck_ms_);
  reply_.kernel_report = session_.report();
  progress_.own_code("finish");
}

void CaseRun::abandon() noexcept { session_.abandon(); }

}  // namespace kbench
