// A worker that does what the case's name says, and a table of problems that have such cases.
#pragma once

#include <span>

#include "core/message.h"
#include "core/spec.h"

/// The kernel's behaviour is the case name: `dense` passes, `segv` dies, `hang` never returns, ...
/// Environment: FAKE_LOG is a file that every set-up and job is appended to, FAKE_FIFO a fifo that
/// takes the process ids of cases that wait, FAKE_HELLO what is wrong with the set-up.
/// FAKE_REMOVES is a folder that the case `removes` removes.
/// FAKE_UUID is the start of every device's UUID, FAKE_BROKEN a folder of marks of broken devices.
/// A CUDA device asked for by name is there and has the compute capability 8.6.
int fake_serve(int socket);

std::span<const kbench::ProblemInfo* const> fake_problems();

/// 1 KiB an input and matrix.
double fake_memory(const kbench::Job& job);
