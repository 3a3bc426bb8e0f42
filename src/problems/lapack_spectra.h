// The eighteen test matrix types of LAPACK's symmetric eigenvalue testing (cases lapack_*).
#pragma once

#include <span>
#include <string_view>

#include "problems/families.h"

namespace kbench {

struct LapackType {
  std::string_view name;
  enum class Shape { zero, identity, diagonal, dense, random, band } shape;
  enum class Spectrum { none, even, geometric, clustered } spectrum;
  float scale;  ///< 1, sqrt(largest float) or sqrt(smallest normal float)
};

/// In LAPACK's order, 1 to 18.
std::span<const LapackType> lapack_types();

/// Fills group.a. These cases draw no base.
void make_lapack_matrices(const LapackType& type, const Group& group);

}  // namespace kbench
