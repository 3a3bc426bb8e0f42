// A tracer records what a CUDA device does, with time stamps of its own clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/trace.h"

namespace kbench {

/// Records from its making to its end; one at a time in a process. Begins with k_own_tag: what this
/// thread launches carries the tag pushed last.
class Tracer {
 public:
  virtual ~Tracer() = default;
  /// Now, on the clock of the records.
  virtual std::int64_t now_ns() = 0;
  virtual void push(std::uint64_t tag) = 0;
  virtual void pop() = 0;
  /// Takes over all records so far into `trace`: names, activities, the number of dropped ones. The
  /// device must be idle.
  virtual void collect(Trace& trace) = 0;
};

using OpenTracer = std::function<std::unique_ptr<Tracer>()>;

/// cupti_tracer.cpp, or a stub without CUPTI. Throws Error(case_failed) in words when there can be
/// no tracer: no CUPTI, or another client holds it.
std::unique_ptr<Tracer> open_cupti_tracer();

/// Carries a tag as long as it lives; without a tracer nothing.
class Tagged {
 public:
  Tagged(Tracer* tracer, std::uint64_t tag) : tracer_(tracer) {
    if (tracer_ != nullptr) tracer_->push(tag);
  }
  ~Tagged() {
    if (tracer_ != nullptr) tracer_->pop();
  }
  Tagged(const Tagged&) = delete;
  Tagged& operator=(const Tagged&) = delete;

 private:
  Tracer* tracer_;
};

}  // namespace kbench
