// A device that counts what is allocated through it and does all else by another device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>

#include "device/device.h"

namespace kbench::test {

class CountingDevice : public Device {
 public:
  explicit CountingDevice(Device& device) : device_(device) {}
  /// Most bytes held at once since the last reset.
  std::int64_t peak_bytes() const { return peak_; }
  void reset_peak() { peak_ = held_; }

  const DeviceInfo& info() const override { return device_.info(); }
  std::int64_t free_bytes() override { return device_.free_bytes(); }
  std::int64_t used_bytes() override { return device_.used_bytes(); }
  void* allocate(std::int64_t bytes) override {
    void* data = device_.allocate(bytes);
    if (data != nullptr) sizes_[data] = bytes;
    held_ += bytes;
    peak_ = std::max(peak_, held_);
    return data;
  }
  void release(void* data) noexcept override {
    const auto found = sizes_.find(data);
    if (found != sizes_.end()) {
      held_ -= found->second;
      sizes_.erase(found);
    }
    device_.release(data);
  }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    device_.copy(to, from, bytes);
  }
  void upload(void* to, const void* from, std::int64_t bytes) override {
    device_.upload(to, from, bytes);
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    device_.download(to, from, bytes);
  }
  void fill(void* data, std::uint8_t byte, std::int64_t bytes) override {
    device_.fill(data, byte, bytes);
  }
  bool holds_only(const void* data, std::uint8_t byte, std::int64_t bytes) override {
    return device_.holds_only(data, byte, bytes);
  }
  bool equal(const void* a, const void* b, std::int64_t bytes) override {
    return device_.equal(a, b, bytes);
  }
  void synchronize() override { device_.synchronize(); }
  double drain(double settle_ns) override { return device_.drain(settle_ns); }
  Disturbance disturbance() override { return device_.disturbance(); }
  Speed speed() override { return device_.speed(); }
  void check_launch() override { device_.check_launch(); }
  void flush_cache() override { device_.flush_cache(); }
  void clean_cache() override { device_.clean_cache(); }
  std::unique_ptr<Stopwatch> make_stopwatch() override { return device_.make_stopwatch(); }
  void* stream() override { return device_.stream(); }
  void profiler_start() override { device_.profiler_start(); }
  void profiler_stop() override { device_.profiler_stop(); }
  void range_push(const char* name) override { device_.range_push(name); }
  void range_pop() override { device_.range_pop(); }
  Ops& ops() override { return device_.ops(); }

 private:
  Device& device_;
  std::map<void*, std::int64_t> sizes_;
  std::int64_t held_ = 0, peak_ = 0;
};

}  // namespace kbench::test
