// Conditions on cases: `n >= 512; case = {dense,mixed}`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/spec.h"

namespace kbench {

/// One condition: `key OP value` or `key = {value,value}`.
struct CaseCondition {
  enum class Compare { equal, unequal, less, at_most, greater, at_least } compare = Compare::equal;
  std::string key;                   ///< problem, batch, n, cond or case
  std::vector<std::string> names;    ///< of problem and case, in lower case
  std::vector<std::int64_t> values;  ///< of the others; one value unless `=` or `!=`
};

/// Conditions between `;`, all of which must hold. OP is one of = != < <= > >=; names know = and !=
/// alone. Throws Error(usage) naming `source`, with did-you-mean for the key.
std::vector<CaseCondition> parse_case_filter(std::string_view text, const std::string& source);

bool matches(const std::vector<CaseCondition>& conditions, const Case& spec);

}  // namespace kbench
