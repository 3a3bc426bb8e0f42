// Where a broken invariant ends the process. Must not allocate or throw: the state is not trusted.
#include "core/error.h"

#include <cstdio>
#include <cstdlib>

namespace kbench {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "kbench: broken invariant `%s` at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace kbench
