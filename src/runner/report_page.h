// The HTML report.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/spec.h"
#include "runner/results_file.h"

namespace kbench {

/// One page that needs nothing else: no script, no font, no address. Nominal counts that a document
/// does not state come from `problems`. `files` is not empty; `same` is the zone of equal times.
std::string report_page(const std::vector<ResultsFile>& files,
                        std::span<const ProblemInfo* const> problems, double same);

/// Style sheet of the page: light and dark by the reader's choice, narrow screens, print.
std::string_view report_style();

}  // namespace kbench
