// Host baseline of qr_v2: LAPACK's sgeqrf over OpenBLAS, as fast as the library allows.
//
// A batch of at least as many matrices as there are hardware threads (and any batch of small
// matrices) is spread over a pool of threads that call a single-threaded OpenBLAS; else the
// matrices go one after the other through OpenBLAS's own threads. Knows the kernel ABI and LAPACK,
// nothing of kbench.
#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "kbench_kernel.h"

namespace {

constexpr std::int64_t k_tile = 32;
// Below this order OpenBLAS's threads cost more than they bring.
constexpr std::int64_t k_smallest_threaded = 128;
constexpr std::int64_t k_padding = 64;  // floats, so that two threads share no cache line

/// Threads that wait between calls; item i of a call goes to whichever thread is free.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int t = 1; t < threads; ++t) workers_.emplace_back([this, t] { wait_for_work(t); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
  }
  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Runs work(thread, item) for all items of [0, count) and returns when all are done.
  void run(std::int64_t count, const std::function<void(int, std::int64_t)>& work) {
    {
      const std::lock_guard lock(mutex_);
      work_ = &work;
      count_ = count;
      next_ = 0;
      busy_ = static_cast<int>(workers_.size());
      ++round_;
    }
    wake_.notify_all();
    take_items(0, work, count);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void take_items(int thread, const std::function<void(int, std::int64_t)>& work,
                  std::int64_t count) {
    for (std::int64_t item = next_++; item < count; item = next_++) work(thread, item);
  }
  void wait_for_work(int thread) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stopping_ || round_ != seen; });
      if (stopping_) return;
      seen = round_;
      const auto* work = work_;
      const std::int64_t count = count_;
      lock.unlock();
      take_items(thread, *work, count);
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int, std::int64_t)>* work_ = nullptr;
  std::int64_t count_ = 0;
  std::atomic<std::int64_t> next_{0};
  int busy_ = 0;
  std::uint64_t round_ = 0;
  bool stopping_ = false;
  std::vector<std::jthread> workers_;  // last: joined before what they use goes
};

struct State {
  std::int64_t batch, n, lwork, stride;
  Pool pool;
};

/// The workspace query answers in a float, which may be rounded below the integer that was meant.
std::int64_t optimal_workspace(lapack_int n) {
  float answer = 0;
  LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, n, n, nullptr, n, nullptr, &answer, -1);
  const float above = std::nextafter(answer, std::numeric_limits<float>::infinity());
  return std::max(static_cast<std::int64_t>(std::ceil(above)), std::int64_t{n});
}

int create(const kbench_call* shapes, void** state) {
  const std::int64_t batch = shapes->inputs[0].size[0], n = shapes->inputs[0].size[1];
  if (n > std::numeric_limits<lapack_int>::max() / 64) {
    std::snprintf(shapes->error, shapes->error_size, "n is too large for LAPACK's 32-bit sizes");
    return 1;
  }
  const std::int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const bool over_batch = batch >= cores || n < k_smallest_threaded;
  const std::int64_t lwork = optimal_workspace(static_cast<lapack_int>(n));
  const std::int64_t stride = (lwork + k_padding - 1) / k_padding * k_padding;
  *state = new (std::nothrow) State{
      batch, n, lwork, stride, Pool(static_cast<int>(over_batch ? std::min(batch, cores) : 1))};
  return *state == nullptr ? 1 : 0;
}

std::uint64_t workspace_bytes(void* state) {
  const State& own = *static_cast<State*>(state);
  return static_cast<std::uint64_t>(own.stride * own.pool.threads()) * sizeof(float);
}

/// The row-major matrix `from` written column by column to `to`.
void transpose(const float* from, std::int64_t n, float* to) {
  for (std::int64_t i0 = 0; i0 < n; i0 += k_tile) {
    for (std::int64_t j0 = 0; j0 < n; j0 += k_tile) {
      const std::int64_t i1 = std::min(n, i0 + k_tile), j1 = std::min(n, j0 + k_tile);
      for (std::int64_t j = j0; j < j1; ++j) {
        for (std::int64_t i = i0; i < i1; ++i) to[j * n + i] = from[i * n + j];
      }
    }
  }
}

/// OpenBLAS on one thread while the pool runs; the library may be shared with the caller.
class OneBlasThread {
 public:
  explicit OneBlasThread(bool wanted) : before_(wanted ? openblas_get_num_threads() : 0) {
    if (before_ > 1) openblas_set_num_threads(1);
  }
  ~OneBlasThread() {
    if (before_ > 1) openblas_set_num_threads(before_);
  }
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  int before_;
};

int custom_kernel(void* state, const kbench_call* call) {
  State& own = *static_cast<State*>(state);
  const std::int64_t n = own.n;
  const auto* a = static_cast<const float*>(call->inputs[0].data);
  auto* h = static_cast<float*>(call->outputs[0].data);
  auto* tau = static_cast<float*>(call->outputs[1].data);
  auto* workspace = static_cast<float*>(call->workspace);
  std::atomic<int> info{0};

  const OneBlasThread guard(own.pool.threads() > 1 || n < k_smallest_threaded);
  own.pool.run(own.batch, [&](int thread, std::int64_t b) {
    float* matrix = h + b * n * n;
    transpose(a + b * n * n, n, matrix);
    const lapack_int order = static_cast<lapack_int>(n);
    const lapack_int result =
        LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, order, order, matrix, order, tau + b * n,
                            workspace + thread * own.stride, static_cast<lapack_int>(own.lwork));
    if (result != 0) info = result;
  });
  if (info != 0) {
    std::snprintf(call->error, call->error_size, "sgeqrf returned info %d", info.load());
  }
  return info;
}

void destroy(void* state) { delete static_cast<State*>(state); }

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {
    KBENCH_ABI_VERSION,
    "lapack",
    "qr_v2",
    "LAPACK sgeqrf over OpenBLAS, threads over the batch where it is large enough",
    KBENCH_HOST,
    KBENCH_COLUMN_MAJOR,
    0,
    create,
    workspace_bytes,
    nullptr,
    custom_kernel,
    nullptr,
    destroy};
