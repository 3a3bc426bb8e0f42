// A GPU's execution model on the host: one fibre per thread, real barriers and shuffles, thread
// blocks of a cluster side by side, shared memory that starts as NaN. Slow and deterministic.
//
// What it cannot show: the cost of anything, the memory model of a device, and the lifetime of a
// thread block within a cluster. The order in which warps run is the caller's, so that results that
// depend on it are found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace kbench::emulated {

struct Launch {
  std::int64_t blocks = 1;
  int threads = 32;  // a multiple of 32
  int ranks = 1;     // blocks per cluster
  std::size_t shared_bytes = 0;
  bool backwards = false;  // the last warp of the last block runs first
};

/// Runs `body` as every thread of the grid. Throws std::runtime_error if threads wait for each
/// other forever: a barrier or a shuffle that some of them never reach.
void run(const Launch& launch, const std::function<void()>& body);

/// For the running thread.
int thread_index();
std::int64_t block_index();
unsigned char* shared_memory();
/// `local`, an address in this block's shared memory, in block `rank` of the cluster.
void* twin(void* local, int rank);

void block_barrier();
void cluster_barrier();

/// All 32 lanes of a warp bring `bytes` bytes; `all` receives them, lane after lane.
void exchange(const void* mine, std::size_t bytes, void* all);

}  // namespace kbench::emulated
