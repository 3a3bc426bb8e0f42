// Jobs as the runner would send them, small enough for every test.
#pragma once

#include <filesystem>
#include <string>

#include "core/message.h"

namespace kbench::test {

inline std::string plugin_path(const std::string& name) {
  return std::string(KBENCH_BINARY_DIR) + "/tests/plugins/" + name + ".so";
}

inline std::string kernel_path(const std::string& problem, const std::string& name) {
  return std::string(KBENCH_BINARY_DIR) + "/kernels/" + problem + "/" + name + ".so";
}

inline Setup setup_for(const std::string& kernel,
                       DeviceRequest::Kind device = DeviceRequest::Kind::host) {
  Setup setup;
  setup.token = "setup";
  setup.device.kind = device;
  setup.kernel_path = kernel;
  return setup;
}

inline Job make_job(JobKind kind, const std::string& kernel, const std::string& problem = "qr_v2",
                    std::int64_t batch = 3, std::int64_t n = 8,
                    const std::string& case_name = "dense") {
  Job job;
  job.token = "job";
  job.kind = kind;
  job.kernel_path = kernel;
  job.spec.problem = problem;
  job.spec.batch = batch;
  job.spec.n = n;
  job.spec.cond = 1;
  job.spec.kind = case_name;
  job.seeds = {42};
  job.limits = {200, 1e10};
  job.exact_repeats = 3;
  job.save_stem = "case0";
  if (kind == JobKind::measure) job.seeds = {42, 84};
  return job;
}

/// A fresh folder below the build tree, removed with the object.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name)
      : path_(std::filesystem::path(KBENCH_BINARY_DIR) / "tests" / "scratch" / name) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string path() const { return path_.string(); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace kbench::test
