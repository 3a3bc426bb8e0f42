// Calls the functions of a plug-in's descriptor. Knows the ABI and how plug-ins fail; does not know
// problems, checks or timing.
#include "worker/kernel_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "worker/kernel_plugin.h"

namespace kbench {
namespace {

constexpr std::size_t k_max_text = 1000;

/// Text of a plug-in: it may lack its NUL, hold invalid UTF-8 and be of any length.
std::string bounded(const char* text, std::size_t size) {
  const char* end = std::find(text, text + size, '\0');
  return shorten(to_valid_utf8(std::string_view(text, static_cast<std::size_t>(end - text))),
                 k_max_text);
}

}  // namespace

KernelSession::KernelSession(Device& device, const kbench_kernel& kernel, const Progress& progress,
                             double limit_s)
    : device_(device),
      kernel_(kernel),
      progress_(progress),
      limit_s_(limit_s),
      on_host_(device_kind(kernel) == DeviceKind::host) {}

KernelSession::~KernelSession() {
  if (!created_ || abandoned_ || kernel_.destroy == nullptr) return;
  try {
    progress_.plugin_code("destroy", 0, limit_s_, "destroy");
  } catch (const std::exception&) {
    // The runner is gone; the state is released all the same.
  }
  contain([&] {
    kernel_.destroy(state_);
    return 0;
  });
  environment_.restore();
  try {
    progress_.own_code("destroyed");
  } catch (const std::exception&) {
    // As above.
  }
}

template <class Function>
void KernelSession::run_untimed(const char* what, Function function) {
  progress_.plugin_code(what, 0, limit_s_, what);
  expect_calls();
  const bool succeeded = contain(function);
  environment_.restore();
  if (!succeeded) throw_failure(what);
  try {
    device_.check_launch();
    device_.synchronize();
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("{} failed on the device ({})", what, error.what()),
                      error.sticky());
  }
}

void KernelSession::create(const kbench_call& shapes) {
  created_ = kernel_.create == nullptr;
  if (created_) return;
  run_untimed("create", [&] {
    const int code = kernel_.create(&shapes, &state_);
    created_ = code == 0;
    return code;
  });
}

std::int64_t KernelSession::workspace_bytes() {
  std::uint64_t bytes = 0;
  if (kernel_.workspace_bytes == nullptr) return 0;
  run_untimed("workspace_bytes", [&] {
    bytes = kernel_.workspace_bytes(state_);
    return 0;
  });
  if (bytes > std::uint64_t{1} << 60) {
    throw Error(ExitCode::case_failed,
                fmt::format("workspace_bytes answered {} (more than any device has)", bytes));
  }
  return static_cast<std::int64_t>(bytes);
}

void KernelSession::prepare(std::span<const kbench_call> calls) {
  if (kernel_.prepare == nullptr) return;
  run_untimed("prepare", [&] {
    return kernel_.prepare(state_, calls.data(), static_cast<std::int32_t>(calls.size()));
  });
}

void KernelSession::throw_failure(const std::string& what) {
  const std::string said = bounded(error_.data(), error_.size());
  std::string text = threw_ ? fmt::format("{} threw an exception: {}", what,
                                          bounded(exception_.c_str(), exception_.size()))
                            : fmt::format("{} failed (code {})", what, code_);
  if (!threw_ && !said.empty()) text += ": " + said;
  threw_ = false;
  // A launch error that stays behind would be charged to the next case.
  try {
    device_.check_launch();
    device_.synchronize();
  } catch (const DeviceError& error) {
    throw DeviceError(fmt::format("{} ({})", text, error.what()), error.sticky());
  }
  throw Error(ExitCode::case_failed, text);
}

std::string KernelSession::report() {
  if (kernel_.report == nullptr) return "";
  std::array<char, 1024> text{};
  progress_.plugin_code("report", 0, limit_s_, "report");
  expect_calls();
  const bool succeeded = contain(
      [&] { return kernel_.report(state_, text.data(), static_cast<std::uint32_t>(text.size())); });
  environment_.restore();
  if (!succeeded) throw_failure("report");
  return bounded(text.data(), text.size());
}

}  // namespace kbench
