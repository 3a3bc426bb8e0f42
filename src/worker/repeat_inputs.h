// Which matrices a repeat sees: the published ones, or others of the same kind that no earlier
// repeat has seen.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/message.h"
#include "device/device.h"
#include "problems/problem.h"

namespace kbench {

/// What a pass over the calls of a case is for. There are two kinds of audit repeat: one that shows
/// each input during its own call alone, and one, cut, that ends before its last call.
enum class Stage { published, warm_up, checked, timed, audit, cut_audit, queued };

/// A pass and its number in its stage, from 1. Passes of another stage or number see other inputs.
struct Pass {
  Stage stage = Stage::published;
  std::int64_t number = 1;
  /// Where other passes see rearrangements of the published matrices: matrices that are none.
  bool anew = false;
};

/// The name of one input of one pass: a hash of all that it depends on, never a progression.
std::uint64_t fresh_seed(std::int64_t case_seed, std::uint64_t nonce, Pass pass,
                         std::int64_t input);

/// Inputs of a job, pass by pass. With Job::fresh_inputs only the first timed repeat sees the
/// published inputs; without it, or where a case has one input only, every pass does.
class RepeatInputs {
 public:
  /// `originals`: one array [batch, n, n] a seed, holding the published inputs. They are written
  /// over where it is cheap to draw them again. Allocates `bytes` - at most one staging batch.
  RepeatInputs(Device& device, const Problem& problem, const Job& job,
               std::span<float* const> originals);

  /// Device bytes that a job needs beside its published inputs.
  static double bytes(const Problem& problem, const Job& job);

  /// `on`, `off` or `fixed`.
  std::string_view mode() const { return mode_; }
  /// True when the inputs of `pass` are not the published ones.
  bool are_fresh(Pass pass) const;

  /// From here on the inputs are those of `pass`. Enqueues, and may wait.
  void choose(Pass pass);
  /// Enqueues input j of the chosen pass into `out`. Allocates and waits for nothing.
  void write(std::int64_t j, float* out) const;
  /// Input j of the chosen pass, out of the kernel's reach; valid until the next call. Enqueues.
  const float* reference(std::int64_t j);

 private:
  void draw_all(Pass pass);
  void draw_published();
  void arrange_all(Pass pass);

  Device& device_;
  const Problem& problem_;
  const Job& job_;
  std::span<float* const> originals_;
  Renewal renewal_;
  std::string_view mode_;
  std::vector<std::int64_t> drawn_from_;   // the seeds of what the originals hold
  std::vector<Arrangement> arrangements_;  // of the chosen pass; empty: the originals as they are
  Buffer<float> staging_;
  std::int64_t staged_ = -1;  // which input it holds
};

}  // namespace kbench
