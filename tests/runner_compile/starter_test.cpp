// The starting kernels and the examples compile without a warning and solve their problem.
#include "runner/starter.h"

#include <dlfcn.h>

#include <cmath>
#include <random>

#include "catch.h"
#include "core/expect_error.h"
#include "kbench_kernel.h"
#include "runner_compile/support.h"

using namespace kbench;
using namespace kbench::test;

namespace {

constexpr int64_t k_batch = 3, k_n = 17;
constexpr double k_eps = 1.0 / (1 << 23);

/// What a kernel made of random symmetric matrices, in double precision and as
/// [batch][row][column].
struct Solved {
  std::vector<float> a, matrix, vector;

  double in(int64_t b, int64_t i, int64_t j) const {
    return a[static_cast<std::size_t>((b * k_n + i) * k_n + j)];
  }
  /// Entry of the matrix output, which is column-major.
  double out(int64_t b, int64_t i, int64_t j) const {
    return matrix[static_cast<std::size_t>((b * k_n + j) * k_n + i)];
  }
  double value(int64_t b, int64_t i) const { return vector[static_cast<std::size_t>(b * k_n + i)]; }
};

/// Runs the plug-in as the worker does: create, workspace, one call, destroy.
Solved solve(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle != nullptr);
  const auto* kernel = static_cast<const kbench_kernel*>(dlsym(handle, "kbench_kernel_descriptor"));
  REQUIRE(kernel != nullptr);
  REQUIRE(kernel->output_layout == KBENCH_COLUMN_MAJOR);
  const std::size_t count = k_batch * k_n * k_n;
  Solved solved{std::vector<float>(count), std::vector<float>(count, NAN),
                std::vector<float>(k_batch * k_n, NAN)};
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int64_t b = 0; b < k_batch; ++b) {
    for (int64_t i = 0; i < k_n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        const float value = normal(random);
        solved.a[static_cast<std::size_t>((b * k_n + i) * k_n + j)] = value;
        solved.a[static_cast<std::size_t>((b * k_n + j) * k_n + i)] = value;
      }
    }
  }
  kbench_tensor input{solved.a.data(), {k_batch, k_n, k_n, 1}, 3, KBENCH_FLOAT32, KBENCH_ROW_MAJOR};
  kbench_tensor outputs[2] = {input, input};
  outputs[0].data = solved.matrix.data();
  outputs[1].data = solved.vector.data();
  char error[200] = "";
  kbench_call call{&input, outputs,      1, 2,       nullptr, nullptr, 0,
                   error,  sizeof error, 0, nullptr, nullptr};
  void* state = nullptr;
  if (kernel->create != nullptr) REQUIRE(kernel->create(&call, &state) == 0);
  if (kernel->workspace_bytes != nullptr) call.workspace_bytes = kernel->workspace_bytes(state);
  std::vector<float> workspace(call.workspace_bytes / sizeof(float) + 1);
  call.workspace = workspace.data();
  const int code = kernel->custom_kernel(state, &call);
  INFO(error);
  REQUIRE(code == 0);
  if (kernel->destroy != nullptr) kernel->destroy(state);
  return solved;
}

/// Largest |(Q R - A)_ij|, Q applied from its reflectors: Q R = H_1 (... (H_n R)).
double qr_residual(const Solved& s, int64_t b) {
  double worst = 0;
  for (int64_t j = 0; j < k_n; ++j) {
    std::vector<double> column(k_n, 0.0);
    for (int64_t i = 0; i <= j; ++i) column[static_cast<std::size_t>(i)] = s.out(b, i, j);
    for (int64_t k = k_n - 1; k >= 0; --k) {
      double dot = column[static_cast<std::size_t>(k)];
      for (int64_t i = k + 1; i < k_n; ++i)
        dot += s.out(b, i, k) * column[static_cast<std::size_t>(i)];
      dot *= s.value(b, k);
      column[static_cast<std::size_t>(k)] -= dot;
      for (int64_t i = k + 1; i < k_n; ++i)
        column[static_cast<std::size_t>(i)] -= dot * s.out(b, i, k);
    }
    for (int64_t i = 0; i < k_n; ++i) {
      worst = std::max(worst, std::abs(column[static_cast<std::size_t>(i)] - s.in(b, i, j)));
    }
  }
  return worst;
}

/// Largest |(A Q - Q L)_ij|; not a number when L is not ascending.
double eigen_residual(const Solved& s, int64_t b) {
  double worst = 0;
  for (int64_t j = 0; j < k_n; ++j) {
    if (j > 0 && s.value(b, j) < s.value(b, j - 1)) return NAN;
    for (int64_t i = 0; i < k_n; ++i) {
      double sum = -s.out(b, i, j) * s.value(b, j);
      for (int64_t k = 0; k < k_n; ++k) sum += s.in(b, i, k) * s.out(b, k, j);
      worst = std::max(worst, std::abs(sum));
    }
  }
  return worst;
}

void check_solution(const std::string& problem, const std::string& library) {
  const Solved solved = solve(library);
  // Entries are of size 1 and norms of size n: 20 n eps n, as the gate on the norm has it.
  const double limit = 20.0 * k_n * k_eps * k_n;
  for (int64_t b = 0; b < k_batch; ++b) {
    CAPTURE(b);
    CHECK((problem == "qr_v2" ? qr_residual(solved, b) : eigen_residual(solved, b)) < limit);
  }
}

}  // namespace

TEST_CASE("every host starter compiles without a warning and solves its problem") {
  const TempFolder folder;
  for (const char* problem : {"qr_v2", "eigh_py"}) {
    for (const char* extension : {".cpp", ".cc", ".c"}) {
      CAPTURE(problem, extension);
      const std::string source = (folder / (std::string("my-") + problem + extension)).string();
      write_starter(problem, source);
      CompileRequest request = request_for(source, folder / "cache");
      request.extra_flags = {"-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"};
      const CompileResult result = compile(request);
      INFO(result.output);
      REQUIRE(result.ok);
      CHECK(result.output.empty());
      check_solution(problem, result.library);
    }
  }
}

TEST_CASE("the examples in the full form compile without a warning and solve their problem") {
  const TempFolder folder;
  const std::string page = write(folder / "page.cpp", page_example("cpp"));
  for (const std::string& source :
       {std::string(KBENCH_SOURCE_DIR) + "/examples/full/qr_v2.cpp", page}) {
    CAPTURE(source);
    CompileRequest request = request_for(source, folder / "cache");
    request.extra_flags = {"-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"};
    const CompileResult result = compile(request);
    INFO(result.output);
    REQUIRE(result.ok);
    check_solution("qr_v2", result.library);
  }
}

TEST_CASE("a starter is written as the example is") {
  const TempFolder folder;
  for (const char* file :
       {"qr_v2.cu", "qr_v2.cpp", "qr_v2.c", "eigh_py.cu", "eigh_py.cpp", "eigh_py.c"}) {
    CAPTURE(file);
    write_starter(fs::path(file).stem().string(), (folder / file).string());
    const std::string example = read(fs::path(KBENCH_SOURCE_DIR) / "examples/simple" / file);
    CHECK_FALSE(example.empty());
    CHECK(read(folder / file) == example);
  }
}

TEST_CASE("a starter overwrites nothing, not even what a link leads to") {
  const TempFolder folder;
  const std::string mine = write(folder / "mine.cu", "my work\n");
  const Said said = error_of([&] { write_starter("qr_v2", mine); });
  CHECK(said.code == 2);
  CHECK(said.text ==
        "`" + mine + "` exists (nothing is overwritten); choose another name or remove it");
  CHECK(read(mine) == "my work\n");
  fs::create_symlink(folder / "absent.cu", folder / "link.cu");
  CHECK(error_of([&] { write_starter("qr_v2", (folder / "link.cu").string()); }).code == 2);
  CHECK_FALSE(fs::exists(folder / "absent.cu"));
}

TEST_CASE("a starter that cannot be given is refused in words") {
  const TempFolder folder;
  struct Row {
    const char* problem;
    std::string path, text;
  };
  const std::string nowhere = (folder / "nowhere/k.cu").string();
  for (
      const Row& row :
      {Row{"qr_v3", (folder / "k.cu").string(),
           "no starting kernel for problem `qr_v3` (there are `qr_v2`, `eigh_py`); did you mean "
           "`qr_v2`?"},
       Row{"something", (folder / "k.cu").string(),
           "no starting kernel for problem `something` (there are `qr_v2`, `eigh_py`); name one of "
           "these"},
       Row{"qr_v2", nowhere,
           "cannot write `" + nowhere + "` (No such file or directory); choose another place"},
       Row{"qr_v2", "k.py",
           "`k.py` is no kernel source (its extension is `.py`); name a .cu, .cpp, .cc, .cxx or .c "
           "file"}}) {
    const Said said = error_of([&] { write_starter(row.problem, row.path); });
    CHECK(said.code == 2);
    CHECK(said.text == row.text);
    CHECK_FALSE(fs::exists(folder / "k.cu"));
  }
}
