// The need of a job by the same sum that refuses one that does not fit. Opens no device.
#include "worker/job_memory.h"

#include "problems/problem.h"
#include "worker/case_arrays.h"
#include "worker/repeat_inputs.h"

namespace kbench {

double job_memory(const Job& job) {
  const Problem* problem = find_problem(job.spec.problem);
  if (problem == nullptr || problem->info().free_form) return 0;
  const bool measures = job.kind == JobKind::measure;
  const double extra = measures ? RepeatInputs::bytes(*problem, job) : 0;
  return needed_bytes(*problem, job.spec, static_cast<std::int64_t>(job.seeds.size()),
                      measures ? Holds::calls_and_snapshot : Holds::calls, extra) +
         static_cast<double>(problem->scratch_bytes(job.spec));
}

}  // namespace kbench
