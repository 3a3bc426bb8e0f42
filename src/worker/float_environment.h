// The floating-point environment of this thread, kept from before a plug-in could change it.
#pragma once

#include <cfenv>

namespace kbench {

/// A plug-in built with fast-math switches subnormals off in the thread that loads or runs it, and
/// every later check of kbench's own would round differently. Holds the environment of the moment
/// of construction; `restore` brings it back in this thread.
class FloatEnvironment {
 public:
  FloatEnvironment() { std::fegetenv(&saved_); }
  void restore() const noexcept { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_{};
};

}  // namespace kbench
