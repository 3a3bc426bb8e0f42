// A device that keeps a diary: its memory is the host's, and every call is written down by name.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.h"
#include "device/device.h"

namespace kbench::test {

using Diary = std::vector<std::string>;

/// Shows `sample_ns`, and what was added to `work_ns` between start and stop.
class FakeStopwatch : public Stopwatch {
 public:
  FakeStopwatch(Diary& diary, double sample_ns, double& work_ns)
      : diary_(diary), sample_ns_(sample_ns), work_ns_(work_ns) {}
  void start() override {
    diary_.push_back("start");
    work_ns_ = 0;
  }
  void stop() override {
    diary_.push_back("stop");
    elapsed_ns_ = sample_ns_ + work_ns_;
  }
  double elapsed_ns() override { return elapsed_ns_; }

 private:
  Diary& diary_;
  double sample_ns_, elapsed_ns_ = 0;
  double& work_ns_;
};

/// A hold whose state a kernel can wait for. Only its owner's thread writes into the diary.
class FakeHold : public Hold {
 public:
  struct State {
    std::mutex mutex;
    std::condition_variable news;
    bool held = false;
    bool expires = false;  ///< the device lets go by itself
  };
  FakeHold(Diary& diary, State& state) : diary_(diary), state_(state) {}
  ~FakeHold() override { let_go(); }
  void place(double) override {
    diary_.push_back("hold");
    const std::lock_guard lock(state_.mutex);
    state_.held = true;
  }
  void release() noexcept override {
    if (std::this_thread::get_id() == owner_) diary_.push_back("release");
    let_go();
  }
  bool expired() const override { return state_.expires; }
  bool left() const override {
    const std::lock_guard lock(state_.mutex);
    return !state_.held || state_.expires;
  }

 private:
  void let_go() {
    const std::lock_guard lock(state_.mutex);
    state_.held = false;
    state_.news.notify_all();
  }
  Diary& diary_;
  State& state_;
  std::thread::id owner_ = std::this_thread::get_id();
};

class FakeDevice : public Device {
 public:
  explicit FakeDevice(DeviceKind kind = DeviceKind::cuda) { info_.kind = kind; }
  ~FakeDevice() override {
    for (const auto& [data, bytes] : sizes_) std::free(data);
  }

  Diary diary;
  std::int64_t free = std::int64_t{1} << 40;
  double sample_ns = 1000;
  double work_ns = 0;           ///< of the kernel since the clock was started
  std::int64_t allocated = 0;   ///< bytes that live now
  std::int64_t lost = 0;        ///< bytes that somebody else has taken
  std::string fail_at;          ///< entry of the diary that throws a DeviceError
  std::int64_t fail_after = 0;  ///< so many of them pass first
  bool sticky = false;
  std::function<void()> at_drain = [] {};
  std::vector<double> rests_ns;  ///< what drain answers, the last one again and again; empty: 0
  double price_ns = 0;           ///< what it answers after a sleep
  Disturbance disturbed;         ///< told once, after `disturb_after` questions
  std::int64_t disturb_after = 0;
  Speed best;
  bool has_queue = true;
  FakeHold::State hold;
  std::optional<ClockState> clock;  ///< what it tells of its clocks; without: nothing

  const DeviceInfo& info() const override { return info_; }
  void set_kind(DeviceKind kind) { info_.kind = kind; }
  void set_capability(const std::string& capability) { info_.capability = capability; }
  std::int64_t free_bytes() override { return free; }
  std::int64_t used_bytes() override { return allocated + lost; }

  void* allocate(std::int64_t bytes) override {
    note("allocate");
    const std::size_t size = static_cast<std::size_t>((bytes + 255) / 256 * 256);
    void* data = std::aligned_alloc(256, size);
    sizes_[data] = bytes;
    allocated += bytes;
    return data;
  }
  void release(void* data) noexcept override {
    allocated -= sizes_[data];
    sizes_.erase(data);
    std::free(data);
  }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    note("copy");
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void upload(void* to, const void* from, std::int64_t bytes) override {
    note("upload");
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    note("download");
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void fill(void* data, std::uint8_t byte, std::int64_t bytes) override {
    note("fill");
    std::memset(data, byte, static_cast<std::size_t>(bytes));
  }
  bool holds_only(const void* data, std::uint8_t byte, std::int64_t bytes) override {
    note("holds_only");
    const auto* at = static_cast<const std::uint8_t*>(data);
    for (std::int64_t i = 0; i < bytes; ++i) {
      if (at[i] != byte) return false;
    }
    return true;
  }
  bool equal(const void* a, const void* b, std::int64_t bytes) override {
    note("equal");
    return std::memcmp(a, b, static_cast<std::size_t>(bytes)) == 0;
  }
  void synchronize() override { note("synchronize"); }
  double drain(double settle_ns) override {
    note("drain");
    at_drain();
    if (settle_ns > 0) return price_ns;
    if (rests_ns.empty()) return 0;
    return rests_ns[std::min(drained_++, rests_ns.size() - 1)];
  }
  Disturbance disturbance() override {
    if (disturb_after-- > 0) return {};
    return std::exchange(disturbed, {});
  }
  Speed speed() override {
    note("speed");
    return best;
  }
  std::optional<ClockState> clock_state(std::string*) override {
    if (clock) note("clocks");
    return clock;
  }
  void check_launch() override { note("check_launch"); }
  void flush_cache() override { note("flush_cache"); }
  void clean_cache() override { note("clean_cache"); }
  std::unique_ptr<Stopwatch> make_stopwatch() override {
    return std::make_unique<FakeStopwatch>(diary, sample_ns, work_ns);
  }
  std::unique_ptr<Hold> make_hold() override {
    return has_queue ? std::make_unique<FakeHold>(diary, hold) : nullptr;
  }
  void wait_on_device(double ns) override {
    note("wait " + std::to_string(static_cast<std::int64_t>(ns)));
  }
  /// As a kernel that waits for the device does: does not return while launches are held back.
  void wait_for_release() {
    std::unique_lock lock(hold.mutex);
    hold.news.wait(lock, [this] { return !hold.held; });
  }
  void* stream() override { return &diary; }
  void profiler_start() override { note("profiler_start"); }
  void profiler_stop() override { note("profiler_stop"); }
  void range_push(const char* name) override { note(std::string("push ") + name); }
  void range_pop() override { note("pop"); }
  Ops& ops() override { throw std::logic_error("the fake device has no operations"); }

 private:
  void note(const std::string& entry) {
    diary.push_back(entry);
    if (entry == fail_at && fail_after-- <= 0) {
      throw DeviceError("an illegal memory access was encountered", sticky);
    }
  }
  DeviceInfo info_;
  std::map<void*, std::int64_t> sizes_;
  std::size_t drained_ = 0;
};

}  // namespace kbench::test
