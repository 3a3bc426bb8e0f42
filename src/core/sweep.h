// A case line in which values stand in braces, and the ordinary lines that it stands for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kbench {

/// Expands `n: {32..512*2}; case: {dense,mixed}`: braces hold values and ranges between commas, a
/// range is `a..b` (steps of 1), `a..b+s` or `a..b*f` and ends at the last value that is not above
/// b. All combinations, the last braces vary fastest; text without braces is one line. Throws
/// Error(case_file) `source:1:column: <what>` with a caret; more than 100000 lines are refused.
std::vector<std::string> expand_sweep(std::string_view text, std::string_view source);

}  // namespace kbench
