// Reads CUPTI's activity records into our own. Must not know when tracing begins and ends.
#include "worker/cupti_records.h"

#include <algorithm>
#include <cstdlib>

#include "core/kernel_names.h"

namespace kbench {
namespace {

// Of the documented 1 to 10 MB; a buffer holds some ten thousand kernels.
constexpr std::size_t k_buffer_bytes = std::size_t{4} << 20;
constexpr std::size_t k_buffer_alignment = 8;

// Records grow by fields at their end from release to release, under new names.
#if CUPTI_API_VERSION >= 130100
using KernelRecord = CUpti_ActivityKernel11;
using CopyRecord = CUpti_ActivityMemcpy6;
#elif CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
using CopyRecord = CUpti_ActivityMemcpy6;
#else
using KernelRecord = CUpti_ActivityKernel9;
using CopyRecord = CUpti_ActivityMemcpy5;
#endif
using SetRecord = CUpti_ActivityMemset4;

const char* copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "memcpy HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "memcpy DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "memcpy DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "memcpy PtoP";
    default:
      return "memcpy";
  }
}

}  // namespace

void CuptiRecords::Free::operator()(std::uint8_t* buffer) const { std::free(buffer); }

std::uint8_t* CuptiRecords::take_buffer(std::size_t* bytes) {
  *bytes = k_buffer_bytes;
  const std::lock_guard lock(mutex_);
  if (!unused_.empty()) {
    std::uint8_t* buffer = unused_.back().release();
    unused_.pop_back();
    return buffer;
  }
  auto* buffer = static_cast<std::uint8_t*>(std::aligned_alloc(k_buffer_alignment, k_buffer_bytes));
  // Without a buffer CUPTI drops records, and counts them.
  if (buffer == nullptr) *bytes = 0;
  return buffer;
}

void CuptiRecords::read_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                               std::size_t valid_bytes) {
  if (buffer == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    CUpti_Activity* record = nullptr;
    while (calls_.activity_get_next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
      read(record);
    }
    unused_.emplace_back(buffer);
  }
  count_dropped(context, stream);
}

void CuptiRecords::count_dropped(CUcontext context, std::uint32_t stream) {
  std::size_t dropped = 0;
  if (calls_.activity_get_num_dropped_records(context, stream, &dropped) == CUPTI_SUCCESS) {
    dropped_ += static_cast<std::int64_t>(dropped);
  }
}

template <class Record>
Activity& CuptiRecords::add(ActivityKind kind, const Record& record) {
  Activity& activity = activities_.emplace_back();
  activity.kind = kind;
  activity.begin_ns = static_cast<std::int64_t>(record.start);
  activity.end_ns = static_cast<std::int64_t>(record.end);
  activity.device = record.deviceId;
  activity.stream = record.streamId;
  activity.in_graph = record.graphNodeId != 0;
  correlations_.push_back(record.correlationId);
  return activity;
}

void CuptiRecords::read(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = *reinterpret_cast<const KernelRecord*>(record);
      Activity& activity = add(ActivityKind::kernel, kernel);
      activity.name = kernel_name_index(kernel.name);
      activity.grid = {kernel.gridX, kernel.gridY, kernel.gridZ};
      activity.block = {kernel.blockX, kernel.blockY, kernel.blockZ};
      activity.registers = kernel.registersPerThread;
      activity.shared_bytes = kernel.staticSharedMemory + kernel.dynamicSharedMemory;
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = *reinterpret_cast<const CopyRecord*>(record);
      Activity& activity = add(ActivityKind::memcpy, copy);
      activity.name = name_index(copy_name(copy.copyKind));
      activity.bytes = static_cast<std::int64_t>(copy.bytes);
      return;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& set = *reinterpret_cast<const SetRecord*>(record);
      Activity& activity = add(ActivityKind::memset, set);
      activity.name = name_index("memset");
      activity.bytes = static_cast<std::int64_t>(set.bytes);
      return;
    }
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& tag = *reinterpret_cast<const CUpti_ActivityExternalCorrelation*>(record);
      tags_.emplace_back(tag.correlationId, tag.externalId);
      return;
    }
    // API calls are recorded only because the tags hang on them.
    default:
      return;
  }
}

std::int32_t CuptiRecords::name_index(const std::string& name) {
  const auto [found, added] =
      index_of_name_.try_emplace(name, static_cast<std::int32_t>(names_.size()));
  if (added) names_.push_back(name);
  return found->second;
}

std::int32_t CuptiRecords::kernel_name_index(const char* name) {
  if (name == nullptr) return name_index("(no name)");
  const auto found = index_of_symbol_.find(name);
  if (found != index_of_symbol_.end()) return found->second;
  return index_of_symbol_[name] = name_index(demangle(name));
}

void CuptiRecords::move_to(Trace& trace) {
  const std::lock_guard lock(mutex_);
  std::sort(tags_.begin(), tags_.end());
  for (std::size_t i = 0; i < activities_.size(); ++i) {
    const auto tag = std::lower_bound(tags_.begin(), tags_.end(),
                                      std::pair<std::uint32_t, std::uint64_t>(correlations_[i], 0));
    if (tag != tags_.end() && tag->first == correlations_[i]) activities_[i].tag = tag->second;
  }
  trace.names = names_;
  trace.activities = std::move(activities_);
  trace.dropped = dropped_.exchange(0);
  activities_.clear();
  correlations_.clear();
  tags_.clear();
}

}  // namespace kbench
