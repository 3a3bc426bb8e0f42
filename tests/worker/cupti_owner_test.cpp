// Who holds CUPTI, as far as the environment tells; on a GPU also by asking CUPTI.
#include "worker/cupti_owner.h"

#include "catch.h"
#include "device/device.h"

namespace kbench {
namespace {

const char* no_variable(const char*) { return nullptr; }

TEST_CASE("a variable of a tool is enough to leave CUPTI alone") {
  const CuptiState state = ask_cupti([](const char* name) {
    return std::string(name) == "NV_COMPUTE_PROFILER_PERFWORKS_DIR" ? "/opt/ncu" : nullptr;
  });
  CHECK(state.kind == CuptiState::Kind::held);
  CHECK(state.holder == "Nsight Compute");
  CHECK(state.reason == "`NV_COMPUTE_PROFILER_PERFWORKS_DIR` is set");
}

TEST_CASE("without a device CUPTI is never available, and words say why") {
  if (cuda_device_count(nullptr) > 0) return;
  const CuptiState state = ask_cupti(no_variable);
  CHECK(state.kind == CuptiState::Kind::missing);
  CHECK_FALSE(state.reason.empty());
}

TEST_CASE("without a tool CUPTI is available, twice in a row", "[gpu]") {
  const std::unique_ptr<Device> device = open_cuda_device(0);
  for (int round = 0; round < 2; ++round) {
    const CuptiState state = ask_cupti(no_variable);
    CAPTURE(state.holder, state.reason);
    CHECK(state.kind == CuptiState::Kind::available);
  }
}

}  // namespace
}  // namespace kbench
