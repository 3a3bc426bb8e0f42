// Loops over a batch, spread over the hardware threads where the work pays for starting them.
#pragma once

#include <cstdint>
#include <functional>

namespace kbench::host {

/// Hardware threads this process may run on, at least 1.
int thread_count();

/// Calls body(begin, end) on disjoint stretches that cover [0, count), on several threads when
/// `cost` (elementary steps an item) times count is large. The first exception is rethrown here.
void parallel_for(std::int64_t count, std::int64_t cost,
                  const std::function<void(std::int64_t begin, std::int64_t end)>& body);

/// Most threads that call BLAS at once: a build of OpenBLAS for 64 threads ends the process when
/// more callers than it has buffers for come at the same time.
constexpr int k_most_blas_callers = 32;

/// Runs body(b) for every matrix of a batch of n x n matrices that is one BLAS or LAPACK call of
/// about n^3 steps: threads over the batch with BLAS on one thread each, or one matrix after the
/// other with BLAS on all threads when the batch is smaller than the machine. Leaves BLAS's number
/// of threads as it was, since a kernel under test may share the library.
void for_each_matrix(std::int64_t batch, std::int64_t n,
                     const std::function<void(std::int64_t b)>& body);

}  // namespace kbench::host
