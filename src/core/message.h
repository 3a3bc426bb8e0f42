// What runner and worker say to each other: plain structs and their one-line JSON.
//
// Runner -> worker: Setup once, then Job after Job. Worker -> runner: Hello, then for each Job any
// number of Events and one Reply. A paced job also asks for leave before each timed repeat: Ready
// from the worker, Turn from the runner. Every message carries the token of its Setup or Job;
// anything else on the channel is a disturbed channel. Non-finite numbers travel as strings
// ("nan", "inf", "-inf").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/clocks.h"
#include "core/error.h"
#include "core/flush.h"
#include "core/launch.h"
#include "core/profilers.h"
#include "core/spec.h"
#include "core/stats.h"
#include "core/trace.h"

namespace kbench {

enum class DeviceKind { host, cuda };
std::string_view to_string(DeviceKind kind);

/// `--device`: auto takes the kernel's own device if one is named, else CUDA device 0, else host.
struct DeviceRequest {
  enum class Kind { automatic, host, cuda } kind = Kind::automatic;
  int index = 0;  ///< cuda:N; automatic: the same, counted round; else the worker of `host,host`
};
/// Parses `auto`, `host`, `cuda`, `cuda:N`. Throws Error(usage).
DeviceRequest parse_device(std::string_view text);
/// Parses `0,1` (CUDA devices, each once) or `host,host` (as often as there are to be workers).
/// Throws Error(usage).
std::vector<DeviceRequest> parse_device_list(std::string_view text);
/// `cuda:N` or `host`.
std::string device_label(DeviceKind kind, int index);

/// A device as results name it. Empty strings and zeros where a field has no meaning.
struct DeviceInfo {
  DeviceKind kind = DeviceKind::host;
  int index = 0;
  std::string name;  ///< `NVIDIA H200`, or the CPU's model name
  std::string uuid;
  std::string capability;  ///< `9.0`
  std::string driver;      ///< `580.159.04` where NVML or /proc tells, else the CUDA driver version
  std::string runtime;     ///< CUDA runtime `13.0`, or the BLAS library's version line
  std::vector<std::pair<std::string, std::string>> libraries;  ///< cublas, cusolver, ... versions
  std::int64_t memory_bytes = 0;
  std::int64_t free_bytes = 0;
  std::int64_t cache_bytes = 0;  ///< L2, or the last-level cache
  std::int64_t flush_bytes = 0;  ///< size of the flush buffer
  int multiprocessors = 0;       ///< SMs, or hardware threads
  std::string clock;             ///< what samples are taken with: `cuda_event`, `steady_clock`
};

/// A plug-in as results name it, from its descriptor.
struct KernelInfo {
  std::string name, problem, description, path;
  DeviceKind device = DeviceKind::host;
  bool synchronises_host = false;
};

struct Setup {
  std::string token;
  DeviceRequest device;
  std::string kernel_path;    ///< loaded and described before the device is opened; may be empty
  bool list_devices = false;  ///< Hello.devices is filled with every device of this machine
  /// The device is to be locked for the runner that asks, before anything is measured. For whoever
  /// starts the worker; the worker itself locks nothing.
  bool lock = false;
  bool ask_cupti = false;  ///< Hello.cupti is filled on a CUDA device
  /// For the loading of the plug-in, whose constructors may hang; 0: that of the whole set-up.
  double call_timeout_s = 0;
};
/// Seconds for a set-up: loading a plug-in and opening a device.
constexpr double k_set_up_limit_s = 120;

struct Hello {
  std::string token;
  std::optional<DeviceInfo> device;  ///< absent on failure
  std::vector<DeviceInfo> devices;
  std::optional<KernelInfo> kernel;
  std::string note;   ///< `no CUDA device: host backend, CPU timings`
  std::string error;  ///< with `code` when set-up failed
  ExitCode code = ExitCode::ok;
  std::optional<CuptiState> cupti;  ///< where Setup.ask_cupti asked for it
};

enum class JobKind {
  check,    ///< test mode: one call on a copy of one input, check
  measure,  ///< benchmark and leaderboard: warm-up, checked pass, timed repeats
  profile,  ///< one call inside the range, check after
  trace,    ///< timed repeats without, then with a tracer that records what the device does
  generate  ///< build the inputs, write them as .npy, hash them
};

/// What a trace job is asked for.
struct TraceRequest {
  std::vector<std::string> names;  ///< filters of kernel names (kernel_names.h); empty: all
  bool multiple = false;           ///< a filter may select several kernels
  std::string chrome_trace;        ///< file to write, or empty
};

struct Job {
  std::string token;
  JobKind kind = JobKind::check;
  Case spec;
  std::string kernel_path;            ///< empty for generate
  std::vector<std::int64_t> seeds;    ///< one input each, in order
  std::optional<StopLimits> warm_up;  ///< repeats before the measured ones, results ignored
  StopLimits limits;
  std::int64_t exact_repeats = 0;  ///< --repeats N: exactly N timed repeats; 0: the stop rule
  bool paced = false;              ///< each timed repeat waits for a Turn, and Turns end them
  bool together = false;           ///< paced, and each timed repeat starts at a moment of a Turn
  bool may_hold = true;            ///< together: launches may be held back until that moment
  bool range = true;               ///< cudaProfilerStart/Stop and NVTX around the timed calls
  bool hash_inputs = false;        ///< read the inputs back and tell their SHA-256
  bool fresh_inputs = false;       ///< other inputs in each repeat, and audit repeats among them
  std::uint64_t nonce = 0;         ///< of this run: fresh inputs and audit repeats follow from it
  double call_timeout_s = 0;       ///< per custom_kernel call; 0: 60 s on CUDA, 600 s on the host
  std::string save_failing;        ///< folder, or empty
  std::string save_stem;           ///< file name stem for saved and generated arrays
  std::string out;                 ///< generate: folder
  Flush flush = Flush::once;
  std::optional<TraceRequest> trace;  ///< trace jobs
  bool idle_time = false;             ///< measure jobs: one traced repeat after the timed ones
  double hold_limit_s = 2;            ///< of one queued repeat, after which its launches are let go
  Launch launch = Launch::as_called;  ///< queued: more repeats after the timed ones, measure alone
};

/// Progress. `limit_s` > 0: the worker must speak again within so many seconds or it hangs. While
/// `what` is empty kbench's own code runs, whose limit is generous and not enforced in-process.
struct Event {
  std::string token;
  std::string phase;        ///< inputs, create, warm-up, checked pass, repeat, check, ...
  std::int64_t repeat = 0;  ///< 1-based inside its phase
  double limit_s = 0;
  std::string what;  ///< what hangs when the limit passes: `custom_kernel`, `create`, ...
  double mean_ns = 0, err_ns = 0;  ///< running figures after a timed repeat
};

/// The worker of a paced job has an idle device and waits for a Turn.
struct Ready {
  std::string token;
  double sample_ns = 0;  ///< of the timed repeat just made; 0 before the first
  bool at_start =
      false;  ///< together: the repeat is prepared, its cache flushed; waits for a start
};

/// Answers Ready: one more timed repeat, or the end of them. Only one worker at a time has a turn,
/// unless the job is one that starts together.
struct Turn {
  std::string token;
  bool more = false;
  std::int64_t start_ns =
      0;  ///< answers at_start: when, by CLOCK_MONOTONIC of the worker's machine
};

/// When a device began a repeat of a job that starts together: not before `after_ns`, not later
/// than `before_ns`, by CLOCK_MONOTONIC. Both ends are the same where the host is the device.
struct StartBracket {
  std::int64_t after_ns = 0, before_ns = 0;
};

struct Figure {
  std::string name;  ///< `scaled_factor_residual`
  double value = 0;
  double gate = 0;  ///< largest value that passes; 0: reported, not gated
};

struct InputRecord {
  std::int64_t seed = 0;
  std::string sha256;  ///< generate only
  std::string path;    ///< generate only
  double ms = 0;       ///< generation on the device, synchronised
};

struct Reply {
  std::string token;
  bool passed = false;
  std::string message;            ///< pass message of the checker
  std::string error;              ///< failure in words, when not passed
  bool worker_unusable = false;   ///< sticky device error: replace the worker
  std::vector<Figure> residuals;  ///< worst over all checks of the case, in gate order
  double worst_of_gate = 0;       ///< worst residual as a fraction of its gate
  std::string worst_gate;
  std::vector<double> samples_ns;  ///< per custom_kernel call, one a timed repeat
  std::int64_t calls_per_repeat = 0;
  StopReason stop = StopReason::none;
  std::int64_t warm_up_repeats = 0;
  std::vector<InputRecord> inputs;
  std::string fresh_inputs;        ///< `on`, `off`, `fixed` (one input only); measure jobs alone
  std::int64_t audit_repeats = 0;  ///< untimed ones in which inputs arrive between the calls
  std::optional<double> audit_call_ns;  ///< per call in the fastest audit of new inputs, copies off
  double floor_ns = 0;                  ///< no honest call is faster; 0: not known
  double copy_bytes_per_s = 0;          ///< measured on this device; 0: does not apply
  double tensor_flops_per_s = 0;        ///< highest rate of the device's products; 0: not known
  std::string floor_reason;             ///< what the floor comes from, and what it leaves out
  std::vector<StartBracket> starts;     ///< of jobs that start together, one a timed repeat
  std::optional<QueuedFigures> queued;  ///< of measure jobs with Launch::queued
  LaunchCosts launch_costs;             ///< of this device; measure jobs alone
  Clocks clocks;                        ///< around the timed repeats; measure jobs alone
  double first_call_ms = 0;             ///< the first custom_kernel call, wall
  double create_ms = 0;                 ///< create, workspace_bytes and prepare
  double check_ms = 0;                  ///< first check with diagnostics, per input, wall
  double recheck_ms = 0;                ///< median of the gate-only rechecks, per input, wall
  std::int64_t workspace_bytes = 0;
  std::int64_t device_peak_bytes = 0;           ///< kbench's own buffers for this case
  std::optional<double> leaked_bytes_per_call;  ///< 0: what is taken comes back; empty: not known
  std::optional<KernelInfo> kernel;
  std::string kernel_report;                      ///< the plug-in's own line, such as `fallbacks=0`
  std::optional<TraceFigures> trace;              ///< trace jobs
  std::optional<IdleTime> idle;                   ///< measure jobs with Job::idle_time
  std::string idle_unknown;                       ///< why there is no `idle` where it was asked for
  double declared_flops = 0, declared_bytes = 0;  ///< of one call, by the plug-in; 0: not declared
};

using Message = std::variant<Setup, Hello, Job, Event, Reply, Ready, Turn>;

/// One-line JSON and back. `from_json` throws std::runtime_error on anything it does not know.
std::string to_json(const Message& message);
Message from_json(std::string_view text);

}  // namespace kbench
