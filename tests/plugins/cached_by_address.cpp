// Solves what lies at an address once and hands out the same answer for that address ever after.
#include <map>
#include <tuple>

#include "plugin.h"

namespace {

int custom_kernel(void*, const kbench_call* call) {
  using Key = std::tuple<const void*, std::int64_t, std::int64_t>;
  static std::map<Key, void* [2]> answers;
  const Key key{kbench_test::input(call), kbench_test::batch(call), kbench_test::order(call)};
  const bool known = answers.count(key) > 0;
  void*(&answer)[2] = answers[key];
  const int code = known ? 0 : kbench_test::solve(call);
  for (int k = 0; k < 2; ++k) {
    const std::size_t bytes = kbench_test::output_bytes(call, k);
    if (!known) answer[k] = kbench_test::allocate(bytes);
    void* given = kbench_test::output(call, k);
    kbench_test::copy(call, known ? given : answer[k], known ? answer[k] : given, bytes);
  }
  return code;
}

}  // namespace

KBENCH_TEST_PLUGIN("cached_by_address", KBENCH_ROW_MAJOR);
