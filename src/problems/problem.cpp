// The visible table of problems: one row each. To add a problem, add its file and its row.
#include "problems/problem.h"

#include <array>

#include "problems/eigh_py.h"
#include "problems/free.h"
#include "problems/qr_v2.h"

namespace kbench {

std::span<const Problem* const> problems() {
  static const std::array<const Problem*, 3> table{&qr_v2(), &eigh_py(), &free_problem()};
  return table;
}

const Problem* find_problem(std::string_view name) {
  for (const Problem* problem : problems()) {
    if (problem->info().name == name) return problem;
  }
  return nullptr;
}

}  // namespace kbench
