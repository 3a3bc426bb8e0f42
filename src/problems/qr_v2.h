// The problem qr_v2: A [batch, n, n] -> H, tau in LAPACK geqrf's compact form.
#pragma once

#include <memory>
#include <span>

#include "problems/families.h"
#include "problems/problem.h"

namespace kbench {

const Problem& qr_v2();

/// The cases but `mixed`, in the order of the mix.
std::span<const MatrixCase> qr_v2_cases();

/// Fills a [batch, n, n] with the matrices of `spec` from a fresh generator.
void generate_qr_v2(TorchGenerator& draws, const Case& spec, float* a);

/// A checker that works on slices of at most `slice_bytes` of its own memory (one matrix at least).
std::unique_ptr<Checker> make_qr_v2_checker(Device& device, std::int64_t batch, std::int64_t n,
                                            double slice_bytes);

}  // namespace kbench
