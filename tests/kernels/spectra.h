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

/// A tridiagonal by name.
Tridiagonal tridiagonal_of(const std::string& name, int n, std::mt19937& draws);
std::vector<std::string> tridiagonal_names();

}  // namespace kbench::test
