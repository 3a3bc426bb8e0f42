// The fields of what a trace is asked for and answers, for message.cpp alone.
#pragma once

#include <array>

#include "core/json_codec.h"
#include "core/message.h"

namespace kbench {

template <>
inline std::span<const std::string_view> enum_names<ActivityKind>() {
  static constexpr std::array<std::string_view, 3> k_names{"kernel", "memcpy", "memset"};
  return k_names;
}
template <>
inline std::span<const std::string_view> enum_names<Flush>() {
  static constexpr std::array<std::string_view, 4> k_names{"public", "cold", "clean", "none"};
  return k_names;
}
template <>
inline std::span<const std::string_view> enum_names<CuptiState::Kind>() {
  static constexpr std::array<std::string_view, 3> k_names{"available", "held", "missing"};
  return k_names;
}

void fields(auto& visit, Is<CuptiState> auto& m) {
  visit("kind", m.kind);
  visit("holder", m.holder);
  visit("reason", m.reason);
}

void fields(auto& visit, Is<TraceRequest> auto& m) {
  visit("names", m.names);
  visit("multiple", m.multiple);
  visit("chrome_trace", m.chrome_trace);
}

void fields(auto& visit, Is<KernelFigures> auto& m) {
  visit("name", m.name);
  visit("kind", m.kind);
  visit("launches", m.launches);
  visit("total_ns", m.total_ns);
  visit("mean_ns", m.mean_ns);
  visit("median_ns", m.median_ns);
  visit("min_ns", m.min_ns);
  visit("max_ns", m.max_ns);
  visit("share", m.share);
}

void fields(auto& visit, Is<RepeatFigures> auto& m) {
  visit("event_ns", m.event_ns);
  visit("span_ns", m.span_ns);
  visit("busy_ns", m.busy_ns);
  visit("gap_ns", m.gap_ns);
  visit("kernels", m.kernels);
  visit("memcpys", m.memcpys);
  visit("memsets", m.memsets);
}

void fields(auto& visit, Is<TraceFigures> auto& m) {
  visit("calls_per_repeat", m.calls_per_repeat);
  visit("repeats", m.repeats);
  visit("kernels", m.kernels);
  visit("other_names", m.other_names);
  visit("other_ns", m.other_ns);
  visit("untraced_event_ns", m.untraced_event_ns);
  visit("overhead", m.overhead);
  visit("warnings", m.warnings);
  visit("chrome_trace", m.chrome_trace);
}

void fields(auto& visit, Is<IdleTime> auto& m) {
  visit("event_ns", m.event_ns);
  visit("busy_ns", m.busy_ns);
}

}  // namespace kbench
