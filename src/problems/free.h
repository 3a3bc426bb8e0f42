// The problem free: any kernel. Nothing is generated and nothing is checked.
#pragma once

#include "problems/problem.h"

namespace kbench {

const Problem& free_problem();

}  // namespace kbench
