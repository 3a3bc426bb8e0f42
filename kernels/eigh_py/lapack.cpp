// Host baseline of eigh_py: LAPACK's ssyevd over OpenBLAS, as fast as the library allows.
//
// A batch of at least as many matrices as there are hardware threads (and any batch of small
// matrices) is spread over a pool of threads that call a single-threaded OpenBLAS; else the
// matrices go one after the other through OpenBLAS's own threads. A matrix with a NaN or an
// infinity is refused: LAPACK may answer success with finite numbers, or never return. Knows the
// kernel ABI and LAPACK, nothing of kbench.
#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "kbench_kernel.h"

namespace {

static_assert(sizeof(lapack_int) == sizeof(float), "both share one workspace");

constexpr std::int64_t k_largest = 32000;  // 2 n^2 words of workspace stay below 2^31
// Below this order OpenBLAS's threads cost more than they bring.
constexpr std::int64_t k_smallest_threaded = 128;
constexpr std::uint32_t k_exponent = 0x7F800000;  // all ones: NaN or infinity
constexpr std::int64_t k_padding = 64;            // floats, so that two threads share no cache line

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
  std::int64_t batch, n, lwork, liwork, stride;
  Pool pool;
};

/// The documented minimum of ssyevd with vectors. The query answers in a float, which is rounded
/// below it for some orders (n = 2895 is the first), so the larger of both is taken.
std::int64_t real_workspace(lapack_int n) {
  float answer = 0;
  lapack_int integer_answer = 0;
  LAPACKE_ssyevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, nullptr, n, nullptr, &answer, -1,
                      &integer_answer, -1);
  const std::int64_t order = n;
  return std::max(static_cast<std::int64_t>(answer), 1 + 6 * order + 2 * order * order);
}

int create(const kbench_call* shapes, void** state) {
  const std::int64_t batch = shapes->inputs[0].size[0], n = shapes->inputs[0].size[1];
  if (n > k_largest) {
    std::snprintf(shapes->error, shapes->error_size, "n is too large for LAPACK's 32-bit sizes");
    return 1;
  }
  const std::int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const bool over_batch = batch >= cores || n < k_smallest_threaded;
  const std::int64_t lwork = real_workspace(static_cast<lapack_int>(n));
  const std::int64_t liwork = 3 + 5 * n;
  const std::int64_t stride = (lwork + liwork + k_padding - 1) / k_padding * k_padding;
  *state = new (std::nothrow)
      State{batch,  n,      lwork,
            liwork, stride, Pool(static_cast<int>(over_batch ? std::min(batch, cores) : 1))};
  return *state == nullptr ? 1 : 0;
}

std::uint64_t workspace_bytes(void* state) {
  const State& own = *static_cast<State*>(state);
  return static_cast<std::uint64_t>(own.stride * own.pool.threads()) * sizeof(float);
}

/// Copies a matrix and tells whether all of it is finite. A symmetric matrix reads the same row-
/// and column-major.
bool copy_finite(const float* from, std::int64_t count, float* to) {
  bool finite = true;
  for (std::int64_t i = 0; i < count; ++i) {
    // On the bits, because the compiler vectorises this and not an early exit.
    finite &= (std::bit_cast<std::uint32_t>(from[i]) & k_exponent) != k_exponent;
    to[i] = from[i];
  }
  return finite;
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
  auto* q = static_cast<float*>(call->outputs[0].data);
  auto* l = static_cast<float*>(call->outputs[1].data);
  auto* workspace = static_cast<float*>(call->workspace);
  std::atomic<int> info{0};
  std::atomic<std::int64_t> bad_matrix{-1};

  const OneBlasThread guard(own.pool.threads() > 1 || n < k_smallest_threaded);
  own.pool.run(own.batch, [&](int thread, std::int64_t b) {
    float* matrix = q + b * n * n;
    if (!copy_finite(a + b * n * n, n * n, matrix)) {
      bad_matrix = b;
      return;
    }
    float* work = workspace + thread * own.stride;
    const lapack_int order = static_cast<lapack_int>(n);
    const lapack_int result = LAPACKE_ssyevd_work(
        LAPACK_COL_MAJOR, 'V', 'L', order, matrix, order, l + b * n, work,
        static_cast<lapack_int>(own.lwork), reinterpret_cast<lapack_int*>(work + own.lwork),
        static_cast<lapack_int>(own.liwork));
    if (result != 0) info = result;
  });
  if (bad_matrix >= 0) {
    std::snprintf(call->error, call->error_size,
                  "matrix %lld of the input has a NaN or an infinity",
                  static_cast<long long>(bad_matrix.load()));
    return 2;
  }
  if (info != 0) {
    std::snprintf(call->error, call->error_size, "ssyevd returned info %d", info.load());
  }
  return info;
}

void destroy(void* state) { delete static_cast<State*>(state); }

}  // namespace

extern "C" KBENCH_EXPORT const kbench_kernel kbench_kernel_descriptor = {
    KBENCH_ABI_VERSION,
    "lapack",
    "eigh_py",
    "LAPACK ssyevd over OpenBLAS, threads over the batch where it is large enough",
    KBENCH_HOST,
    KBENCH_COLUMN_MAJOR,
    0,
    create,
    workspace_bytes,
    nullptr,
    custom_kernel,
    nullptr,
    destroy};
