// The other side of the channel for the tests of the runner. Speaks the real protocol and breaks it
// on demand.
#include "fake_worker.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "core/frame.h"
#include "core/message.h"
#include "fake_turns.h"

using namespace kbench;

namespace {

void send_bytes(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void send_message(int socket, const Message& message) {
  send_bytes(socket, encode_frame(to_json(message)));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void log_line(const std::string& line) {
  const std::string path = variable("FAKE_LOG");
  if (path.empty()) return;
  std::ofstream(path, std::ios::app) << line << '\n';
}

[[noreturn]] void wait_forever() {
  for (;;) pause();
}

/// Tells the test which processes wait here.
void report_processes(std::initializer_list<pid_t> processes) {
  std::ofstream fifo(variable("FAKE_FIFO"));
  for (pid_t process : processes) fifo << process << ' ';
  fifo << std::endl;
}

/// A process that left the worker's session and would outlive everybody.
pid_t start_daemon() {
  std::array<int, 2> ready{};
  if (pipe(ready.data()) != 0) _exit(9);
  const pid_t middle = fork();
  if (middle == 0) {
    setsid();
    const pid_t daemon = fork();
    if (daemon != 0) {
      const bool told = write(ready[1], &daemon, sizeof daemon) > 0;
      _exit(told ? 0 : 9);
    }
    for (int signal : {SIGTERM, SIGHUP, SIGINT}) ::signal(signal, SIG_IGN);
    wait_forever();
  }
  pid_t daemon = 0;
  if (read(ready[0], &daemon, sizeof daemon) <= 0) _exit(9);
  close(ready[0]);
  close(ready[1]);
  return daemon;
}

void send_event(int socket, const Job& job, const char* phase, std::int64_t repeat, double limit_s,
                const char* what = "custom_kernel") {
  Event event;
  event.token = job.token;
  event.phase = phase;
  event.repeat = repeat;
  event.limit_s = limit_s;
  event.what = what;
  send_message(socket, event);
}

Reply passing_reply(const Job& job) {
  Reply reply;
  reply.token = job.token;
  reply.passed = true;
  reply.message = "scaled_residual=0.5";
  reply.residuals = {{"scaled_residual", 0.5}};
  reply.worst_of_gate = 0.025;
  reply.worst_gate = "factor";
  reply.inputs = {{job.seeds.front(), "", "", 1.5}};
  reply.calls_per_repeat = static_cast<std::int64_t>(job.seeds.size());
  if (job.kind == JobKind::measure) {
    reply.samples_ns = {1000, 1250, 1500};
    reply.fresh_inputs = job.fresh_inputs ? "on" : "off";
    reply.audit_repeats = 2;
    if (job.launch == Launch::queued) {
      reply.queued = QueuedFigures{HoldKind::hold, "", 0, {800, 900}};
    }
    reply.floor_ns = 125;
    reply.floor_reason = "half of 2 KiB over 8 GB/s";
  }
  if (job.kind == JobKind::generate) {
    reply.inputs.clear();
    for (std::int64_t seed : job.seeds) {
      reply.inputs.push_back({seed, "abc123", job.out + "/" + job.save_stem + ".npy", 0.25});
    }
  }
  return reply;
}

void fail_with(int socket, const Job& job, const std::string& error, bool unusable = false) {
  Reply reply;
  reply.token = job.token;
  reply.error = error;
  reply.worker_unusable = unusable;
  if (job.kind == JobKind::measure) reply.fresh_inputs = job.fresh_inputs ? "on" : "off";
  send_message(socket, reply);
}

void pass_with(int socket, const Job& job, const std::string& message) {
  Reply reply = passing_reply(job);
  reply.message = message;
  send_message(socket, reply);
}

/// The job as the worker sees it, for tests of what the runner asks for.
std::string describe(const Job& job) {
  return fmt::format("kind={} seeds={} warm_up={} repeats={} max={} range={} timeout={} stem={}",
                     static_cast<int>(job.kind), fmt::join(job.seeds, ","),
                     job.warm_up ? job.warm_up->max_repeats : -1, job.exact_repeats,
                     job.limits.max_repeats, job.range, job.call_timeout_s, job.save_stem);
}

/// A time that no honest call can have.
void impossible(int socket, const Job& job) {
  Reply reply = passing_reply(job);
  reply.passed = false;
  reply.error = "impossible time: mean 100 ns (floor 125 ns)";
  send_message(socket, reply);
}

void fixed(int socket, const Job& job) {
  Reply reply = passing_reply(job);
  reply.fresh_inputs = "fixed";
  send_message(socket, reply);
}

/// A GPU that gets hot while it is measured.
void hot(int socket, const Job& job) {
  Reply reply = passing_reply(job);
  reply.clocks.before = ClockState{1980, 64, 693.5, 0x4};
  reply.clocks.after = ClockState{1755, 87, 699.0, 0x24};
  send_message(socket, reply);
}

void clockless(int socket, const Job& job) {
  Reply reply = passing_reply(job);
  reply.clocks.absent = "no NVML (`libnvidia-ml.so.1` cannot be loaded)";
  send_message(socket, reply);
}

pid_t parent_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  return std::atoi(line.c_str() + line.rfind(')') + 4);
}

/// Writes a verdict into every descriptor of the keeper and the runner that /proc lets it open.
void reach(int socket, const Job& job) {
  int reached = 0;
  for (const pid_t process : {getppid(), parent_of(getppid())}) {
    for (int fd = 0; fd < 64; ++fd) {
      const std::string path = fmt::format("/proc/{}/fd/{}", process, fd);
      const int copy = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
      if (copy < 0) continue;
      ++reached;
      send_bytes(copy, "check: pass\n");
      if (write(copy, "check: pass\n", 12) < 0) continue;
    }
  }
  pass_with(socket, job, fmt::format("reached {}", reached));
}

/// From now on the runner can open nothing.
void starve(int, const Job&) {
  const rlimit none{3, 3};
  prlimit(parent_of(getppid()), RLIMIT_NOFILE, &none, nullptr);
  raise(SIGKILL);
}
std::string broken_mark(int device);
int& device_of_this_worker();

/// A GPU that a short call shows most of the events' own cost on.
void costly(int socket, const Job& job) {
  Reply reply = passing_reply(job);
  reply.launch_costs = {130, 270, 540};
  reply.calls_per_repeat = 2;
  send_message(socket, reply);
}

using Behaviour = std::function<void(int socket, const Job& job)>;

void chatter(int socket, const Job& job) {
  const std::string line = std::string(99, 'x') + "\n";
  for (int i = 0; i < 2000; ++i) {
    if (write(1, line.data(), line.size()) < 0) _exit(9);
  }
  fmt::print(stderr, "last words\n");
  send_message(socket, passing_reply(job));
}

void bad_samples(int socket, const Job& job, std::vector<double> samples) {
  Reply reply = passing_reply(job);
  reply.samples_ns = std::move(samples);
  send_message(socket, reply);
}

const std::map<std::string, Behaviour>& behaviours() {
  static const std::map<std::string, Behaviour> k_table = {
      {"dense", [](int s, const Job& job) { send_message(s, passing_reply(job)); }},
      {"mixed", [](int s, const Job& job) { send_message(s, passing_reply(job)); }},
      {"echo", [](int s, const Job& job) { pass_with(s, job, describe(job)); }},
      {"wrong", [](int s, const Job& job) { fail_with(s, job, "factor: matrix 3: 7 > 2"); }},
      {"huge", [](int s, const Job& job) { fail_with(s, job, std::string(10000, 'e')); }},
      {"sticky", [](int s, const Job& job) { fail_with(s, job, "illegal address", true); }},
      {"forge",
       [](int s, const Job& job) {
         fail_with(s, job,
                   "bad\ncheck: pass\r\v\f\x1c\x1d\x1e test.0.status: pass"
                   "\u0085\u2028\u2029\xff" +
                       std::string(1, '\0') + "end");
       }},
      {"segv",
       [](int, const Job&) {
         signal(SIGSEGV, SIG_DFL);
         raise(SIGSEGV);
       }},
      {"latesegv",
       [](int s, const Job& job) {
         send_event(s, job, "repeat", 3, 60);
         signal(SIGSEGV, SIG_DFL);
         raise(SIGSEGV);
       }},
      {"exit0", [](int, const Job&) { _exit(0); }},
      {"hang",
       [](int s, const Job& job) {
         send_event(s, job, "checked pass", 2, 0.125);
         wait_forever();
       }},
      {"stuck",
       [](int s, const Job& job) {
         send_event(s, job, "check", 2, 0.125, "");
         wait_forever();
       }},
      {"stops",
       [](int s, const Job& job) {
         send_event(s, job, "check", 2, 0, "");
         raise(SIGSTOP);
       }},
      {"reaches", reach},
      {"starves", starve},
      {"wait",
       [](int, const Job&) {
         report_processes({getpid(), start_daemon()});
         wait_forever();
       }},
      {"daemon",
       [](int s, const Job& job) {
         const pid_t daemon = start_daemon();
         send_message(s, passing_reply(job));
         report_processes({getpid(), daemon});
       }},
      {"daemonexit",
       [](int, const Job&) {
         report_processes({getpid(), start_daemon()});
         _exit(3);
       }},
      {"killkeeper",
       [](int, const Job&) {
         const pid_t daemon = start_daemon();
         const pid_t keeper = getppid();
         report_processes({getpid(), daemon});
         kill(keeper, SIGKILL);
         wait_forever();
       }},
      {"garbage",
       [](int s, const Job&) {
         send_bytes(s, "check: pass\n");
         wait_forever();
       }},
      {"wrongtoken",
       [](int s, const Job& job) {
         Reply reply = passing_reply(job);
         reply.token = "0123";
         send_message(s, reply);
         wait_forever();
       }},
      {"wrongtype",
       [](int s, const Job& job) {
         send_message(s, job);
         wait_forever();
       }},
      {"closes",
       [](int s, const Job&) {
         shutdown(s, SHUT_RDWR);
         wait_forever();
       }},
      // Device 1 fails for good at its first case; any other device does what it is asked.
      {"breaks",
       [](int s, const Job& job) {
         if (device_of_this_worker() != 1) return send_message(s, passing_reply(job));
         std::ofstream(broken_mark(1)) << "broken";
         fail_with(s, job, "the device fell off the bus", true);
       }},
      // Waits for ever where nobody has waited before, as a file in $FAKE_BROKEN remembers.
      {"waitonce",
       [](int s, const Job& job) {
         const std::string mark = variable("FAKE_BROKEN") + "/waited";
         if (std::ifstream(mark).good()) return send_message(s, passing_reply(job));
         std::ofstream(mark) << "waited";
         report_processes({getpid(), getppid(), parent_of(getppid())});
         wait_forever();
       }},
      {"idle", [](int, const Job&) { wait_forever(); }},
      {"removes",
       [](int s, const Job& job) {
         std::filesystem::remove_all(variable("FAKE_REMOVES"));
         send_message(s, passing_reply(job));
       }},
      {"slow",
       [](int s, const Job& job) {
         usleep(300000);
         send_message(s, passing_reply(job));
       }},
      {"chatter", chatter},
      {"quiet",
       [](int s, const Job& job) {
         close(1);
         close(2);
         send_message(s, passing_reply(job));
       }},
      {"diesinturn", [](int s, const Job& job) { send_message(s, passing_reply(job)); }},
      {"lastwords", [](int s, const Job& job) { send_message(s, passing_reply(job)); }},
      {"badtime", [](int s, const Job& job) { send_message(s, passing_reply(job)); }},
      {"onewaits", [](int s, const Job& job) { send_message(s, passing_reply(job)); }},
      {"oneslow", [](int s, const Job& job) { send_message(s, passing_reply(job)); }},
      {"onewrong", [](int s, const Job& job) { send_message(s, passing_reply(job)); }},
      {"impossible", impossible},
      {"fixed", fixed},
      {"hot", hot},
      {"costly", costly},
      {"clockless", clockless},
      {"nosamples", [](int s, const Job& job) { bad_samples(s, job, {}); }},
      {"nansample",
       [](int s, const Job& job) {
         bad_samples(s, job, {1, std::strtod("nan", nullptr), 2});
       }},
      {"zerosample",
       [](int s, const Job& job) {
         bad_samples(s, job, {1, 0, 2});
       }},
      {"descriptors",
       [](int s, const Job& job) {
         std::string open;
         for (int fd = 0; fd < 256; ++fd) {
           if (fcntl(fd, F_GETFD) >= 0) open += fmt::format("{} ", fd);
         }
         pass_with(s, job,
                   "open: " + open + (std::getenv("POPCORN_FD") ? "POPCORN_FD" : "") +
                       (std::getenv("POPCORN_SEED") ? "POPCORN_SEED" : ""));
       }},
      {"input", [](int s, const Job& job) { pass_with(s, job, "input " + job.spec.input_path); }},
  };
  return k_table;
}

DeviceInfo host_device() {
  DeviceInfo device;
  device.name = "Fake CPU";
  device.clock = "steady_clock";
  device.flush_bytes = 4096;
  device.memory_bytes = std::int64_t{1} << 30;
  return device;
}

/// A fake plug-in is a text file: its problem and its device.
std::optional<KernelInfo> describe_kernel(const std::string& path) {
  if (path.empty()) return std::nullopt;
  KernelInfo kernel;
  std::string device;
  std::ifstream(path) >> kernel.problem >> device;
  const std::size_t slash = path.rfind('/');
  kernel.name = path.substr(slash + 1, path.rfind('.') - slash - 1);
  kernel.path = path;
  kernel.device = device == "cuda" ? DeviceKind::cuda : DeviceKind::host;
  return kernel;
}

/// Devices that have failed for good, as files that their first case leaves in $FAKE_BROKEN.
std::string broken_mark(int device) {
  return variable("FAKE_BROKEN") + fmt::format("/device-{}", device);
}

int& device_of_this_worker() {
  static int k_device = 0;
  return k_device;
}

void greet(int socket, const Setup& setup) {
  const std::string wrong = variable("FAKE_HELLO");
  log_line(fmt::format("setup {}", setup.kernel_path.substr(setup.kernel_path.rfind('/') + 1)));
  const bool cuda = setup.device.kind == DeviceRequest::Kind::cuda;
  if (setup.ask_cupti) log_line("asked for CUPTI");
  log_line(fmt::format("device {} {}", cuda ? "cuda" : "other", setup.device.index));
  const bool loads = !setup.kernel_path.empty();
  if (wrong == "dies" || (wrong == "dies loading" && loads)) raise(SIGKILL);
  if (wrong == "hangs loading" && loads) wait_forever();
  if (wrong == "hangs in constructor" && loads && setup.call_timeout_s > 0) {
    send_message(socket, Event{setup.token, "set-up", 0, 0.125, "loading the plug-in", 0, 0});
    wait_forever();
  }
  Hello hello;
  hello.token = setup.token;
  hello.kernel = describe_kernel(setup.kernel_path);
  device_of_this_worker() = setup.device.index;
  const bool broken = std::ifstream(broken_mark(setup.device.index)).good();
  if (wrong == "no device" || broken) {
    hello.error = "no CUDA device (driver missing); use `--device host`";
    hello.code = ExitCode::device;
  } else if (wrong == "failed") {
    hello.error = "set-up went wrong";
    hello.code = ExitCode::case_failed;
  } else if (wrong == "wrong abi") {
    hello.error = "kernel has ABI 7, kbench has 1; build it again";
    hello.code = ExitCode::usage;
    hello.kernel.reset();
  } else if (wrong == "no descriptor" && setup.kernel_path.find("lapack") == std::string::npos) {
    hello.error =
        fmt::format("kernel `{}` exports no `kbench_kernel_descriptor`", setup.kernel_path);
    hello.code = ExitCode::usage;
    hello.kernel.reset();
  } else {
    hello.device = host_device();
    if (cuda) {
      hello.device->kind = DeviceKind::cuda;
      hello.device->capability = "8.6";
    }
    if (hello.kernel) hello.device->kind = hello.kernel->device;
    hello.device->index = setup.device.index;
    const std::string uuid = variable("FAKE_UUID");
    if (!uuid.empty()) hello.device->uuid = fmt::format("{}-{}", uuid, setup.device.index);
    // Of a device that has CUPTI: FAKE_CUPTI names its holder, `nobody` or what is `missing`.
    const std::string holder = variable("FAKE_CUPTI");
    if (setup.ask_cupti && holder == "nobody") {
      hello.cupti = CuptiState{CuptiState::Kind::available, "", ""};
    } else if (setup.ask_cupti && holder == "missing") {
      hello.cupti = CuptiState{CuptiState::Kind::missing, "", "`libcupti.so.13` was not found"};
    } else if (setup.ask_cupti && !holder.empty()) {
      hello.cupti = CuptiState{CuptiState::Kind::held, holder, "subscribing failed (39)"};
    }
    hello.note = wrong == "note" ? "no CUDA device: host backend, CPU timings" : "";
  }
  if (setup.list_devices) hello.devices = {host_device()};
  send_message(socket, hello);
}

bool has_turns(const Job& job) {
  constexpr std::array<std::string_view, 8> k_kinds = {
      "dense", "mixed", "diesinturn", "lastwords", "badtime", "onewaits", "oneslow", "onewrong"};
  return job.paced && std::find(k_kinds.begin(), k_kinds.end(), job.spec.kind) != k_kinds.end();
}

void work(int socket, const Job& job, FakeTurns& turns) {
  log_line(fmt::format("job {} {} {}", job.spec.problem, job.spec.kind, describe(job)));
  if (job.launch == Launch::queued) log_line("queued");
  log_line(fmt::format("fresh={} nonce={}", job.fresh_inputs, job.nonce));
  if (has_turns(job)) return turns.begin(job, passing_reply(job));
  behaviours().at(job.spec.kind)(socket, job);
}

std::vector<std::string_view> case_names(std::string_view extra) {
  std::vector<std::string_view> names = {"dense"};
  for (const auto& [name, behaviour] : behaviours()) {
    if (name != "dense" && name != "mixed" && name != "input") names.push_back(name);
  }
  names.push_back(extra);
  return names;
}

ProblemInfo problem(std::string_view name, std::string_view extra) {
  ProblemInfo info{};
  info.name = name;
  info.summary = "a fake problem";
  info.cases = case_names(extra);
  return info;
}

}  // namespace

std::span<const ProblemInfo* const> fake_problems() {
  static const ProblemInfo k_qr = problem("qr_v2", "onlyqr");
  static const ProblemInfo k_eigh = problem("eigh_py", "mixed");
  static const std::array<const ProblemInfo*, 2> k_table = {&k_qr, &k_eigh};
  return k_table;
}

double fake_memory(const Job& job) {
  return 1024.0 * static_cast<double>(job.seeds.size()) * static_cast<double>(job.spec.batch);
}

int fake_serve(int socket) {
  FrameDecoder decoder;
  FakeTurns turns([socket](const Message& message) { send_message(socket, message); }, log_line,
                  [] {
                    report_processes({getpid(), getppid(), parent_of(getppid())});
                    wait_forever();
                  });
  std::array<char, 65536> bytes;
  for (;;) {
    while (auto payload = decoder.next()) {
      const Message message = from_json(*payload);
      if (const auto* setup = std::get_if<Setup>(&message)) {
        turns.set_kernel(setup->kernel_path);
        greet(socket, *setup);
      }
      if (const auto* job = std::get_if<Job>(&message)) work(socket, *job, turns);
      if (const auto* turn = std::get_if<Turn>(&message)) turns.turn(*turn);
    }
    const ssize_t count = recv(socket, bytes.data(), bytes.size(), 0);
    if (count <= 0) break;
    decoder.feed({bytes.data(), static_cast<std::size_t>(count)});
  }
  log_line("left by itself");
  if (const std::string lines = variable("FAKE_LINES"); !lines.empty()) {
    std::stringstream text;
    text << std::ifstream(lines).rdbuf();
    log_line("lines when it left:\n" + text.str());
  }
  close(socket);
  return 0;
}
