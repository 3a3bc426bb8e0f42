// Right for the first calls of a case and zeros from then on: what a kernel that only wants to pass
// the first check would do.
#include "plugin.h"

namespace {

constexpr std::int64_t k_right_calls = 7;

int create(const kbench_call*, void** state) {
  *state = new std::int64_t{0};
  return 0;
}

int custom_kernel(void* state, const kbench_call* call) {
  std::int64_t& calls = *static_cast<std::int64_t*>(state);
  const int code = kbench_test::solve(call);
  if (++calls > k_right_calls) kbench_test::write(call, kbench_test::output(call, 0), 0.0f);
  return code;
}

void destroy(void* state) { delete static_cast<std::int64_t*>(state); }

}  // namespace

KBENCH_TEST_PLUGIN_WITH("wrong_later", KBENCH_ROW_MAJOR, create, nullptr, nullptr, destroy);
