// The fibres behind machine.h. A warp runs until all its lanes wait at a barrier of the block or
// the cluster, then the next one does. Knows no kernel.
#include "machine.h"

#include <ucontext.h>

#include <array>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

namespace kbench::emulated {
namespace {

constexpr std::size_t k_stack_bytes = 96 * 1024;
constexpr std::size_t k_most_bytes = 64;  // a lane's share of one exchange
constexpr int k_lanes = 32;

/// Threads that wait for each other. `round` counts how often all of them had arrived.
struct Meeting {
  int members = 0, arrived = 0;
  std::uint64_t round = 0;
};

struct Warp {
  Meeting meeting;
  // Two rounds: a lane may still read one while another already brings the next.
  std::array<std::array<std::array<unsigned char, k_most_bytes>, k_lanes>, 2> brought{};
};

struct Block {
  Meeting meeting;
  std::vector<Warp> warps;
  std::unique_ptr<unsigned char[]> shared;
};

struct Thread {
  ucontext_t context{};  // for the first entry only
  std::jmp_buf at;
  bool entered = false;
  std::unique_ptr<char[]> stack;
  int index = 0, rank = 0;
  const Meeting* waits_for = nullptr;
  std::uint64_t round = 0;
  bool done = false;
};

struct Machine {
  const Launch* launch = nullptr;
  const std::function<void()>* body = nullptr;
  std::int64_t cluster = 0;
  Meeting meeting;
  std::vector<Block> blocks;
  std::vector<Thread> threads;
  Thread* current = nullptr;
  ucontext_t start{};
  std::jmp_buf scheduler;
};

// The running machine: makecontext passes no pointer, and a thread asks for its index without one.
thread_local Machine* machine = nullptr;

// swapcontext costs a system call: it only opens a stack, after that threads jump.
void leave() {
  if (_setjmp(machine->current->at) == 0) _longjmp(machine->scheduler, 1);
}
void resume(Thread& thread) {
  machine->current = &thread;
  if (_setjmp(machine->scheduler) != 0) return;
  if (thread.entered) _longjmp(thread.at, 1);
  thread.entered = true;
  swapcontext(&machine->start, &thread.context);
}

Block& block() { return machine->blocks[static_cast<std::size_t>(machine->current->rank)]; }

void arrive(Meeting& meeting) {
  Thread& self = *machine->current;
  if (++meeting.arrived == meeting.members) {
    meeting.arrived = 0;
    ++meeting.round;
    return;
  }
  self.waits_for = &meeting;
  self.round = meeting.round;
  leave();
  self.waits_for = nullptr;
}

void enter() {
  (*machine->body)();
  machine->current->done = true;
  leave();
}

bool can_run(const Thread& thread) {
  return !thread.done && (thread.waits_for == nullptr || thread.waits_for->round != thread.round);
}

/// Runs the lanes of a warp until none of them can go on; whether any could.
bool run_warp(std::size_t first) {
  bool any = false;
  for (bool again = true; again;) {
    again = false;
    for (std::size_t lane = 0; lane < k_lanes; ++lane) {
      Thread& thread = machine->threads[first + lane];
      if (!can_run(thread)) continue;
      resume(thread);
      again = any = true;
    }
  }
  return any;
}

void start_threads() {
  const Launch& launch = *machine->launch;
  machine->meeting = {launch.ranks * launch.threads, 0, 0};
  machine->blocks.resize(static_cast<std::size_t>(launch.ranks));
  for (Block& each : machine->blocks) {
    each.meeting = {launch.threads, 0, 0};
    each.warps.assign(static_cast<std::size_t>(launch.threads / k_lanes), Warp{});
    for (Warp& warp : each.warps) warp.meeting.members = k_lanes;
    if (!each.shared) each.shared.reset(new unsigned char[launch.shared_bytes + 16]);
    std::memset(each.shared.get(), 0xff, launch.shared_bytes + 16);
  }
  machine->threads.resize(static_cast<std::size_t>(launch.ranks * launch.threads));
  for (std::size_t k = 0; k < machine->threads.size(); ++k) {
    Thread& thread = machine->threads[k];
    if (!thread.stack) thread.stack.reset(new char[k_stack_bytes]);
    thread.index = static_cast<int>(k) % launch.threads;
    thread.rank = static_cast<int>(k) / launch.threads;
    thread.waits_for = nullptr;
    thread.done = thread.entered = false;
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.get();
    thread.context.uc_stack.ss_size = k_stack_bytes;
    makecontext(&thread.context, enter, 0);
  }
}

void run_cluster() {
  start_threads();
  const std::size_t warps = machine->threads.size() / k_lanes;
  for (bool any = true; any;) {
    any = false;
    for (std::size_t k = 0; k < warps; ++k) {
      any |= run_warp((machine->launch->backwards ? warps - 1 - k : k) * k_lanes);
    }
  }
  for (const Thread& thread : machine->threads) {
    if (!thread.done) throw std::runtime_error("threads wait for each other forever");
  }
}

}  // namespace

void run(const Launch& launch, const std::function<void()>& body) {
  Machine own;
  own.launch = &launch;
  own.body = &body;
  machine = &own;
  for (own.cluster = 0; own.cluster * launch.ranks < launch.blocks; ++own.cluster) run_cluster();
  machine = nullptr;
}

int thread_index() { return machine->current->index; }
std::int64_t block_index() {
  return machine->cluster * machine->launch->ranks + machine->current->rank;
}

unsigned char* shared_memory() {
  void* start = block().shared.get();
  std::size_t space = machine->launch->shared_bytes + 16;
  return static_cast<unsigned char*>(std::align(16, machine->launch->shared_bytes, start, space));
}

void* twin(void* local, int rank) {
  const auto offset = static_cast<unsigned char*>(local) - shared_memory();
  const int own = machine->current->rank;
  machine->current->rank = rank;
  unsigned char* base = shared_memory();
  machine->current->rank = own;
  return base + offset;
}

void block_barrier() { arrive(block().meeting); }
void cluster_barrier() { arrive(machine->meeting); }

void exchange(const void* mine, std::size_t bytes, void* all) {
  const auto index = static_cast<std::size_t>(machine->current->index);
  Warp& warp = block().warps[index / k_lanes];
  const std::size_t slot = warp.meeting.round % 2;
  std::memcpy(warp.brought[slot][index % k_lanes].data(), mine, bytes);
  arrive(warp.meeting);
  for (std::size_t lane = 0; lane < k_lanes; ++lane) {
    std::memcpy(static_cast<unsigned char*>(all) + lane * bytes, warp.brought[slot][lane].data(),
                bytes);
  }
}

}  // namespace kbench::emulated
