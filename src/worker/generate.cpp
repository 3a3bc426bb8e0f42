// Builds inputs one after the other, hashes and writes them. Never touches a kernel.
#include "worker/generate.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/npy.h"
#include "core/sha256.h"
#include "worker/case_arrays.h"
#include "worker/inputs.h"

namespace kbench {
namespace {

std::string output_path(const Job& job, std::size_t j) {
  const std::string name =
      job.seeds.size() == 1 ? job.save_stem + ".npy" : fmt::format("{}-{}.npy", job.save_stem, j);
  return (std::filesystem::path(job.out) / name).string();
}

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(ExitCode::case_failed, fmt::format("cannot make folder `{}` ({}); choose another",
                                                   folder, error.message()));
  }
}

}  // namespace

void run_generate(Device& device, const Problem& problem, const Job& job, const EventSink& sink,
                  Reply& reply) {
  const Progress progress(job.token, sink,
                          own_code_limit_s(device.info().kind, job.spec, job.seeds.size()));
  require_memory(device, problem, job.spec, 1, Holds::inputs_only);
  make_folder(job.out);
  Buffer<float> input(device, job.spec.batch * job.spec.n * job.spec.n);
  for (std::size_t j = 0; j < job.seeds.size(); ++j) {
    float* const arrays[] = {input.get()};
    build_inputs(device, problem, job.spec, std::span(&job.seeds[j], 1), arrays, progress,
                 reply.inputs);
    progress.own_code("write", static_cast<std::int64_t>(j) + 1);
    const std::vector<float> values = to_host(device, input.get(), input.count());
    InputRecord& record = reply.inputs.back();
    record.sha256 = sha256_hex(values.data(), values.size() * sizeof(float));
    record.path = output_path(job, j);
    write_npy(record.path, {job.spec.batch, job.spec.n, job.spec.n}, values.data());
  }
  reply.device_peak_bytes = input.bytes() + problem.scratch_bytes(job.spec);
}

}  // namespace kbench
