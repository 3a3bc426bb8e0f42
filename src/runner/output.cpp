// Bounds a worker's chatter. Knows no descriptor and no case.
#include "runner/output.h"

#include "core/text.h"

namespace kbench {

void OutputForwarder::begin_case() {
  flush();
  passed_ = 0;
  cut_ = false;
}

void OutputForwarder::take(std::string_view bytes) {
  while (!bytes.empty() && !cut_) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    const std::size_t room = k_limit - passed_;
    pending_.append(part.substr(0, room));
    if (part.size() >= room) {
      flush();
      sink_("... output of the worker cut (64 KiB for one case)");
      cut_ = true;
      return;
    }
    passed_ += part.size();
    if (end == std::string_view::npos) return;
    put_line(pending_);
    pending_.clear();
    ++passed_;
    bytes.remove_prefix(end + 1);
  }
}

void OutputForwarder::flush() {
  if (!pending_.empty()) put_line(pending_);
  pending_.clear();
}

void OutputForwarder::put_line(std::string_view line) { sink_(to_one_line(line)); }

}  // namespace kbench
