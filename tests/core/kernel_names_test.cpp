// Names of GPU functions: what is read out of them and what a filter selects.
#include "core/kernel_names.h"

#include "catch.h"
#include "core/error.h"

namespace kbench {
namespace {

TraceFigures kernels(const std::vector<std::string>& names) {
  TraceFigures figures;
  for (const std::string& name : names) {
    KernelFigures kernel;
    kernel.name = name;
    kernel.total_ns = 10;
    figures.kernels.push_back(kernel);
  }
  KernelFigures copy;
  copy.name = "memcpy DtoD";
  copy.kind = ActivityKind::memcpy;
  figures.kernels.push_back(copy);
  return figures;
}

std::vector<std::string> names_of(const TraceFigures& figures) {
  std::vector<std::string> names;
  for (const KernelFigures& kernel : figures.kernels) names.push_back(kernel.name);
  return names;
}

TEST_CASE("mangled names are demangled, and others are left as they are") {
  CHECK(demangle("_Z5scaleIfEvPT_i") == "void scale<float>(float*, int)");
  CHECK(demangle("f") == "f");
  CHECK(demangle("ampere_sgemm_32x32_tn") == "ampere_sgemm_32x32_tn");
  CHECK(demangle("_Zbroken") == "_Zbroken");
  CHECK(demangle("\xff") == "\xef\xbf\xbd");
}

TEST_CASE("a function's own name is found whatever surrounds it") {
  struct Row {
    std::string demangled, bare, in_short;
  };
  const std::vector<Row> rows = {
      {"ampere_sgemm_32x32_tn", "ampere_sgemm_32x32_tn", "ampere_sgemm_32x32_tn"},
      {"factor(float const*, float*)", "factor", "factor"},
      {"void scale<float>(float*, int)", "scale", "scale<...>"},
      {"void a::b::scale<a::c<4, (bool)1>, 2>(a::c<4, (bool)1>*)", "scale", "a::b::scale<...>"},
      {"void a::b<int>::run<2>(int)", "run", "a::b<...>::run<...>"},
      {"(anonymous namespace)::panel(float*)", "panel", "(anonymous namespace)::panel"},
      {"void kbench::(anonymous namespace)::panel<8>(float (*) [4])", "panel",
       "kbench::(anonymous namespace)::panel<...>"},
      {"a::f::operator()(int)", "operator()", "a::f::operator()"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.demangled);
    CHECK(bare_name(row.demangled) == row.bare);
    CHECK(short_name(row.demangled, 80) == row.in_short);
  }
  CHECK(short_name("void a::b::scale<float>(int)", 12) == "a::b::sca...");
}

TEST_CASE("a filter is text or an expression, on the whole name and on the bare one") {
  const std::vector<std::string> seen = {"void gemm<float>(float*)", "void gemm_big<float>(float*)",
                                         "panel(float*, int)"};
  struct Row {
    std::vector<std::string> filters;
    std::vector<std::string> selected;
  };
  const std::vector<Row> rows = {
      {{}, seen},
      {{"panel"}, {seen[2]}},
      {{"panel(float*"}, {seen[2]}},
      {{"^gemm$"}, {seen[0]}},
      {{"gemm<float>"}, {seen[0]}},
      {{"gemm_.ig", "anel"}, {seen[1], seen[2]}},
  };
  for (const Row& row : rows) {
    TraceFigures figures = kernels(seen);
    select_kernels(figures, row.filters, false);
    std::vector<std::string> expected = row.selected;
    expected.push_back("memcpy DtoD");
    CHECK(names_of(figures) == expected);
    CHECK(figures.other_names == static_cast<std::int64_t>(seen.size() - row.selected.size()));
    CHECK(figures.other_ns == 10.0 * static_cast<double>(figures.other_names));
  }
}

TEST_CASE("a filter must select one kernel, and several only where that is asked for") {
  const std::vector<std::string> seen = {"gemm_small(int)", "gemm_big(int)", "panel(int)"};
  const auto message = [&](const std::string& filter) -> std::string {
    TraceFigures figures = kernels(seen);
    try {
      select_kernels(figures, {filter}, false);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message("gemm") ==
        "`--name gemm` selects 2 kernels (`gemm_small(int)`, `gemm_big(int)`); name one of them, "
        "or add `--multiple`");
  CHECK(message("memcpy") ==
        "`--name memcpy` selects no kernel (seen: `gemm_small(int)`, `gemm_big(int)`, "
        "`panel(int)`); name one of these");
  TraceFigures figures = kernels(seen);
  select_kernels(figures, {"gemm"}, true);
  CHECK(names_of(figures) ==
        std::vector<std::string>{"gemm_small(int)", "gemm_big(int)", "memcpy DtoD"});
}

TEST_CASE("a message lists no more names than a person reads") {
  std::vector<std::string> seen;
  for (int i = 0; i < 30; ++i) seen.push_back("kernel_" + std::to_string(i));
  TraceFigures figures = kernels(seen);
  try {
    select_kernels(figures, {"absent"}, false);
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    const std::string text = error.what();
    CHECK(text.find("`kernel_19` and 10 more") != std::string::npos);
  }
}

}  // namespace
}  // namespace kbench
