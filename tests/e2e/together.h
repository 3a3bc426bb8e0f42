// What every run of `--together` has to show, whatever its workers are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "catch.h"

namespace kbench::test {

/// Every worker made `repeats` of them, none began one before all had begun the one before, and the
/// skew of each is that of its starts.
inline void expect_together(const nlohmann::json& row, std::size_t workers, std::size_t repeats) {
  CHECK(row["status"] == "pass");
  CHECK(row["comparable"] == false);
  const nlohmann::json& together = row["together"];
  REQUIRE(together["workers"].size() == workers);
  REQUIRE(row["samples_ns"].size() == repeats);
  std::int64_t before_ns = 0;
  for (std::size_t k = 0; k < repeats; ++k) {
    std::int64_t first_ns = INT64_MAX, last_ns = 0;
    double slowest_ns = 0;
    for (const nlohmann::json& worker : together["workers"]) {
      const auto after_ns = worker["starts_ns"][k][0].get<std::int64_t>();
      CHECK(worker["starts_ns"][k][1].get<std::int64_t>() >= after_ns);
      first_ns = std::min(first_ns, after_ns);
      last_ns = std::max(last_ns, worker["starts_ns"][k][1].get<std::int64_t>());
      slowest_ns = std::max(slowest_ns, worker["samples_ns"][k].get<double>());
    }
    CHECK(first_ns > before_ns);
    before_ns = last_ns;
    CHECK(row["samples_ns"][k] == slowest_ns);
    const double skew_ns = together["start_skew"]["samples_ns"][k];
    CHECK(skew_ns >= 0);
    CHECK(skew_ns <= static_cast<double>(last_ns - first_ns));
    CHECK(together["start_skew"]["uncertainty_ns"][k].get<double>() >= 0);
  }
}

}  // namespace kbench::test
