// The figures of a measured case as the cells of the readable table.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runner/record.h"
#include "runner/terminal.h"

namespace kbench {

struct Column {
  std::string_view name;
  std::size_t width;
};

/// Columns of a measured case, in order, the last one only with a baseline. Cells may be wider in
/// rare cases and are never cut.
std::span<const Column> figure_columns(bool baseline = false);
std::vector<std::string> figure_cells(const CaseRecord& row, const TextStyle& style,
                                      bool baseline = false);

/// Cells, or the names of the columns, right-aligned in their columns.
std::vector<std::string> in_columns(std::vector<std::string> cells);
/// Characters of all figure columns in one line.
std::size_t figure_width(bool baseline = false);

}  // namespace kbench
