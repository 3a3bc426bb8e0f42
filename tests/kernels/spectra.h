// Symmetric matrices and tridiagonals by name, for tests of eigensolvers: every spectrum of the
// eigh_py problem, and what tridiagonal solvers trip over.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace kbench::test {

struct Tridiagonal {
  std::vector<float> d, e;  // n and n - 1 numbers
};

/// Eigenvalues of the named planted cases of eigh_py, unordered; empty for another name.
std::vector<double> spectrum(const std::string& name, int n);
std::vector<std::string> spectrum_names();

/// A dense symmetric FP32 matrix [n, n] with these eigenvalues.
std::vector<float> planted(const std::vector<double>& eigenvalues, std::mt19937& draws);
/// The FP32 Householder reduction of that matrix, by LAPACK.
Tridiagonal reduced(std::vector<float> a);

constexpr int k_nearly_degenerate_size = 40;
/// A symmetric matrix [40, 40], tridiagonal so that a reduction leaves it as it is. Once the kernel
/// `tridiagonal` has shifted it, two eigenvalues are 2e-14 of its norm apart, and their vectors,
/// half in row 0 and half in row 8 each, come out with about a thousandth of each other.
std::vector<float> nearly_degenerate();

/// A tridiagonal by name.
Tridiagonal tridiagonal_of(const std::string& name, int n, std::mt19937& draws);
std::vector<std::string> tridiagonal_names();

}  // namespace kbench::test
