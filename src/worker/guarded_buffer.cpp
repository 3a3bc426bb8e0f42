// Lays arrays and guards out in one allocation and reads damage back in words. Knows a device's
// memory; does not know what the arrays are for.
#include "worker/guarded_buffer.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"

namespace kbench {

std::size_t GuardedBuffers::add(std::string name, std::int64_t bytes) {
  KBENCH_ASSERT(memory_.get() == nullptr && bytes > 0);
  const std::int64_t lowest = arrays_.empty() ? k_guard_bytes : end_ + k_guard_bytes;
  const std::int64_t offset = (lowest + k_data_alignment - 1) / k_data_alignment * k_data_alignment;
  arrays_.push_back(Array{std::move(name), offset, bytes});
  end_ = offset + bytes + k_guard_bytes;
  return arrays_.size() - 1;
}

void GuardedBuffers::allocate() {
  if (arrays_.empty()) return;
  memory_ = Buffer<std::uint8_t>(*device_, end_);
  for (std::size_t i = 0; i <= arrays_.size(); ++i) {
    const Gap guard = gap(i);
    device_->fill(memory_.get() + guard.begin, k_guard_byte, guard.end - guard.begin);
  }
}

void* GuardedBuffers::data(std::size_t index) const {
  return memory_.get() + arrays_[index].offset;
}

GuardedBuffers::Gap GuardedBuffers::gap(std::size_t index) const {
  const std::int64_t begin = index == 0 ? 0 : arrays_[index - 1].offset + arrays_[index - 1].bytes;
  return Gap{begin, index == arrays_.size() ? end_ : arrays_[index].offset};
}

std::string GuardedBuffers::breach() const {
  if (memory_.get() == nullptr) return "";
  for (std::size_t i = 0; i <= arrays_.size(); ++i) {
    const Gap guard = gap(i);
    if (!device_->holds_only(memory_.get() + guard.begin, k_guard_byte, guard.end - guard.begin)) {
      return describe_breach(i);
    }
  }
  return "";
}

std::string GuardedBuffers::describe_breach(std::size_t index) const {
  const Gap guard = gap(index);
  const std::vector<std::uint8_t> bytes =
      to_host(*device_, memory_.get() + guard.begin, guard.end - guard.begin);
  // The half that a changed byte lies in says which neighbour was overrun.
  const std::int64_t size = guard.end - guard.begin;
  const std::int64_t middle = index == 0 ? 0 : (index == arrays_.size() ? size : size / 2);
  std::int64_t after = 0, before = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    if (bytes[static_cast<std::size_t>(i)] == k_guard_byte) continue;
    ++(i < middle ? after : before);
  }
  return after > 0 ? fmt::format("wrote {} bytes after {}", after, arrays_[index - 1].name)
                   : fmt::format("wrote {} bytes before {}", before, arrays_[index].name);
}

}  // namespace kbench
