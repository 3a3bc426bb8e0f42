// Names of GPU functions: demangled, shortened for a table, and selected by what the user wrote.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/trace.h"

namespace kbench {

/// `void scale<float>(float*, int)` for a mangled C++ name; any other name, and one whose demangled
/// form is beyond 8192 characters, stays as it is. Always valid UTF-8.
std::string demangle(const char* name);

/// The function alone, without result, namespaces, template arguments and parameters: `scale`.
std::string bare_name(std::string_view demangled);

/// For a table: namespaces and the function, with `<...>` in place of template arguments, at most
/// `bytes` bytes.
std::string short_name(std::string_view demangled, std::size_t bytes);

/// Keeps the kernels that a filter selects; the rest goes into `other_names` and `other_ns`. Copies
/// and memsets stay. A filter selects a name that contains its text, or in whose demangled or bare
/// form its text is found as a regular expression (ECMAScript). Throws Error(case_failed) when a
/// filter selects nothing, listing the names there are, or, without `multiple`, more than one
/// kernel, listing them. No filters: all stay.
void select_kernels(TraceFigures& figures, const std::vector<std::string>& filters, bool multiple);

}  // namespace kbench
