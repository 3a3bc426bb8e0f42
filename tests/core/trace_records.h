// Records as a tracer would deliver them, made up.
#pragma once

#include <string>
#include <vector>

#include "core/trace.h"

namespace kbench::test {

/// Builds a trace repeat by repeat. Each repeat has a window of 100 us in which it is alone.
class Records {
 public:
  Trace trace;

  /// Adds a repeat; `event_ns` of all its calls.
  Records& repeat(std::int64_t number, bool active = true, double event_ns = 50000) {
    TracedRepeat r;
    r.number = number;
    r.active = active;
    r.tag = k_first_repeat_tag + trace.repeats.size();
    r.begin_ns = begin_of(trace.repeats.size());
    r.end_ns = r.begin_ns + 100000;
    r.range_begin_ns = r.begin_ns + 1000;
    r.range_end_ns = r.begin_ns + 9000;
    r.event_ns = event_ns;
    trace.repeats.push_back(r);
    return *this;
  }

  /// Adds an activity of the newest repeat, from and to nanoseconds after the repeat's begin.
  Activity& add(const std::string& name, std::int64_t from, std::int64_t to,
                std::uint32_t stream = 7, ActivityKind kind = ActivityKind::kernel) {
    Activity a;
    a.kind = kind;
    a.name = index(name);
    a.begin_ns = trace.repeats.back().begin_ns + from;
    a.end_ns = trace.repeats.back().begin_ns + to;
    a.stream = stream;
    a.tag = trace.repeats.back().tag;
    trace.activities.push_back(a);
    return trace.activities.back();
  }

  static std::int64_t begin_of(std::size_t repeat) {
    return 5'000'000'000 + static_cast<std::int64_t>(repeat) * 10'000'000;
  }

 private:
  std::int32_t index(const std::string& name) {
    for (std::size_t i = 0; i < trace.names.size(); ++i) {
      if (trace.names[i] == name) return static_cast<std::int32_t>(i);
    }
    trace.names.push_back(name);
    return static_cast<std::int32_t>(trace.names.size() - 1);
  }
};

}  // namespace kbench::test
