// What a worker is asked to do for one case of a run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/message.h"
#include "runner/options.h"
#include "runner/record.h"
#include "runner/run_cases.h"

namespace kbench {

/// What happens to the cache before a repeat: --flush, or what is usual for the mode.
Flush flush_of(const Options& options);

/// The job of case i. `is_warm`: its place had a job before, so that the warm-up which wakes a
/// device is not asked for again.
Job make_case_job(const Start& start, const RunRecord& record, std::size_t i, std::uint64_t nonce,
                  bool is_warm);

}  // namespace kbench
