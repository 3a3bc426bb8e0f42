// Runs the launches of the blocked kernel's plan, in their order, on the emulated device, and
// judges what they leave by the gates of qr_v2, formed in FP64. Knows no test case.
#include "blocked_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "emulated_device.h"
#include "emulated_warpgroup.h"
#include "qr_v2/blocked/plan.cuh"

namespace kbench {
namespace {

using Matrix = std::vector<double>;

void run(const blocked::Plan& plan, blocked::Launch launch, const blocked::Buffers& buffers,
         emulated::Order order) {
  blocked::fill_addresses(plan, launch, buffers);
  const emulated::Grid grid{launch.blocks, launch.threads, launch.ranks,
                            static_cast<std::size_t>(launch.shared_bytes)};
  const auto run_as = [&](auto task) {
    const auto kernel =
        reinterpret_cast<void (*)(decltype(task))>(reinterpret_cast<std::uintptr_t>(launch.kernel));
    emulated::launch(grid, order, [&] { kernel(task); });
  };
  switch (launch.step) {
    case blocked::Step::gram_panel:
    case blocked::Step::panel:
      return run_as(launch.panel);
    case blocked::Step::apply:
      return run_as(launch.apply);
    case blocked::Step::cross:
      return run_as(launch.cross);
    case blocked::Step::leftover:
      return run_as(blocked::LeftoverTask{launch.panel, launch.apply});
  }
}

blocked::Plan plan_of(std::int64_t batch, std::int64_t n, const EmulatedFacts& facts) {
  constexpr int shared_per_multiprocessor = 233472, shared_per_block = 232448, reserved = 1024;
  return blocked::make_plan(batch, n,
                            {facts.multiprocessors, shared_per_multiprocessor, reserved,
                             shared_per_block, facts.clusters, facts.fast_double, facts.warpgroups},
                            {blocked::k_max_ranks, blocked::k_max_apply_ranks,
                             facts.look_ahead ? 0 : std::numeric_limits<int>::max(),
                             facts.pairs ? 0 : std::numeric_limits<int>::max(), 0});
}

/// What a launch touches: columns of the factor, and of the workspace the reflectors, T and marks
/// of its copies, a bit each, then S, then of each copy the reflectors' rows above the block.
struct Touched {
  int begin, end;  // columns, read and written
  unsigned reads, writes;
  bool marked, settled;  // which matrices
};

Touched touched_by(const blocked::Plan& plan, const blocked::Launch& launch) {
  const unsigned own = 1u << launch.copy, second = 1u << launch.second_copy;
  const unsigned s = 1u << blocked::copies(plan), above = second << (blocked::copies(plan) + 1);
  const bool some = launch.uses_flags && launch.step != blocked::Step::gram_panel;
  if (launch.step == blocked::Step::cross) {
    return {0, 0, own | second, s | above, true, true};
  }
  if (launch.step == blocked::Step::apply) {
    const bool settled = launch.apply.settled;
    return {
        launch.apply.begin, launch.apply.end, launch.of_pair ? own | second | s | above : own, 0,
        !some || !settled,  !some || settled};
  }
  const int column = launch.panel.column;
  const int width = launch.step == blocked::Step::panel ? blocked::k_panel : blocked::k_block;
  return {column, column + width, own, own, true, !some};
}

bool disturb(const Touched& x, const Touched& y) {
  const bool matrices = (x.marked && y.marked) || (x.settled && y.settled);
  const bool columns = x.begin < y.end && y.begin < x.end;
  const bool space = ((x.writes & (y.reads | y.writes)) | (x.reads & y.writes)) != 0;
  return matrices && (columns || space);
}

double norm1(const Matrix& x, std::int64_t n) {
  double most = 0;
  for (std::int64_t c = 0; c < n; ++c) {
    double sum = 0;
    for (std::int64_t r = 0; r < n; ++r) sum += std::fabs(x[static_cast<std::size_t>(r * n + c)]);
    most = std::isnan(sum) ? sum : std::max(most, sum);
  }
  return most;
}

/// x <- H_n ... H_1 x for x [n, columns]: so x = A becomes Q^T A and x = I becomes Q^T.
void reflect(Matrix& x, const float* h, const float* tau, std::int64_t n) {
  std::vector<double> product(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j) {
    std::fill(product.begin(), product.end(), 0.0);
    for (std::int64_t r = j; r < n; ++r) {
      const double v = r == j ? 1.0 : static_cast<double>(h[r * n + j]);
      const double* row = &x[static_cast<std::size_t>(r * n)];
      for (std::int64_t c = 0; c < n; ++c) product[static_cast<std::size_t>(c)] += v * row[c];
    }
    for (std::int64_t r = j; r < n; ++r) {
      const double v =
          static_cast<double>(tau[j]) * (r == j ? 1.0 : static_cast<double>(h[r * n + j]));
      double* row = &x[static_cast<std::size_t>(r * n)];
      for (std::int64_t c = 0; c < n; ++c) row[c] -= v * product[static_cast<std::size_t>(c)];
    }
  }
}

}  // namespace

Factored factor_emulated(const std::vector<float>& a, std::int64_t batch, std::int64_t n,
                         const EmulatedFacts& facts, emulated::Order order) {
  const blocked::Plan plan = plan_of(batch, n, facts);
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  Factored out{std::vector<float>(a.size(), nan),
               std::vector<float>(static_cast<std::size_t>(batch * n), nan),
               {}};
  const std::uint64_t bytes = blocked::workspace_bytes(plan);
  const auto space = std::make_unique<float4[]>(bytes / sizeof(float4) + 1);
  std::fill_n(reinterpret_cast<float*>(space.get()), bytes / sizeof(float), nan);
  const blocked::Buffers buffers{a.data(), out.h.data(), out.tau.data(),
                                 bytes == 0 ? nullptr : space.get()};
  for (const blocked::Launch& launch : plan.launches) {
    run(plan, launch, buffers, order);
    if (launch.step != blocked::Step::gram_panel) continue;
    blocked::Launch filled = launch;
    blocked::fill_addresses(plan, filled, buffers);
    out.doubtful.insert(out.doubtful.end(), filled.panel.doubtful, filled.panel.doubtful + batch);
  }
  return out;
}

std::string unordered_launches(std::int64_t batch, std::int64_t n, const EmulatedFacts& facts) {
  const blocked::Plan plan = plan_of(batch, n, facts);
  const auto& launches = plan.launches;
  std::vector<std::vector<bool>> after(launches.size());  // [k][j]: k runs after j
  std::vector<std::size_t> last(blocked::k_branches, launches.size());
  unsigned used = blocked::bit_of(blocked::k_updates);  // a call begins there
  for (std::size_t k = 0; k < launches.size(); ++k) {
    if ((used & (blocked::bit_of(launches[k].branch) | launches[k].waits)) == 0) {
      return std::to_string(k) + " begins a branch from nowhere";
    }
    used |= blocked::bit_of(launches[k].branch);
    after[k].assign(launches.size(), false);
    const auto needs = [&](int branch) {
      const std::size_t j = last[static_cast<std::size_t>(branch)];
      if (j == launches.size()) return;
      after[k][j] = true;
      for (std::size_t i = 0; i < j; ++i) after[k][i] = after[k][i] || after[j][i];
    };
    needs(launches[k].branch);
    for (int branch = 0; branch < blocked::k_branches; ++branch) {
      if ((launches[k].waits & blocked::bit_of(branch)) != 0) needs(branch);
    }
    last[static_cast<std::size_t>(launches[k].branch)] = k;
    for (std::size_t j = 0; j < k; ++j) {
      if (after[k][j] || !disturb(touched_by(plan, launches[j]), touched_by(plan, launches[k])))
        continue;
      return std::to_string(j) + " and " + std::to_string(k);
    }
  }
  return {};
}

// factor         norm1(triu(H) - Q^T A) / (20 n eps norm1(A))
// orthogonality  norm1(Q^T Q - I) / (100 n eps)
// The least norm that qr_v2 divides by, 1e-30, is left out: it hides every error in subnormals.
Gates gates_of(const std::vector<float>& a, const Factored& factored, std::int64_t n,
               std::int64_t index) {
  const auto at = static_cast<std::size_t>(index * n * n);
  const auto count = static_cast<std::size_t>(n * n);
  const float* h = factored.h.data() + at;
  const float* tau = factored.tau.data() + index * n;
  Matrix x(a.begin() + static_cast<std::ptrdiff_t>(at),
           a.begin() + static_cast<std::ptrdiff_t>(at + count));
  const double size = std::max(norm1(x, n), std::numeric_limits<double>::min());
  reflect(x, h, tau, n);
  Matrix q(count, 0.0);
  for (std::int64_t i = 0; i < n; ++i) {
    q[static_cast<std::size_t>(i * n + i)] = 1;
    for (std::int64_t c = i; c < n; ++c) {
      x[static_cast<std::size_t>(i * n + c)] -= static_cast<double>(h[i * n + c]);
    }
    for (std::int64_t c = 0; c < i; ++c) x[static_cast<std::size_t>(i * n + c)] = 0;
  }
  reflect(q, h, tau, n);
  Matrix gram(count, 0.0);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = 0; k < n; ++k) {
      double sum = i == k ? -1 : 0;
      for (std::int64_t c = 0; c < n; ++c) {
        sum += q[static_cast<std::size_t>(i * n + c)] * q[static_cast<std::size_t>(k * n + c)];
      }
      gram[static_cast<std::size_t>(i * n + k)] = sum;
    }
  }
  const double unit = static_cast<double>(n) * static_cast<double>(0x1p-23f);
  return {norm1(x, n) / (20 * unit * size), norm1(gram, n) / (100 * unit)};
}

}  // namespace kbench
