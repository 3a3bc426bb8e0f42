// The tracer by CUPTI's activity records: subscribes late, records kernels, copies and memsets with
// the tags of the calls that launched them, and lets go at its end. Must not know what is traced.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>

#include "core/error.h"
#include "worker/cupti_library.h"
#include "worker/cupti_records.h"
#include "worker/tracer.h"

namespace kbench {
namespace {

// CONCURRENT_KERNEL and not KERNEL, which makes kernels wait for each other. The API kinds carry
// the tags: libraries launch through either API.
constexpr std::array<CUpti_ActivityKind, 6> k_kinds{CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                                    CUPTI_ACTIVITY_KIND_RUNTIME,
                                                    CUPTI_ACTIVITY_KIND_DRIVER,
                                                    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                    CUPTI_ACTIVITY_KIND_MEMCPY,
                                                    CUPTI_ACTIVITY_KIND_MEMSET};
constexpr CUpti_ExternalCorrelationKind k_tag_kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

/// CUPTI's buffer callbacks carry no pointer of ours: the tracer of the process is found here.
std::atomic<CuptiRecords*>& current_records() {
  static std::atomic<CuptiRecords*> current = nullptr;
  return current;
}

void CUPTIAPI buffer_requested(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  CuptiRecords* current = current_records();
  *records = 0;  // as many as fit
  *bytes = 0;
  *buffer = current == nullptr ? nullptr : current->take_buffer(bytes);
}

void CUPTIAPI buffer_completed(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                               std::size_t, std::size_t valid_bytes) {
  CuptiRecords* current = current_records();
  if (current != nullptr) current->read_buffer(context, stream, buffer, valid_bytes);
}

class CuptiTracer final : public Tracer {
 public:
  CuptiTracer(const CuptiCalls& calls, std::string* holder)
      : calls_(calls), records_(calls), subscription_(calls, holder) {
    current_records() = &records_;
    try {
      begin();
    } catch (...) {
      end();
      throw;
    }
  }
  ~CuptiTracer() override { end(); }

  std::int64_t now_ns() override {
    std::uint64_t now = 0;
    check(calls_.get_timestamp(&now), "reading the clock");
    return static_cast<std::int64_t>(now);
  }
  void push(std::uint64_t tag) override {
    check(calls_.activity_push_id(k_tag_kind, tag), "tagging");
  }
  void pop() override {
    std::uint64_t last = 0;
    calls_.activity_pop_id(k_tag_kind, &last);
  }
  void collect(Trace& trace) override {
    check(calls_.activity_flush_all(0), "collecting records");
    records_.count_dropped(nullptr, 0);
    records_.move_to(trace);
  }

 private:
  void check(CUptiResult result, const char* what) const {
    if (result == CUPTI_SUCCESS) return;
    throw Error(ExitCode::case_failed,
                fmt::format("tracing failed ({}: {}); run again, or without tracing", what,
                            cupti_error(calls_, result)));
  }
  void begin() {
    check(calls_.activity_register_callbacks(&buffer_requested, &buffer_completed),
          "registering callbacks");
    for (const CUpti_ActivityKind kind : k_kinds) {
      check(calls_.activity_enable(kind), "enabling records");
      ++enabled_;
    }
    push(k_own_tag);
    tagged_ = true;
  }
  /// Gives back every buffer before the records go. A failure here changes no result.
  void end() noexcept {
    if (tagged_) pop();
    for (std::size_t k = 0; k < enabled_; ++k) calls_.activity_disable(k_kinds[k]);
    calls_.activity_flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    current_records() = nullptr;
  }

  const CuptiCalls& calls_;
  CuptiRecords records_;
  CuptiSubscription subscription_;
  std::size_t enabled_ = 0;
  bool tagged_ = false;
};

}  // namespace

std::unique_ptr<Tracer> open_cupti_tracer() {
  std::string why;
  const CuptiCalls* calls = cupti_calls(&why);
  if (calls == nullptr) throw Error(ExitCode::case_failed, fmt::format("no tracing ({})", why));
  std::string holder;
  try {
    return std::make_unique<CuptiTracer>(*calls, &holder);
  } catch (const Error& error) {
    if (holder.empty()) {
      throw Error(ExitCode::case_failed, fmt::format("no tracing ({})", error.what()));
    }
    throw Error(ExitCode::case_failed,
                fmt::format("no tracing (CUPTI is held by {}); run without that tool", holder));
  }
}

}  // namespace kbench
