// The machine behind emulated_device.h: fibres that take turns at every rendezvous. Knows no
// kernel and no matrix. The current thread is found through one pointer per host thread, because
// device code has no argument to pass it in.
#include "emulated_device.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "emulated_warpgroup.h"

namespace emulated {
namespace {

constexpr std::size_t k_stack_bytes = std::size_t{256} << 10;

/// A meeting of `size` threads; its count of meetings tells those who wait that it took place.
struct Meeting {
  int size = 0, arrived = 0;
  unsigned met = 0;
};

struct Warp {
  Meeting meeting;
  unsigned char slots[2][32][k_most_payload];
};

/// Its meetings also wait for the bytes that were announced.
struct Message : Meeting {
  std::size_t announced = 0, copied = 0;

  void settle() {
    if (arrived != size || copied != announced) return;
    arrived = 0, announced = copied = 0;
    ++met;
  }
};

struct Cluster;
struct Block {
  Cluster* cluster = nullptr;
  std::int64_t index = 0;
  int rank = 0;
  Meeting meeting;
  std::array<Meeting, 16> parts;  // the barriers of some of the warps, by their number
  std::map<const void*, Message> messages;
  std::vector<Warp> warps;
  std::vector<unsigned char> shared;
  bool claim = false;
};

constexpr std::size_t k_shared_alignment = 1024;

unsigned char* start_of(Block& block) {
  void* start = block.shared.data();
  std::size_t room = block.shared.size();
  return static_cast<unsigned char*>(std::align(k_shared_alignment, 1, start, room));
}

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes;
  bool valid;
};

struct Thread {
  Block* block = nullptr;
  int index = 0;
  ucontext_t context{};  // for the start; then `jump`, which costs no system call
  jmp_buf jump;
  bool started = false;
  std::unique_ptr<unsigned char[]> stack;
  const Meeting* awaited = nullptr;
  unsigned seen = 0;
  bool finished = false;
  std::vector<std::vector<Copy>> groups{1};

  bool can_run() const { return !finished && (awaited == nullptr || awaited->met != seen); }
};

struct Cluster {
  Meeting meeting;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<Thread> threads;
  const std::function<void()>* kernel = nullptr;
  jmp_buf scheduler;
  std::exception_ptr error;
};

Thread*& current() {
  thread_local Thread* thread = nullptr;
  return thread;
}

void go_back(Thread& own) {
  if (_setjmp(own.jump) == 0) _longjmp(own.block->cluster->scheduler, 1);
}

/// Whether this was the last to come.
bool arrive(Meeting& meeting) {
  if (++meeting.arrived != meeting.size) return false;
  meeting.arrived = 0;
  ++meeting.met;
  return true;
}

/// Until it takes place once more.
void wait_for(const Meeting& meeting) {
  Thread& own = *current();
  own.awaited = &meeting;
  own.seen = meeting.met;
  go_back(own);
  own.awaited = nullptr;
}

void meet(Meeting& meeting) {
  if (!arrive(meeting)) wait_for(meeting);
}

void run_thread() {
  Thread& own = *current();
  try {
    (*own.block->cluster->kernel)();
  } catch (...) {
    own.block->cluster->error = std::current_exception();
  }
  own.finished = true;
  go_back(own);
}

Warp& own_warp() {
  const Thread& own = *current();
  return own.block->warps[static_cast<std::size_t>(own.index / 32)];
}

std::vector<std::size_t> turns(std::size_t count, Order order) {
  std::vector<std::size_t> turn(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t warp = k / 32, lane = k % 32, last = count / 32 - 1;
    const bool warps = order == Order::backward || order == Order::warps_backward;
    const bool lanes = order == Order::backward || order == Order::lanes_backward;
    turn[k] = (warps ? last - warp : warp) * 32 + (lanes ? 31 - lane : lane);
  }
  return turn;
}

void resume(Cluster& cluster, Thread& thread) {
  current() = &thread;
  if (_setjmp(cluster.scheduler) == 0) {
    if (thread.started) _longjmp(thread.jump, 1);
    thread.started = true;
    setcontext(&thread.context);
  }
  current() = nullptr;
}

/// Lets one warp go on until each of its threads waits for another warp.
bool run_warp(Cluster& cluster, const std::size_t* turn) {
  bool any = false;
  for (bool again = true; again;) {
    again = false;
    for (int lane = 0; lane < 32; ++lane) {
      Thread& thread = cluster.threads[turn[lane]];
      if (!thread.can_run()) continue;
      resume(cluster, thread);
      again = any = true;
    }
  }
  return any;
}

void start(Cluster& cluster, const Grid& grid, std::int64_t first_block) {
  cluster.meeting.size = grid.threads * grid.ranks;
  for (int rank = 0; rank < grid.ranks; ++rank) {
    auto block = std::make_unique<Block>();
    block->cluster = &cluster;
    block->index = first_block + rank;
    block->rank = rank;
    block->meeting.size = grid.threads;
    block->warps.resize(static_cast<std::size_t>(grid.threads / 32));
    for (Warp& warp : block->warps) warp.meeting.size = 32;
    block->shared.assign(grid.shared_bytes + k_shared_alignment, 0xff);
    cluster.blocks.push_back(std::move(block));
  }
  cluster.threads.resize(static_cast<std::size_t>(grid.threads * grid.ranks));
  for (std::size_t k = 0; k < cluster.threads.size(); ++k) {
    Thread& thread = cluster.threads[k];
    thread.block = cluster.blocks[k / static_cast<std::size_t>(grid.threads)].get();
    thread.index = static_cast<int>(k % static_cast<std::size_t>(grid.threads));
    thread.stack.reset(new unsigned char[k_stack_bytes]);
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.get();
    thread.context.uc_stack.ss_size = k_stack_bytes;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, run_thread, 0);
  }
}

void run_cluster(const Grid& grid, Order order, std::int64_t first_block,
                 const std::function<void()>& kernel) {
  Cluster cluster;
  cluster.kernel = &kernel;
  start(cluster, grid, first_block);
  const std::vector<std::size_t> turn = turns(cluster.threads.size(), order);
  for (bool any = true; any;) {
    any = false;
    for (std::size_t k = 0; k < turn.size(); k += 32) any = run_warp(cluster, &turn[k]) || any;
  }
  if (cluster.error) std::rethrow_exception(cluster.error);
  const auto finished = [](const Thread& thread) { return thread.finished; };
  const auto met = [](const std::unique_ptr<Block>& block) {
    return std::all_of(block->parts.begin(), block->parts.end(),
                       [](const Meeting& part) { return part.arrived == 0; });
  };
  if (!std::all_of(cluster.threads.begin(), cluster.threads.end(), finished) ||
      !std::all_of(cluster.blocks.begin(), cluster.blocks.end(), met)) {
    throw std::runtime_error("a barrier was not reached by all threads");
  }
}

void carry_out(const Copy& copy) {
  if (copy.valid) {
    std::memcpy(copy.to, copy.from, copy.bytes);
  } else {
    std::memset(copy.to, 0, copy.bytes);
  }
}

/// The float nearest to x from the side of zero.
float toward_zero(double x) {
  const auto nearest = static_cast<float>(x);
  if (std::isfinite(x) && std::fabs(static_cast<double>(nearest)) > std::fabs(x)) {
    return std::nextafter(nearest, 0.0f);
  }
  return nearest;
}

}  // namespace

void launch(const Grid& grid, Order order, const std::function<void()>& kernel) {
  for (std::int64_t block = 0; block < grid.blocks; block += grid.ranks) {
    run_cluster(grid, order, block, kernel);
  }
}

int thread_index() { return current()->index; }
std::int64_t block_index() { return current()->block->index; }
int cluster_rank() { return current()->block->rank; }
void* shared_memory() { return start_of(*current()->block); }
void block_barrier() { meet(current()->block->meeting); }
void cluster_barrier() { meet(current()->block->cluster->meeting); }
void part_barrier(int id, int threads) {
  Meeting& meeting = current()->block->parts.at(static_cast<std::size_t>(id));
  meeting.size = threads;
  meet(meeting);
}

void prepare_message(const void* message, int tellers) {
  current()->block->messages[message].size = tellers;
}
void tell(const void* message) { tell_with_bytes(message, 0); }
void tell_with_bytes(const void* message, std::size_t bytes) {
  Message& own = current()->block->messages.at(message);
  own.announced += bytes;
  ++own.arrived;
  own.settle();
}
void copy_bulk(void* to, const void* from, std::size_t bytes, const void* message) {
  const auto aligned = [](const void* at) {
    return reinterpret_cast<std::uintptr_t>(at) % 16 == 0;
  };
  if (!aligned(to) || !aligned(from) || bytes % 16 != 0) {
    throw std::runtime_error("a bulk copy is not aligned");
  }
  Message& own = current()->block->messages.at(message);
  std::memcpy(to, from, bytes);
  own.copied += bytes;
  own.settle();
}

float element(const RightOperand& operand, int row, int column) {
  const auto* base = static_cast<const unsigned char*>(shared_memory());
  const std::ptrdiff_t at =
      operand.start + row / 8 * operand.step + row % 8 * 128 + column * 2 - base;
  const std::ptrdiff_t swizzled = at ^ (at >> 7 & 7) << 4;
  std::uint16_t bits;
  std::memcpy(&bits, base + swizzled, sizeof bits);
  return bf16(bits);
}
void wait_until_told(const void* message, unsigned turn) {
  const Meeting& meeting = current()->block->messages.at(message);
  if (meeting.met > turn + 1) throw std::runtime_error("a message was told again too early");
  if (meeting.met <= turn) wait_for(meeting);
}

void* twin(const void* local, int rank) {
  Block& own = *current()->block;
  const auto offset = static_cast<const unsigned char*>(local) - start_of(own);
  Block& other = *own.cluster->blocks.at(static_cast<std::size_t>(rank));
  if (offset < 0 || static_cast<std::size_t>(offset) >= other.shared.size() - k_shared_alignment) {
    throw std::runtime_error("no address of shared memory");
  }
  return start_of(other) + offset;
}

const unsigned char* exchange(const void* own, std::size_t size) {
  Warp& warp = own_warp();
  auto& slots = warp.slots[warp.meeting.met % 2];
  std::memcpy(slots[current()->index % 32], own, size);
  meet(warp.meeting);
  return slots[0];
}

void copy_async(void* to, const void* from, std::size_t bytes, bool valid) {
  current()->groups.back().push_back({to, from, bytes, valid});
}
void copy_commit() { current()->groups.emplace_back(); }
void copy_wait(int pending) {
  auto& groups = current()->groups;  // the last one is still open
  while (groups.size() > static_cast<std::size_t>(pending) + 1) {
    for (const Copy& copy : groups.front()) carry_out(copy);
    groups.erase(groups.begin());
  }
}

float bf16(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }

std::uint32_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return bits >> 16 | 0x40u;
  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

void multiply_add(float (&d)[4], const std::uint32_t (&a)[4],
                  const std::function<float(int, int)>& b) {
  struct Left {
    std::uint32_t a[4];
  };
  const auto all = exchange(Left{{a[0], a[1], a[2], a[3]}});
  const int lane = thread_index() % 32;
  for (int k = 0; k < 4; ++k) {
    double sum = d[k];
    for (int inner = 0; inner < 16; ++inner) {
      const std::uint32_t pair = all[lane / 4 * 4 + inner % 8 / 2].a[inner / 8 * 2 + k / 2];
      sum += static_cast<double>(bf16(pair >> (16 * (inner % 2)) & 0xffffu)) *
             static_cast<double>(b(inner, lane % 4 * 2 + k % 2));
    }
    d[k] = toward_zero(sum);
  }
}

void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  struct Fragments {
    std::uint32_t a[4], b[2];
  };
  const auto all = exchange(Fragments{{a[0], a[1], a[2], a[3]}, {b0, b1}});
  const int lane = thread_index() % 32;
  const auto half = [](std::uint32_t pair, int k) { return bf16(pair >> (16 * k) & 0xffffu); };
  double sum[4] = {d[0], d[1], d[2], d[3]};
  for (int thread = 0; thread < 4; ++thread) {
    const Fragments upper = all[lane / 4 * 4 + thread];
    for (int v = 0; v < 2; ++v) {
      const Fragments right = all[(lane % 4 * 2 + v) * 4 + thread];
      for (int k = 0; k < 4; ++k) {  // inner index 2 thread + k % 2 + 8 (k / 2)
        const double b = half(right.b[k / 2], k % 2);
        sum[v] += static_cast<double>(half(upper.a[k / 2 * 2], k % 2)) * b;
        sum[2 + v] += static_cast<double>(half(upper.a[k / 2 * 2 + 1], k % 2)) * b;
      }
    }
  }
  for (int k = 0; k < 4; ++k) d[k] = toward_zero(sum[k]);
}

void multiply_add(double (&d)[2], double a, double b) {
  struct Pair {
    double a, b;
  };
  const auto all = exchange(Pair{a, b});
  const int lane = thread_index() % 32;
  for (int k = 0; k < 4; ++k) {
    const double left = all[lane / 4 * 4 + k].a;
    for (int v = 0; v < 2; ++v) d[v] = std::fma(left, all[(lane % 4 * 2 + v) * 4 + k].b, d[v]);
  }
}

void load_tiles(std::uint32_t (&tile)[4], const void* row, bool transposed) {
  const auto all = exchange(row);
  const int lane = thread_index() % 32;
  const auto element = [&](int t, int r, int c) {
    std::uint16_t bits;
    std::memcpy(&bits, static_cast<const unsigned char*>(all[t * 8 + r]) + 2 * c, sizeof bits);
    return std::uint32_t{bits};
  };
  for (int t = 0; t < 4; ++t) {
    const int g = lane / 4, k = lane % 4 * 2;
    tile[t] = transposed ? element(t, k, g) | element(t, k + 1, g) << 16
                         : element(t, g, k) | element(t, g, k + 1) << 16;
  }
}

}  // namespace emulated

namespace blocked {

bool block_any(bool claim) {
  emulated::Block& block = *emulated::current()->block;
  bool& any = block.claim;
  emulated::block_barrier();
  any = false;
  emulated::block_barrier();
  if (claim) any = true;
  emulated::block_barrier();
  const bool result = any;
  emulated::block_barrier();
  return result;
}

}  // namespace blocked
