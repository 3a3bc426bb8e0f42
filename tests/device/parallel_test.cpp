// Loops spread over threads: every item once, failures kept, the BLAS library left as it was.
#include "device/host/parallel.h"

#include <cblas.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "catch.h"

namespace kbench::host {
namespace {

TEST_CASE("every item of a parallel loop is visited once, whatever its cost") {
  for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
    for (const std::int64_t cost : {0, 1, 1000000000}) {
      CAPTURE(count, cost);
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      parallel_for(count, cost, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& visit : visits) CHECK(visit == 1);
    }
  }
}

TEST_CASE("an exception in any stretch of a parallel loop reaches the caller") {
  for (const std::int64_t bad : {0, 999}) {
    CAPTURE(bad);
    const auto body = [&](std::int64_t begin, std::int64_t end) {
      if (begin <= bad && bad < end) throw std::runtime_error("bad item");
    };
    CHECK_THROWS_AS(parallel_for(1000, 1000000000, body), std::runtime_error);
  }
}

TEST_CASE("loops over matrices leave BLAS's number of threads as they found it") {
  const int before = openblas_get_num_threads();
  for (const int threads : {1, 2}) {
    openblas_set_num_threads(threads);
    std::atomic<int> visited = 0;
    for_each_matrix(50, 200, [&](std::int64_t) {
      if (openblas_get_num_threads() == 1) ++visited;
    });
    CHECK(visited == 50);
    CHECK(openblas_get_num_threads() == threads);
    CHECK_THROWS_AS(for_each_matrix(50, 200, [](std::int64_t) { throw std::runtime_error("x"); }),
                    std::runtime_error);
    CHECK(openblas_get_num_threads() == threads);
  }
  openblas_set_num_threads(before);
}

}  // namespace
}  // namespace kbench::host
