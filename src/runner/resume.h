// `--resume`: cases that a former results document holds as measured.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "runner/record.h"
#include "runner/results_file.h"

namespace kbench {

/// A former run, read before the present one writes anything.
struct Resume {
  ResultsFile file;
  std::vector<CaseRecord> cases;  ///< as in the document
};

/// Throws Error(usage) naming the file where it is no results document.
Resume read_resume(const std::string& path, const std::function<bool()>& cancelled);

/// A run as the document that it would write now.
ResultsFile as_results(const RunRecord& record);

/// SHA-256 of the file at `path`; empty when it cannot be read.
std::string file_sha256(const std::string& path);

/// Everything in which the two runs differ and the figures of one are none of the other, in words.
/// `present` has its device and the kernel of each case, and no result; `launch` and `fresh` are
/// what its cases are measured with.
std::vector<std::string> resume_differences(const Resume& former, const RunRecord& present,
                                            Launch launch, bool fresh);

/// Throws Error when `present` is no continuation of the former run: usage with all differences, or
/// case_failed where it has no device or `kernel_error` says why it has no kernel.
void require_resumable(const Resume& former, const RunRecord& present, Launch launch, bool fresh,
                       const std::string& kernel_error);

/// Gives `record` the result of every case of it that the former run measured, as ended and with
/// `resumed_from`. Returns their indices.
std::vector<std::size_t> take_over(const Resume& former, RunRecord& record);

}  // namespace kbench
