// Two results documents against each other.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runner/comparison.h"
#include "runner/results_file.h"

namespace kbench {

/// What makes the times of two files no comparison of kernels, each as ``driver (`580` and
/// `590`)``: device, driver, clock, flush, mode, warm-up, profiler, inputs. Empty: they can be
/// compared.
std::vector<std::string> differences(const ResultsFile& before, const ResultsFile& after);

/// Those of them that lie in the runs as a whole and not in their cases.
std::vector<std::string> run_differences(const ResultsFile& before, const ResultsFile& after);

/// Throws Error(usage) with what was `found` to differ, or says it on stderr with `force`.
/// `subject` begins the words: ``A` and `B` cannot be compared`.
void require_same(const std::vector<std::string>& found, const std::string& subject, bool force);

/// Cases that both files have, as indices into their lists; a case that stands twice in both is
/// matched in order.
std::vector<std::pair<std::size_t, std::size_t>> matching_cases(const ResultsFile& before,
                                                                const ResultsFile& after);

/// Samples of a measured case: at least one, all of them finite and above 0.
bool are_times(const std::vector<double>& samples_ns);

/// Ratio of the medians. Its interval, of at least `level`, is that of the quotient of two medians
/// that were taken apart: it holds the noise within the runs and not what changed between them.
Ratio ratio_of_runs(const std::vector<double>& before_ns, const std::vector<double>& after_ns,
                    double level);

/// The matching cases as a comparison whose kernels are the files.
ComparisonRecord compare_results(const ResultsFile& before, const ResultsFile& after, double same);

}  // namespace kbench
