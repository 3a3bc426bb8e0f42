// The worker's loop: takes jobs from the socket, runs them, answers. The second of the two places
// where errors are caught; knows nothing of modes, result lines or exit codes of a run.
#include "worker/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <variant>

#include "core/error.h"
#include "core/text.h"
#include "device/device.h"
#include "problems/problem.h"
#include "worker/channel.h"
#include "worker/cupti_owner.h"
#include "worker/generate.h"
#include "worker/kernel_plugin.h"
#include "worker/measure.h"
#include "worker/trace_run.h"

namespace kbench {
namespace {

constexpr std::size_t k_max_error = 4000;

std::string reply_text(const std::string& text) {
  return shorten(to_valid_utf8(text), k_max_error);
}

class Worker {
 public:
  explicit Worker(Channel& channel) : channel_(channel) {}

  Hello set_up(const Setup& setup);
  Reply run(const Job& job);

 private:
  const KernelPlugin& plugin(const std::string& path);
  const KernelPlugin& load(const Setup& setup);
  /// `auto` with a kernel named means that kernel's device.
  DeviceRequest choose_device(const DeviceRequest& asked) const;
  void dispatch(const Job& job, Reply& reply);
  /// Waits for the runner's leave. A runner that has closed the channel wants no more repeats.
  bool wait_for_turn(const Job& job, double sample_ns);
  std::optional<std::int64_t> wait_for_start(const Job& job);
  std::optional<Turn> exchange(const Ready& ready);

  Channel& channel_;
  std::optional<KernelPlugin> plugin_;
  std::string plugin_asked_;  // as the runner named it
  std::unique_ptr<Device> device_;
};

const KernelPlugin& Worker::plugin(const std::string& path) {
  if (plugin_ && plugin_asked_ == path) return *plugin_;
  if (plugin_) {
    throw Error(ExitCode::case_failed,
                fmt::format("this worker holds kernel `{}` and cannot load `{}` (one plug-in per "
                            "process); start a fresh worker",
                            plugin_asked_, path));
  }
  plugin_.emplace(path);
  plugin_asked_ = path;
  return *plugin_;
}

/// Constructors of the plug-in run here. The limit of a call is for them, not for a driver that
/// takes its time to start; and a large library on a slow disk is no hang.
const KernelPlugin& Worker::load(const Setup& setup) {
  constexpr double k_least_s = 20;
  const auto tell = [&](double limit_s, const char* what) {
    if (setup.call_timeout_s > 0) {
      channel_.send(Event{setup.token, "set-up", 0, limit_s, what, 0, 0});
    }
  };
  tell(std::max(setup.call_timeout_s, k_least_s), "loading the plug-in");
  const KernelPlugin& loaded = plugin(setup.kernel_path);
  tell(k_set_up_limit_s, "the worker's set-up");
  return loaded;
}

DeviceRequest Worker::choose_device(const DeviceRequest& asked) const {
  if (asked.kind != DeviceRequest::Kind::automatic || !plugin_) return asked;
  if (device_kind(plugin_->kernel()) == DeviceKind::host) return {DeviceRequest::Kind::host, 0};
  const int count = cuda_device_count(nullptr);
  return DeviceRequest{DeviceRequest::Kind::cuda, count > 0 ? asked.index % count : 0};
}

Hello Worker::set_up(const Setup& setup) {
  Hello hello;
  hello.token = setup.token;
  try {
    if (!setup.kernel_path.empty()) {
      const KernelPlugin& loaded = load(setup);
      hello.kernel = describe(loaded.kernel(), loaded.path());
    }
    if (setup.list_devices) hello.devices = list_devices();
    device_ = open_device(choose_device(setup.device), &hello.note);
    hello.device = device_->info();
    hello.device->free_bytes = device_->free_bytes();
    if (setup.ask_cupti && hello.device->kind == DeviceKind::cuda) {
      hello.cupti = ask_cupti([](const char* name) { return std::getenv(name); });
    }
  } catch (const Error& error) {
    hello.error = reply_text(error.what());
    hello.code = error.code();
  } catch (const std::exception& error) {
    hello.error = reply_text(fmt::format("worker could not start ({})", error.what()));
    hello.code = ExitCode::device;
  }
  return hello;
}

std::optional<Turn> Worker::exchange(const Ready& ready) {
  channel_.send(ready);
  const std::optional<Message> message = channel_.receive();
  if (!message) return std::nullopt;
  const Turn* turn = std::get_if<Turn>(&*message);
  if (turn == nullptr || turn->token != ready.token) {
    throw ChannelError("the runner answered no turn of this job");
  }
  return *turn;
}

bool Worker::wait_for_turn(const Job& job, double sample_ns) {
  const std::optional<Turn> turn = exchange(Ready{job.token, sample_ns, false});
  return turn && turn->more;
}

std::optional<std::int64_t> Worker::wait_for_start(const Job& job) {
  const std::optional<Turn> turn = exchange(Ready{job.token, 0, true});
  if (!turn || !turn->more) return std::nullopt;
  return turn->start_ns;
}

void Worker::dispatch(const Job& job, Reply& reply) {
  const EventSink sink = [this](const Event& event) { channel_.send(event); };
  const Problem* problem = find_problem(job.spec.problem);
  if (problem == nullptr) {
    throw Error(
        ExitCode::case_failed,
        fmt::format("worker knows no problem `{}`; see `kbench list problems`", job.spec.problem));
  }
  if (device_ == nullptr) {
    throw Error(ExitCode::device, "worker has no device (set-up failed); see its first message");
  }
  if (job.seeds.empty()) {
    throw Error(ExitCode::case_failed, "job names no seed (nothing to build an input from)");
  }
  if (job.kind == JobKind::generate) {
    run_generate(*device_, *problem, job, sink, reply);
    return;
  }
  if (job.kernel_path.empty()) {
    throw Error(ExitCode::case_failed, "job names no kernel; use `--kernel NAME|PATH.so`");
  }
  const KernelPlugin& loaded = plugin(job.kernel_path);
  reply.kernel = describe(loaded.kernel(), loaded.path());
  check_match(loaded.kernel(), job.spec.problem, device_->info().kind);
  if (job.kind == JobKind::trace) {
    run_trace_job(*device_, *problem, loaded.kernel(), job, sink, reply, open_cupti_tracer);
    return;
  }
  const TurnSource turns = [&](double sample_ns) { return wait_for_turn(job, sample_ns); };
  const StartSource starts = [&] { return wait_for_start(job); };
  run_kernel_job(*device_, *problem, loaded.kernel(), job, sink, reply, turns, starts);
}

Reply Worker::run(const Job& job) {
  Reply reply;
  reply.token = job.token;
  try {
    dispatch(job, reply);
    reply.passed = true;
  } catch (const ChannelError&) {
    throw;
  } catch (const DeviceError& error) {
    reply.error = reply_text(error.what());
    reply.worker_unusable = error.sticky();
  } catch (const std::bad_alloc&) {
    // A plug-in may hold the memory; only the end of the process gives it back.
    reply.error = "out of host memory; lower batch or n";
    reply.worker_unusable = true;
  } catch (const std::exception& error) {
    reply.error = reply_text(error.what());
  }
  return reply;
}

int serve_until_closed(Channel& channel) {
  Worker worker(channel);
  while (const std::optional<Message> message = channel.receive()) {
    if (const Setup* setup = std::get_if<Setup>(&*message)) {
      channel.send(worker.set_up(*setup));
    } else if (const Job* job = std::get_if<Job>(&*message)) {
      channel.send(worker.run(*job));
    } else {
      throw ChannelError("the runner sent a message that only a worker sends");
    }
  }
  return 0;
}

}  // namespace

int serve(int socket) {
  Channel channel(socket);
  try {
    return serve_until_closed(channel);
  } catch (const ChannelError& error) {
    std::fprintf(stderr, "kbench worker: %s\n", error.what());
    return 1;
  }
}

}  // namespace kbench
