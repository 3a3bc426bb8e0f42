// Reading clocks through NVML, with a library that plays it.
#include "device/nvml/nvml.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"

using namespace kbench;

namespace {

const std::string k_fake = KBENCH_BINARY_DIR "/tests/device/libfake_nvml.so";

using Values = std::vector<std::pair<std::string, std::string>>;

/// Sets variables for its lifetime.
class Variables {
 public:
  explicit Variables(Values variables) : variables_(std::move(variables)) {
    for (const auto& [name, value] : variables_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : variables_) unsetenv(name.c_str());
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  Values variables_;
};

}  // namespace

TEST_CASE("NVML tells clock, temperature, power and throttle reasons") {
  const Variables variables(Values{{"FAKE_NVML_SM", "1980"},
                                   {"FAKE_NVML_TEMPERATURE", "41"},
                                   {"FAKE_NVML_POWER", "693500"},
                                   {"FAKE_NVML_REASONS", "0x24"}});
  std::string why;
  const auto gpu = nvml::open(k_fake, "GPU-fake", why);
  REQUIRE(gpu != nullptr);
  const ClockState state = gpu->read();
  CHECK(why.empty());
  CHECK(state.sm_mhz == 1980);
  CHECK(state.temperature_c == 41);
  CHECK(state.power_w == 693.5);
  CHECK(state.throttle_reasons == 0x24u);
}

TEST_CASE("a figure that NVML refuses is absent and the others are there") {
  const Variables variables(Values{{"FAKE_NVML_SM", "345"}});
  std::string why;
  const auto gpu = nvml::open(k_fake, "GPU-fake", why);
  REQUIRE(gpu != nullptr);
  const ClockState state = gpu->read();
  CHECK(state.sm_mhz == 345);
  CHECK_FALSE(state.temperature_c);
  CHECK_FALSE(state.power_w);
  CHECK_FALSE(state.throttle_reasons);
}

TEST_CASE("why there is no NVML is said in words") {
  struct Row {
    std::string path, uuid, init, words;
  };
  const std::vector<Row> rows = {
      {"libno-such-nvml.so.1", "GPU-fake", "0",
       "no NVML (`libno-such-nvml.so.1` cannot be loaded)"},
      {"libdl.so.2", "GPU-fake", "0", "no NVML (`libdl.so.2` has no `nvmlInit_v2`)"},
      {k_fake, "GPU-fake", "9", "no NVML (nvmlInit_v2: Driver Not Loaded)"},
      {k_fake, "GPU-other", "0", "no NVML (nvmlDeviceGetHandleByUUID of `GPU-other`: Not Found)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.path, row.uuid, row.init);
    const Variables variables(Values{{"FAKE_NVML_INIT", row.init}});
    std::string why;
    CHECK(nvml::open(row.path, row.uuid, why) == nullptr);
    CHECK(why == row.words);
  }
}

TEST_CASE("NVML is left as often as it was entered") {
  const Variables variables(Values{{"FAKE_NVML_OPEN", "0"}});
  std::string why;
  {
    const auto gpu = nvml::open(k_fake, "GPU-fake", why);
    CHECK(std::string(std::getenv("FAKE_NVML_OPEN")) == "1");
    CHECK(nvml::open(k_fake, "GPU-other", why) == nullptr);
    CHECK(std::string(std::getenv("FAKE_NVML_OPEN")) == "1");
  }
  CHECK(std::string(std::getenv("FAKE_NVML_OPEN")) == "0");
}
