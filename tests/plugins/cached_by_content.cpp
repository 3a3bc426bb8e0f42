// Hashes its input and hands out the answer that it has for these bits, if any. Its report says how
// often that was so.
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "plugin.h"

namespace {

constexpr std::size_t k_most_answers = 512;
std::int64_t calls = 0, hits = 0;

std::uint64_t hash_input(const kbench_call* call) {
  std::vector<std::uint32_t> words(static_cast<std::size_t>(kbench_test::matrix_count(call)));
  kbench_test::read(call, words.data(), kbench_test::input(call), words.size() * sizeof words[0]);
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const std::uint32_t word : words) hash = (hash ^ word) * 1099511628211u;
  return hash;
}

int custom_kernel(void*, const kbench_call* call) {
  static std::map<std::uint64_t, void* [2]> answers;
  const std::uint64_t hash = hash_input(call);
  ++calls;
  if (answers.count(hash) > 0) {
    ++hits;
    for (int k = 0; k < 2; ++k) {
      kbench_test::copy(call, kbench_test::output(call, k), answers[hash][k],
                        kbench_test::output_bytes(call, k));
    }
    return 0;
  }
  const int code = kbench_test::solve(call);
  if (answers.size() >= k_most_answers) return code;
  for (int k = 0; k < 2; ++k) {
    const std::size_t bytes = kbench_test::output_bytes(call, k);
    answers[hash][k] = kbench_test::allocate(bytes);
    kbench_test::copy(call, answers[hash][k], kbench_test::output(call, k), bytes);
  }
  return code;
}

int report(void*, char* text, std::uint32_t size) {
  std::snprintf(text, size, "calls=%lld hits=%lld", static_cast<long long>(calls),
                static_cast<long long>(hits));
  return 0;
}

}  // namespace

KBENCH_TEST_PLUGIN_WITH("cached_by_content", KBENCH_ROW_MAJOR, nullptr, nullptr, report, nullptr);
