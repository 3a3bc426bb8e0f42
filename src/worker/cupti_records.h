// What CUPTI's callbacks deliver, kept until it is asked for.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/trace.h"
#include "worker/cupti_library.h"

namespace kbench {

/// Takes buffers of records from any thread. Never calls CUPTI while it holds its lock, except to
/// read a record: CUPTI holds locks of its own around the callbacks.
class CuptiRecords {
 public:
  explicit CuptiRecords(const CuptiCalls& calls) : calls_(calls) {}

  /// For CUPTI to fill.
  std::uint8_t* take_buffer(std::size_t* bytes);
  /// Reads a filled one and keeps it for the next.
  void read_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                   std::size_t valid_bytes);
  /// Counts records that CUPTI could not keep, of one stream or, with null and 0, of all.
  void count_dropped(CUcontext context, std::uint32_t stream);
  /// Moves everything into `trace`, every activity with its tag. Call it when nothing is under way.
  void move_to(Trace& trace);

 private:
  struct Free {
    void operator()(std::uint8_t* buffer) const;
  };
  void read(const CUpti_Activity* record);
  template <class Record>
  Activity& add(ActivityKind kind, const Record& record);
  std::int32_t name_index(const std::string& name);
  std::int32_t kernel_name_index(const char* name);

  const CuptiCalls& calls_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::uint8_t, Free>> unused_;
  std::vector<Activity> activities_;
  std::vector<std::uint32_t> correlations_;                    // of each activity
  std::vector<std::pair<std::uint32_t, std::uint64_t>> tags_;  // correlation and tag
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::int32_t> index_of_name_;
  std::unordered_map<const char*, std::int32_t> index_of_symbol_;  // CUPTI keeps names in place
  std::atomic<std::int64_t> dropped_ = 0;
};

}  // namespace kbench
