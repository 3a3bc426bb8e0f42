// The Trace Event format as a function of a trace. Must not know files nor where the trace is from.
#include "core/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/text.h"

namespace kbench {
namespace {

constexpr int k_own_process = 0;  // devices follow, numbered from 1

std::string quoted(std::string_view text) { return nlohmann::json(to_valid_utf8(text)).dump(); }

/// Slices of one track must nest. Kernels of a stream may overlap (dependent launches, graphs):
/// each goes to the first lane that is free when it begins.
class Lanes {
 public:
  std::size_t place(std::int64_t begin_ns, std::int64_t end_ns) {
    const auto free =
        std::find_if(ends_.begin(), ends_.end(), [&](std::int64_t end) { return end <= begin_ns; });
    const auto lane = static_cast<std::size_t>(free - ends_.begin());
    if (free == ends_.end()) {
      ends_.push_back(end_ns);
    } else {
      *free = end_ns;
    }
    return lane;
  }

 private:
  std::vector<std::int64_t> ends_;
};

class Writer {
 public:
  Writer(std::ostream& out, const Trace& trace) : out_(out), trace_(trace) {
    const auto first = std::find_if(trace.repeats.begin(), trace.repeats.end(),
                                    [](const TracedRepeat& r) { return r.active; });
    if (first != trace.repeats.end()) zero_ns_ = first->begin_ns;
  }

  void write(std::string_view title);

 private:
  void repeats(const std::vector<std::vector<std::size_t>>& groups);
  void device_work(const std::vector<std::size_t>& members);
  void slice(int process, std::int64_t thread, std::string_view name, std::string_view category,
             std::int64_t begin_ns, std::int64_t end_ns, const std::string& arguments);
  void label(const char* what, int process, std::int64_t thread, std::string_view name);
  std::string microseconds(std::int64_t ns) const {
    return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000);
  }
  void separate() { out_ << (std::exchange(first_, false) ? "\n" : ",\n"); }

  std::ostream& out_;
  const Trace& trace_;
  std::int64_t zero_ns_ = 0;
  bool first_ = true;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Lanes> lanes_;
  std::map<std::pair<int, std::int64_t>, std::string> threads_;
};

void Writer::slice(int process, std::int64_t thread, std::string_view name,
                   std::string_view category, std::int64_t begin_ns, std::int64_t end_ns,
                   const std::string& arguments) {
  separate();
  out_ << fmt::format(
      R"({{"ph":"X","pid":{},"tid":{},"name":{},"cat":"{}","ts":{},"dur":{},"args":{{{}}}}})",
      process, thread, quoted(name), category, microseconds(begin_ns - zero_ns_),
      microseconds(end_ns - begin_ns), arguments);
}

void Writer::label(const char* what, int process, std::int64_t thread, std::string_view name) {
  separate();
  out_ << fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}})", process,
                      thread, what, quoted(name));
}

void Writer::repeats(const std::vector<std::vector<std::size_t>>& groups) {
  for (std::size_t r = 0; r < groups.size(); ++r) {
    const TracedRepeat& repeat = trace_.repeats[r];
    if (!repeat.active) continue;
    std::int64_t end_ns = 0;
    for (const std::size_t index : groups[r]) {
      end_ns = std::max(end_ns, trace_.activities[index].end_ns);
    }
    const std::string number = fmt::format(R"("repeat":{})", repeat.number);
    slice(k_own_process, 0, fmt::format("repeat {}", repeat.number), "repeat", repeat.begin_ns,
          repeat.end_ns, fmt::format(R"({},"event_ns":{})", number, repeat.event_ns));
    slice(k_own_process, 1, "custom_kernel", "nvtx", repeat.range_begin_ns, repeat.range_end_ns,
          number);
    if (groups[r].empty()) continue;
    slice(k_own_process, 2, "span", "span", trace_.activities[groups[r].front()].begin_ns, end_ns,
          number);
  }
}

void Writer::device_work(const std::vector<std::size_t>& members) {
  for (const std::size_t index : members) {
    const Activity& a = trace_.activities[index];
    const std::size_t lane = lanes_[{a.device, a.stream}].place(a.begin_ns, a.end_ns);
    const int process = static_cast<int>(a.device) + 1;
    // Lanes of a stream stand together, and apart from those of the next stream.
    const std::int64_t thread = std::int64_t{a.stream} * 1000 + static_cast<std::int64_t>(lane);
    threads_[{process, thread}] = lane == 0 ? fmt::format("stream {}", a.stream)
                                            : fmt::format("stream {} ({})", a.stream, lane + 1);
    const bool flush = a.tag == k_flush_tag;
    std::string arguments = fmt::format(R"("bytes":{})", a.bytes);
    if (a.kind == ActivityKind::kernel) {
      arguments = fmt::format(
          R"("grid":[{},{},{}],"block":[{},{},{}],"registers":{},"shared_bytes":{})", a.grid[0],
          a.grid[1], a.grid[2], a.block[0], a.block[1], a.block[2], a.registers, a.shared_bytes);
    }
    const std::string& name = trace_.names[static_cast<std::size_t>(a.name)];
    slice(process, thread, flush ? "flush: " + name : name, flush ? "flush" : to_string(a.kind),
          a.begin_ns, a.end_ns, arguments);
  }
}

void Writer::write(std::string_view title) {
  const auto groups = attribute(trace_);
  // The flush belongs to no call, and is shown where it ran.
  std::vector<std::size_t> shown;
  for (std::size_t r = 0; r < groups.size(); ++r) {
    if (trace_.repeats[r].active) shown.insert(shown.end(), groups[r].begin(), groups[r].end());
  }
  for (std::size_t i = 0; i < trace_.activities.size(); ++i) {
    const Activity& a = trace_.activities[i];
    const bool active =
        std::any_of(trace_.repeats.begin(), trace_.repeats.end(), [&](const TracedRepeat& r) {
          return r.active && a.begin_ns >= r.begin_ns && a.begin_ns <= r.end_ns;
        });
    if (a.tag == k_flush_tag && !a.in_graph && active) shown.push_back(i);
  }
  std::sort(shown.begin(), shown.end(), [&](std::size_t a, std::size_t b) {
    return trace_.activities[a].begin_ns < trace_.activities[b].begin_ns;
  });
  out_ << R"({"displayTimeUnit":"ns","otherData":{"case":)" << quoted(title)
       << R"(},"traceEvents":[)";
  label("process_name", k_own_process, 0, "kbench");
  label("thread_name", k_own_process, 0, "repeats");
  label("thread_name", k_own_process, 1, "NVTX custom_kernel (host)");
  label("thread_name", k_own_process, 2, "span on the device");
  repeats(groups);
  device_work(shown);
  for (const auto& [place, name] : threads_) {
    const bool first = threads_.lower_bound({place.first, INT64_MIN})->first == place;
    if (first) label("process_name", place.first, 0, fmt::format("GPU {}", place.first - 1));
    label("thread_name", place.first, place.second, name);
  }
  out_ << "\n]}\n";
}

}  // namespace

void write_chrome_trace(std::ostream& out, const Trace& trace, std::string_view title) {
  Writer(out, trace).write(title);
}

}  // namespace kbench
