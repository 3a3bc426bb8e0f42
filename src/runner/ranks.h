// Several kbenches that one launcher (mpirun, srun) started as one run: who is there, and the
// connections between them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/link.h"

namespace kbench {

/// What the launcher's environment says of this process, before MPI is touched.
struct LaunchedRank {
  int rank = 0, size = 1;
};
/// Nothing when no launcher is known to have started this process, or it started only this one.
std::optional<LaunchedRank> launched_rank();

/// Another rank, connected.
struct Peer {
  int rank = 0;
  std::string host;
  int turn = 0;              ///< number among the ranks of its machine
  bool same_machine = true;  ///< as rank 0
  Link link;
};

/// The run as one rank sees it.
struct Ranks {
  int rank = 0, size = 1;
  std::string host;         ///< of this rank
  std::vector<Peer> peers;  ///< rank 0: all others, by rank; else only rank 0
};

/// Meets the other ranks through MPI, which has come and gone when this returns, and connects them
/// to rank 0. Throws Error(device) when that takes longer than a minute, Error(usage) without MPI.
Ranks join_ranks();

}  // namespace kbench
