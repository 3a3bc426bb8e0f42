// A plug-in of the problem free: adds `length` numbers of its own, and says what that takes.
#include <cstring>
#include <vector>

#include "kbench_kernel.h"

namespace {

struct Sum {
  std::vector<float> numbers;
  float result = 0;
};

int create(const kbench_call* call, void** state) {
  const int64_t length = kbench_parameter_or(call, "length", 0);
  if (length < 1 || call->input_count != 0 || call->output_count != 0) {
    std::strncpy(call->error, "length is missing", call->error_size);
    return 1;
  }
  *state = new Sum{std::vector<float>(static_cast<std::size_t>(length), 1.0f)};
  call->work->bytes = 4.0 * static_cast<double>(length);
  call->work->flops = static_cast<double>(length);
  return 0;
}

int custom_kernel(void* state, const kbench_call*) {
  Sum& sum = *static_cast<Sum*>(state);
  sum.result = 0;
  for (const float number : sum.numbers) sum.result += number;
  return 0;
}

void destroy(void* state) { delete static_cast<Sum*>(state); }

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {
    KBENCH_ABI_VERSION, "free_sum", "free", "test plug-in", KBENCH_HOST,
    KBENCH_ROW_MAJOR,   0,          create, nullptr,        nullptr,
    custom_kernel,      nullptr,    destroy};
