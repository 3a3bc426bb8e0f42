// Jobs that look at what the device does: repeats under a tracer.
#pragma once

#include "core/message.h"
#include "device/device.h"
#include "kbench_kernel.h"
#include "problems/problem.h"
#include "worker/case_run.h"
#include "worker/events.h"
#include "worker/tracer.h"

namespace kbench {

/// Runs a trace job: a checked pass; two windows of repeats without a tracer, then, with the case
/// set up anew, two with one. The first window of each is discarded, and so is the first repeat of
/// every window. Fills reply.trace and, where that is asked for, writes the Chrome trace. Throws as
/// run_kernel_job does, and Error(case_failed) when nothing can be traced or the trace is invalid.
void run_trace_job(Device& device, const Problem& problem, const kbench_kernel& kernel,
                   const Job& job, const EventSink& sink, Reply& reply, const OpenTracer& open);

/// One traced repeat of a case that has been measured, flushed as the job says: how long of its
/// event time something ran. Not judged. Throws Error(case_failed) when it cannot be told.
IdleTime trace_idle_time(CaseRun& run, std::int64_t repeat, const OpenTracer& open);

}  // namespace kbench
