// A library that plays the profiler: loaded by the CUDA driver through CUDA_INJECTION64_PATH, it
// writes what is put on the GPU between cudaProfilerStart and cudaProfilerStop, one line each, to
// the file named by KBENCH_INJECTION_LOG: `start`, `kernel <name>`, `graph`, `memcpy`, `memset`,
// `stop`.
//
// Only what is asked for inside a range is written, at once and appended, so that a process that is
// killed loses nothing. Knows CUPTI's callbacks and nothing of kbench.
#include <cupti.h>
#include <cxxabi.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

namespace {

class Log {
 public:
  explicit Log(const char* path)
      : file_(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
    if (file_ < 0) std::perror("KBENCH_INJECTION_LOG");
  }
  ~Log() {
    if (file_ >= 0) close(file_);
  }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void line(const std::string& text) {
    const std::string with_end = text + "\n";
    const std::lock_guard lock(mutex_);
    if (write(file_, with_end.data(), with_end.size()) < 0) std::perror("KBENCH_INJECTION_LOG");
  }

 private:
  int file_;
  std::mutex mutex_;
};

struct Recorder {
  explicit Recorder(const char* path) : log(path) {}
  Log log;
  std::atomic<bool> in_range{false};
};

std::string demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

/// What a call of that name puts on the GPU, or nothing. The names of both interfaces:
/// cudaMemcpyAsync and cuMemcpyDtoDAsync_v2.
std::string_view work_of(std::string_view function) {
  function.remove_prefix(function.starts_with("cuda") ? 4 : 2);
  if (function.starts_with("GraphLaunch")) return "graph";
  if (function.starts_with("Launch") && !function.starts_with("LaunchHostFunc")) return "kernel";
  if (function.starts_with("Memcpy")) return "memcpy";
  if (function.starts_with("Memset")) return "memset";
  return "";
}

void record(Recorder& recorder, const CUpti_CallbackData& call) {
  const std::string_view function = call.functionName;
  if (function == "cudaProfilerStart" || function == "cuProfilerStart") {
    recorder.in_range = true;
    recorder.log.line("start");
  } else if (function == "cudaProfilerStop" || function == "cuProfilerStop") {
    recorder.in_range = false;
    recorder.log.line("stop");
  } else if (recorder.in_range) {
    const std::string_view work = work_of(function);
    if (work.empty()) return;
    const bool named = work == "kernel" && call.symbolName != nullptr;
    recorder.log.line(named ? "kernel " + demangled(call.symbolName) : std::string(work));
  }
}

/// A runtime call reaches the driver by a driver call of its own, in the same thread: only the
/// outer one counts.
void CUPTIAPI on_call(void* opaque, CUpti_CallbackDomain domain, CUpti_CallbackId,
                      const void* data) {
  static thread_local int runtime_depth = 0;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  if (call.callbackSite == CUPTI_API_ENTER) {
    if (runtime_depth == 0) record(*static_cast<Recorder*>(opaque), call);
    if (runtime) ++runtime_depth;
  } else if (runtime) {
    --runtime_depth;
  }
}

bool succeeded(CUptiResult result, const char* what) {
  if (result == CUPTI_SUCCESS) return true;
  const char* text = nullptr;
  cuptiGetResultString(result, &text);
  std::fprintf(stderr, "injection: %s failed: %s\n", what, text == nullptr ? "unknown" : text);
  return false;
}

}  // namespace

/// Called once by the driver when it is initialised; 1 means success.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* path = std::getenv("KBENCH_INJECTION_LOG");
  if (path == nullptr) {
    std::fprintf(stderr, "injection: KBENCH_INJECTION_LOG is not set\n");
    return 0;
  }
  // Lives as long as the process: callbacks come until its last CUDA call.
  auto* recorder = new Recorder(path);
  CUpti_SubscriberHandle subscriber = nullptr;
  if (!succeeded(cuptiSubscribe(&subscriber, on_call, recorder), "cuptiSubscribe")) return 0;
  return succeeded(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API), "runtime") &&
                 succeeded(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API), "driver")
             ? 1
             : 0;
}
