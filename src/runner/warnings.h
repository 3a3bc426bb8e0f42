// What is odd about the samples of a case, why that may be, and what to try.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/record.h"

namespace kbench {

struct Warning {
  std::string_view kind;  ///< `slow first repeat`; one of a fixed list (docs/results.md)
  std::string text;       ///< one line: what, the likely cause, the flag to try
};

/// Of a measured case that passed; else empty. Nothing is ever removed from the samples.
std::vector<Warning> warnings_of(const RunRecord& record, std::size_t i);

}  // namespace kbench
