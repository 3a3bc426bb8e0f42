// Uses every function of the descriptor and refuses to work when one was called out of turn or with
// something else than the interface promises.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "plugin.h"

namespace {

constexpr std::uint64_t k_workspace_bytes = 1000;

struct State {
  std::int64_t batch = 0, n = 0;
  std::vector<const void*> inputs;  // of all calls, from prepare
  std::int64_t calls = 0;
};

int refuse(const kbench_call* call, const char* why) {
  std::snprintf(call->error, call->error_size, "%s", why);
  return 1;
}

bool is_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 256 == 0; }

int create(const kbench_call* shapes, void** state) {
  if (shapes->inputs[0].data != nullptr || shapes->outputs[0].data != nullptr) {
    return refuse(shapes, "create was given data");
  }
  *state = new State{kbench_test::batch(shapes), kbench_test::order(shapes), {}, 0};
  return 0;
}

std::uint64_t workspace_bytes(void*) { return k_workspace_bytes; }

int prepare(void* state, const kbench_call* calls, std::int32_t count) {
  State& own = *static_cast<State*>(state);
  for (std::int32_t j = 0; j < count; ++j) {
    const kbench_call& call = calls[j];
    if (!is_aligned(call.inputs[0].data) || !is_aligned(call.outputs[0].data) ||
        !is_aligned(call.outputs[1].data) || !is_aligned(call.workspace)) {
      return refuse(&call, "prepare was given data that are not 256-byte aligned");
    }
    own.inputs.push_back(call.inputs[0].data);
  }
  return 0;
}

int custom_kernel(void* state, const kbench_call* call) {
  State& own = *static_cast<State*>(state);
  if (std::find(own.inputs.begin(), own.inputs.end(), call->inputs[0].data) == own.inputs.end()) {
    return refuse(call, "the call was not among those of prepare");
  }
  if (call->workspace_bytes != k_workspace_bytes) return refuse(call, "wrong workspace size");
  if (kbench_test::output(call, 0)[0] == kbench_test::output(call, 0)[0]) {
    return refuse(call, "the output does not begin as NaN");
  }
  std::fill_n(static_cast<char*>(call->workspace), k_workspace_bytes, '\1');
  kbench_test::solve(call);
  ++own.calls;
  return 0;
}

int report(void* state, char* text, std::uint32_t size) {
  const State& own = *static_cast<State*>(state);
  std::snprintf(text, size, "batch=%lld n=%lld calls=%lld", static_cast<long long>(own.batch),
                static_cast<long long>(own.n), static_cast<long long>(own.calls));
  return 0;
}

void destroy(void* state) { delete static_cast<State*>(state); }

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {KBENCH_ABI_VERSION,
                                                                         "whole_interface",
                                                                         "qr_v2",
                                                                         "test plug-in",
                                                                         KBENCH_HOST,
                                                                         KBENCH_ROW_MAJOR,
                                                                         0,
                                                                         create,
                                                                         workspace_bytes,
                                                                         prepare,
                                                                         custom_kernel,
                                                                         report,
                                                                         destroy};
