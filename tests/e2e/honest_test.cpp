// Honest kernels are never accused: every kind of matrix, several nonces, both modes.
#include <string>

#include "rows.h"

using namespace kbench::test;

namespace {

constexpr const char* k_qr_cases[] = {"dense", "upper",     "diagonal", "rankdef",       "nearrank",
                                      "band",  "clustered", "rowscale", "nearcollinear", "mixed"};
constexpr const char* k_eigh_cases[] = {"dense",
                                        "spectrum",
                                        "psd",
                                        "rankdef",
                                        "nearrank",
                                        "repeated",
                                        "clustered",
                                        "diagonal",
                                        "band",
                                        "rowscale",
                                        "mixed",
                                        "lapack_zero",
                                        "lapack_identity",
                                        "lapack_diag_even_spectrum",
                                        "lapack_diag_geometric_spectrum",
                                        "lapack_diag_clustered_spectrum",
                                        "lapack_diag_geometric_high_magnitude",
                                        "lapack_diag_geometric_low_magnitude",
                                        "lapack_dense_even_spectrum",
                                        "lapack_dense_geometric_spectrum",
                                        "lapack_dense_clustered_spectrum",
                                        "lapack_dense_even_high_magnitude",
                                        "lapack_dense_even_low_magnitude",
                                        "lapack_random_symmetric",
                                        "lapack_random_symmetric_high_magnitude",
                                        "lapack_random_symmetric_low_magnitude",
                                        "lapack_band_even_spectrum",
                                        "lapack_band_even_high_magnitude",
                                        "lapack_band_even_low_magnitude"};

template <std::size_t N>
std::string all_cases(const char* const (&names)[N], int batch, int n) {
  std::string text;
  for (const char* name : names) {
    text += "batch: " + std::to_string(batch) + "; n: " + std::to_string(n) +
            "; cond: 1; seed: 11; case: " + name + "\n";
  }
  return text;
}

void expect_honest(const char* mode, const std::string& cases, const std::string& problem,
                   const std::string& kernel, const std::string& nonce) {
  const Outcome outcome =
      run_kbench(mode, cases, shipped_kernel(problem, kernel),
                 {"--problem", problem, "--no-warmup", "--repeats", "3", "--nonce", nonce});
  INFO(mode << " " << problem << " " << kernel << " nonce " << nonce << "\n" << outcome.lines);
  CHECK(outcome.status == 0);
  CHECK(outcome.line("check") == "pass");
}

/// Every case with the smallest and the largest nonce, a few with some of the middle.
void expect_honest_kernel(const std::string& kernel, int batch, int n) {
  constexpr const char* k_few_cases[] = {"dense", "clustered", "mixed"};
  const auto expect = [&](const char* mode, const auto& qr_cases, const auto& eigh_cases,
                          const char* nonce) {
    expect_honest(mode, all_cases(qr_cases, batch, n), "qr_v2", kernel, nonce);
    expect_honest(mode, all_cases(eigh_cases, batch, n), "eigh_py", kernel, nonce);
  };
  expect("leaderboard", k_qr_cases, k_eigh_cases, "0");
  expect("benchmark", k_qr_cases, k_eigh_cases, "18446744073709551615");
  for (const char* nonce : {"1", "65537", "11400714819323198485"}) {
    expect("benchmark", k_few_cases, k_few_cases, nonce);
  }
}

}  // namespace

TEST_CASE("the host baselines are right on fresh inputs of every case, whatever the nonce") {
  expect_honest_kernel("lapack", 2, 12);
}

TEST_CASE("honest test plug-ins pass in both modes") {
  for (const char* mode : {"benchmark", "leaderboard"}) {
    for (const char* plugin : {"good_row_major", "good_column_major", "whole_interface"}) {
      expect_pass(mode, plugin);
    }
  }
}

TEST_CASE("the CUDA baselines are right on fresh inputs of every case, whatever the nonce",
          "[gpu]") {
  expect_honest_kernel("cusolver", 3, 32);
}

TEST_CASE("an honest CUDA plug-in passes in both modes", "[gpu]") {
  for (const char* mode : {"benchmark", "leaderboard"}) expect_pass(mode, "probe");
}
