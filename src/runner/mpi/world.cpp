// Talks to the MPI library. Only standard calls of MPI 3.0; knows nothing of cases or workers.
#include "runner/mpi/world.h"

#include <fmt/core.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "runner/say.h"

namespace kbench {
namespace {

constexpr std::size_t k_record_bytes = 4096;

/// Ends the process when a collective call does not come back: a rank that died or left early keeps
/// the others waiting for ever.
class Guard {
 public:
  Guard(const char* what, double limit_s)
      : thread_([this, what, limit_s] {
          std::unique_lock lock(mutex_);
          const std::chrono::duration<double> limit(limit_s);
          if (changed_.wait_for(lock, limit, [this] { return done_; })) return;
          // Not through the C streams: what they hold back would go with the process.
          const std::string words = fmt::format(
              "{} did not come back within {:g} s (a rank is missing); look for its last words "
              "above\n",
              what, limit_s);
          static_cast<void>(write(STDERR_FILENO, words.data(), words.size()) < 0);
          _exit(static_cast<int>(ExitCode::device));
        }) {}
  ~Guard() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace

bool has_mpi() { return true; }

MpiWorld::MpiWorld(double limit_s) : limit_s_(limit_s) {
  const Guard guard("MPI_Init", limit_s);
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

MpiWorld::~MpiWorld() {
  const Guard guard("MPI_Finalize", limit_s_);
  MPI_Finalize();
}

std::vector<std::string> MpiWorld::exchange(const std::string& text) {
  const Guard guard("MPI_Allgather", limit_s_);
  KBENCH_ASSERT(text.size() < k_record_bytes);
  std::string mine = text;
  mine.resize(k_record_bytes);
  const auto size = static_cast<std::size_t>(size_);
  std::string all(k_record_bytes * size, '\0');
  constexpr int k_bytes = static_cast<int>(k_record_bytes);
  MPI_Allgather(mine.data(), k_bytes, MPI_CHAR, all.data(), k_bytes, MPI_CHAR, MPI_COMM_WORLD);
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < size; ++k) {
    const std::string record = all.substr(k * k_record_bytes, k_record_bytes);
    texts.push_back(record.substr(0, record.find('\0')));
  }
  return texts;
}

}  // namespace kbench
