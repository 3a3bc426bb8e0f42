// Stands in for world.cpp in a build without MPI: says so.
#include "core/error.h"
#include "runner/mpi/world.h"

namespace kbench {

bool has_mpi() { return false; }

MpiWorld::MpiWorld(double limit_s) : limit_s_(limit_s) {
  throw Error(ExitCode::usage,
              "started by mpirun as one of several ranks, but built without MPI; install "
              "libopenmpi-dev (or another MPI) and build again, or start one kbench alone");
}

MpiWorld::~MpiWorld() = default;

std::vector<std::string> MpiWorld::exchange(const std::string& text) { return {text}; }

}  // namespace kbench
