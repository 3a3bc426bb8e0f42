// Draws or rearranges the inputs of each pass. Knows how a problem renews its inputs; does not know
// kernels, clocks or checks.
#include "worker/repeat_inputs.h"

#include "core/error.h"

namespace kbench {
namespace {

std::int64_t matrix_bytes(const Case& spec) {
  return spec.batch * spec.n * spec.n * std::int64_t{sizeof(float)};
}

}  // namespace

std::uint64_t fresh_seed(std::int64_t case_seed, std::uint64_t nonce, Pass pass,
                         std::int64_t input) {
  std::uint64_t hash = hash_pair(nonce, static_cast<std::uint64_t>(case_seed));
  hash = hash_pair(hash, static_cast<std::uint64_t>(pass.stage));
  hash = hash_pair(hash, static_cast<std::uint64_t>(pass.number));
  return hash_pair(hash, static_cast<std::uint64_t>(input));
}

RepeatInputs::RepeatInputs(Device& device, const Problem& problem, const Job& job,
                           std::span<float* const> originals)
    : device_(device),
      problem_(problem),
      job_(job),
      originals_(originals),
      renewal_(problem.renewal(job.spec)),
      drawn_from_(job.seeds) {
  mode_ = !job.fresh_inputs ? "off" : renewal_ == Renewal::fixed ? "fixed" : "on";
  if (mode_ == "on" && renewal_ == Renewal::moved) {
    staging_ = Buffer<float>(device, job.spec.batch * job.spec.n * job.spec.n);
  }
}

double RepeatInputs::bytes(const Problem& problem, const Job& job) {
  if (!job.fresh_inputs || problem.renewal(job.spec) != Renewal::moved) return 0;
  const double size = static_cast<double>(job.spec.n);
  const double staging = 4.0 * static_cast<double>(job.spec.batch) * size * size;
  return staging +
         static_cast<double>(job.seeds.size()) * Arrangement::bytes(job.spec.batch, job.spec.n);
}

bool RepeatInputs::are_fresh(Pass pass) const {
  if (mode_ != "on" || pass.stage == Stage::published) return false;
  return pass.stage != Stage::timed || pass.number > 1;
}

void RepeatInputs::choose(Pass pass) {
  staged_ = -1;
  arrangements_.clear();
  const bool fresh = are_fresh(pass);
  if (!fresh) return draw_published();
  // A user's own matrices cannot be drawn anew.
  const bool anew = pass.anew && job_.spec.input_path.empty();
  if (renewal_ == Renewal::drawn || (renewal_ == Renewal::moved && anew)) return draw_all(pass);
  if (renewal_ == Renewal::moved) arrange_all(pass);
}

void RepeatInputs::draw_all(Pass pass) {
  for (std::size_t j = 0; j < originals_.size(); ++j) {
    // A seed has 63 bits.
    const std::uint64_t drawn =
        fresh_seed(job_.spec.seed, job_.nonce, pass, static_cast<std::int64_t>(j)) >> 1;
    drawn_from_[j] = static_cast<std::int64_t>(drawn);
    problem_.generate(device_, job_.spec, drawn_from_[j], originals_[j]);
  }
}

void RepeatInputs::draw_published() {
  if (drawn_from_ == job_.seeds) return;
  drawn_from_ = job_.seeds;
  for (std::size_t j = 0; j < originals_.size(); ++j) {
    problem_.generate(device_, job_.spec, drawn_from_[j], originals_[j]);
  }
}

void RepeatInputs::arrange_all(Pass pass) {
  for (std::size_t j = 0; j < originals_.size(); ++j) {
    const std::uint64_t fresh =
        fresh_seed(job_.spec.seed, job_.nonce, pass, static_cast<std::int64_t>(j));
    arrangements_.push_back(problem_.arrange(device_, job_.spec, drawn_from_[j], fresh));
  }
}

void RepeatInputs::write(std::int64_t j, float* out) const {
  const auto index = static_cast<std::size_t>(j);
  if (arrangements_.empty()) {
    device_.copy(out, originals_[index], matrix_bytes(job_.spec));
  } else {
    arrangements_[index].apply(originals_[index], out);
  }
}

const float* RepeatInputs::reference(std::int64_t j) {
  const auto index = static_cast<std::size_t>(j);
  if (arrangements_.empty()) return originals_[index];
  if (staged_ != j) arrangements_[index].apply(originals_[index], staging_.get());
  staged_ = j;
  return staging_.get();
}

}  // namespace kbench
