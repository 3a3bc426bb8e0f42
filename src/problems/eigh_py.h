// The problem eigh_py: symmetric A [batch, n, n] -> eigenvectors Q and ascending eigenvalues L.
#pragma once

#include <memory>
#include <span>

#include "problems/families.h"
#include "problems/problem.h"

namespace kbench {

const Problem& eigh_py();

/// The cases but `mixed` and lapack_*, in the order of the mix.
std::span<const MatrixCase> eigh_py_cases();

/// Fills a [batch, n, n] with the symmetric matrices of `spec` from a fresh generator.
void generate_eigh_py(TorchGenerator& draws, const Case& spec, float* a);

std::span<const OutputShape> eigh_py_outputs();

/// Device bytes of the checker a matrix of a slice: Q, A and a product in FP64.
double eigh_py_checker_matrix_bytes(std::int64_t n);

/// A checker that works on slices of at most `slice_bytes` of its own memory (one matrix at least).
std::unique_ptr<Checker> make_eigh_py_checker(Device& device, std::int64_t batch, std::int64_t n,
                                              double slice_bytes);

}  // namespace kbench
