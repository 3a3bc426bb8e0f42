// Runs the launches of the kernel's plan, with the device facts of an H200, and judges the result
// with the formulas of the eigh_py checker in FP64.
#include "eigh_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "tridiagonal_primitives.h"
// What stands in for the primitives comes first.
#include "tridiagonal/plan.cuh"

namespace kbench::test {
namespace {

/// A device like an H200 but for the shared memory of its thread blocks.
tridiagonal::DeviceFacts device_of(int shared_bytes) {
  return {shared_bytes, 50 << 20, {132, 66, 32, 16, 7}};
}

/// norm1(X Y^(T) - Z) by columns, all [n, n] in FP64.
double norm1_of(const std::vector<double>& m, std::size_t n) {
  double worst = 0;
  for (std::size_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::fabs(m[i * n + j]);
    if (!(sum <= worst)) worst = sum;
  }
  return worst;
}

/// sum over k of x(i, k) y(k, j), with x and y given as functions.
template <class X, class Y>
std::vector<double> product(std::size_t n, const X& x, const Y& y) {
  std::vector<double> m(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      const double left = x(i, k);
      for (std::size_t j = 0; j < n; ++j) m[i * n + j] += left * y(k, j);
    }
  }
  return m;
}

template <tridiagonal::Home Where>
void run_reduction_of(const tridiagonal::ReduceTask& task) {
  if (task.ranks == 1) {
    tridiagonal::reduce_matrices<true, Where>(task);
  } else {
    tridiagonal::reduce_matrices<false, Where>(task);
  }
}
void run_reduction(const tridiagonal::Plan& plan, const tridiagonal::ReduceTask& task) {
  using tridiagonal::Home;
  if (plan.in_warp) return tridiagonal::reduce_in_warp(task);
  if (plan.home == Home::outside) return run_reduction_of<Home::outside>(task);
  run_reduction_of<Home::shared>(task);
}

}  // namespace

Eigenpairs eigenpairs_emulated(const std::vector<float>& a, int n, const Conditions& conditions) {
  using namespace tridiagonal;
  const Products products = conditions.precise ? Products::full : Products::half_pairs;
  const Plan plan = make_plan(1, n, products, device_of(conditions.shared_bytes), conditions.ranks);
  if (plan.ranks == 0) throw std::runtime_error("no plan for this size");
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const auto size = static_cast<std::size_t>(n);
  Eigenpairs pairs{std::vector<float>(size * size, nan),
                   std::vector<float>(size, nan),
                   plan.ranks,
                   plan.home == Home::outside,
                   plan.in_warp,
                   0};
  std::vector<Row> workspace(plan.workspace.bytes / sizeof(Row) + 1);  // for its alignment
  std::memset(workspace.data(), 0xff, workspace.size() * sizeof(Row));
  const Buffers buffers{a.data(), pairs.q.data(), pairs.l.data(),
                        reinterpret_cast<unsigned char*>(workspace.data()), &pairs.flagged};
  const auto launch = [&](std::int64_t blocks, int threads, int cluster, std::size_t shared,
                          const auto& kernel) {
    if (blocks > 0) emulated::run({blocks, threads, cluster, shared, conditions.backwards}, kernel);
  };
  SolveTask solve = solve_task(plan, buffers, false);
  if (conditions.all_fail) solve.limit = -1;
  const SolveTask again = solve_task(plan, buffers, true);
  const TransformTask transform = transform_task(plan, buffers);
  const PlainTask plain = plain_task(plan, buffers);
  const ReduceTask reduce = reduce_task(plan, buffers);
  launch(plan.ranks, plan.in_warp ? k_warp_rows : k_threads, plan.ranks,
         static_cast<std::size_t>(plan.shared_bytes), [&] { run_reduction(plan, reduce); });
  launch(1, k_solve_threads, 1, 64, [&] { prepare_rows(solve); });
  launch(solve.blocks, k_solve_threads, 1, k_solve_threads * sizeof(Sample),
         [&] { solve_pairs(solve); });
  launch(1, k_certify_threads, 1, 64, [&] { certify_pairs(solve); });
  launch(solve.blocks, k_solve_threads, 1, k_solve_threads * sizeof(Sample),
         [&] { solve_pairs(again); });
  launch(reflector_blocks(n), k_reflector_threads, 1, sizeof(ReflectorShared),
         [&] { prepare_reflectors(reflector_task(plan, buffers)); });
  launch(conditions.precise ? 0 : transform.strips, k_transform_threads, 1, sizeof(TransformShared),
         [&] {
           if (n % 4 == 0) {
             transform_vectors<true>(transform);
           } else {
             transform_vectors<false>(transform);
           }
         });
  launch(plain.strips, k_plain_threads, 1, sizeof(PlainShared), [&] { transform_plainly(plain); });
  return pairs;
}

Gates gates_of(const std::vector<float>& a, const Eigenpairs& pairs, int order) {
  const auto n = static_cast<std::size_t>(order);
  const double n_eps = order * double{std::numeric_limits<float>::epsilon()};
  const auto q = [&](std::size_t i, std::size_t j) { return double{pairs.q[i * n + j]}; };
  const auto l = [&](std::size_t k) { return double{pairs.l[k]}; };
  const auto entry = [&](std::size_t i, std::size_t j) { return double{a[i * n + j]}; };
  std::vector<double> eigen = product(n, entry, q);
  std::vector<double> orth = product(
      n, [&](std::size_t i, std::size_t k) { return q(k, i); }, q);
  std::vector<double> whole = product(
      n, [&](std::size_t i, std::size_t k) { return q(i, k) * l(k); },
      [&](std::size_t k, std::size_t j) { return q(j, k); });
  std::vector<double> own(a.begin(), a.end());
  for (std::size_t i = 0; i < n; ++i) {
    orth[i * n + i] -= 1;
    for (std::size_t j = 0; j < n; ++j) {
      eigen[i * n + j] -= q(i, j) * l(j);
      whole[i * n + j] -= entry(i, j);
    }
  }
  const double norm = norm1_of(own, n);
  const auto relative = [&](double residual, double limit) {
    return residual == 0 ? 0 : residual / (limit * n_eps * norm);
  };
  return {relative(norm1_of(eigen, n), 200), norm1_of(orth, n) / (100 * n_eps),
          relative(norm1_of(whole, n), 400)};
}

}  // namespace kbench::test
