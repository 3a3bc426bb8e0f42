// What each kind of flush asks of a device. Must not know when it is due.
#include "worker/flush.h"

namespace kbench {

void flush_cache(Device& device, Flush flush) {
  if (flush == Flush::none) return;
  device.flush_cache();
  if (flush == Flush::clean) device.clean_cache();
}

}  // namespace kbench
