// The part of MPI that kbench needs: who else was started, and one exchange of texts. world.cpp
// with an MPI library, world_stub.cpp without.
#pragma once

#include <string>
#include <vector>

namespace kbench {

/// MPI from its start to its end, within one object's life. Everything after that is said over
/// sockets: no MPI library tells of a rank that died, and none should compute while a kernel is
/// measured. Whoever is kept waiting for `limit_s` seconds says so and leaves with exit code 110.
class MpiWorld {
 public:
  explicit MpiWorld(double limit_s);
  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Gives `text` to all ranks and gets theirs, in the order of the ranks. At most 4000 bytes.
  std::vector<std::string> exchange(const std::string& text);

 private:
  double limit_s_;
  int rank_ = 0, size_ = 1;
};

/// False in a build without MPI: MpiWorld then throws Error(usage).
bool has_mpi();

}  // namespace kbench
