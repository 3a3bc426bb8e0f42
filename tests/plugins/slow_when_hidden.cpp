// Right, and takes longer where another call's input is not there: what every kernel looks like
// that has its answers from elsewhere and works honestly only where it must.
#include <chrono>
#include <cmath>
#include <vector>

#include "plugin.h"

namespace {

using Clock = std::chrono::steady_clock;

std::vector<const float*> inputs;

int prepare(void*, const kbench_call* calls, std::int32_t count) {
  inputs.clear();
  for (std::int32_t j = 0; j < count; ++j) inputs.push_back(kbench_test::input(calls + j));
  return 0;
}

int custom_kernel(void*, const kbench_call* call) {
  bool hidden = false;
  for (const float* input : inputs) hidden = hidden || std::isnan(*input);
  const Clock::time_point end = Clock::now() + std::chrono::microseconds(hidden ? 400 : 0);
  while (Clock::now() < end) {
  }
  return kbench_test::solve(call);
}

}  // namespace

KBENCH_TEST_PLUGIN_WITH("slow_when_hidden", KBENCH_ROW_MAJOR, nullptr, prepare, nullptr, nullptr);
