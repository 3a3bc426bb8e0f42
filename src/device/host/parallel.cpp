// Spreads loops over threads. Knows thread counts and BLAS's own threading; knows no operation.
#include "device/host/parallel.h"

#include <cblas.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace kbench::host {
namespace {

// Starting and joining a thread costs about 20 us, some 10^4 to 10^5 elementary steps.
constexpr double k_steps_worth_a_thread = 2e5;
constexpr std::int64_t k_largest_small_matrix = 128;

class SingleThreadedBlas {
 public:
  SingleThreadedBlas() : before_(openblas_get_num_threads()) {
    if (before_ != 1) openblas_set_num_threads(1);
  }
  ~SingleThreadedBlas() {
    if (before_ != 1) openblas_set_num_threads(before_);
  }
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;

 private:
  int before_;
};

void run_on_threads(std::int64_t count, double cost, int most_threads,
                    const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  const double steps = static_cast<double>(count) * std::max(cost, 1.0);
  const double worth = std::min(steps / k_steps_worth_a_thread, static_cast<double>(count));
  const auto threads = static_cast<std::int64_t>(std::clamp(worth, 1.0, double(most_threads)));
  if (threads == 1) return body(0, count);

  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto run = [&](std::int64_t t) {
    try {
      // Written without count * t, which may overflow.
      const std::int64_t share = count / threads, rest = count % threads;
      const std::int64_t begin = share * t + std::min(t, rest);
      body(begin, begin + share + (t < rest ? 1 : 0));
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::jthread> pool;
  for (std::int64_t t = 1; t < threads; ++t) pool.emplace_back(run, t);
  run(0);
  pool.clear();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

int thread_count() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

void parallel_for(std::int64_t count, std::int64_t cost,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
  run_on_threads(count, static_cast<double>(cost), thread_count(), body);
}

void for_each_matrix(std::int64_t batch, std::int64_t n,
                     const std::function<void(std::int64_t)>& body) {
  if (batch < thread_count() && n > k_largest_small_matrix) {
    for (std::int64_t b = 0; b < batch; ++b) body(b);
    return;
  }
  const SingleThreadedBlas guard;
  const auto size = static_cast<double>(n);
  const int threads = std::min(thread_count(), k_most_blas_callers);
  run_on_threads(batch, size * size * size, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) body(b);
  });
}

}  // namespace kbench::host
