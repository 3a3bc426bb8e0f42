// The readable table on stdout: one line a case, printed as the case ends, whatever text a kernel
// or a spec line brings. Knows no descriptor but stdout.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/text.h"
#include "runner/report.h"

namespace kbench {
namespace {

struct Unit {
  double ns;
  const char* name;
};

Unit unit_of(double ns) {
  constexpr Unit k_units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
  for (const Unit& unit : k_units) {
    if (std::abs(ns) >= unit.ns) return unit;
  }
  return {1, "ns"};
}

/// Characters, not bytes, of valid UTF-8.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string pad(std::string text, std::size_t width) {
  const std::size_t have = width_of(text);
  if (have < width) text.append(width - have, ' ');
  return text;
}

std::string pad_left(const std::string& text, std::size_t width) {
  const std::size_t have = width_of(text);
  return have < width ? std::string(width - have, ' ') + text : text;
}

std::string spec_text(const CaseRecord& row) { return shorten(to_one_line(row.spec.spec), 72); }

/// Columns that stand in front of every row and have one width for the whole run.
std::string lead(const RunRecord& record, const std::string& number, const std::string& problem,
                 const std::string& spec) {
  std::size_t spec_width = 4;
  std::size_t problem_width = 7;
  for (const CaseRecord& row : record.cases) {
    spec_width = std::max(spec_width, width_of(spec_text(row)));
    problem_width = std::max(problem_width, row.spec.problem.size());
  }
  const std::size_t number_width = std::to_string(record.cases.size()).size() + 1;
  std::string text = pad_left(number, number_width) + "  ";
  if (record.several_problems()) text += pad(problem, problem_width) + "  ";
  return text + pad(spec, spec_width) + "  ";
}

std::string heading_columns(const RunRecord& record) {
  if (!record.mode->measures) return "result";
  return pad("mean ± err", 22) + pad_left("best", 11) + pad_left("runs", 7) +
         pad_left("residual/gate", 15);
}

class TableReporter : public Reporter {
 public:
  void begin(const RunRecord& record) override {
    if (!record.profiler.empty()) put(fmt::format("profiler: {}\n", record.profiler));
    if (!record.not_comparable.empty()) {
      put(fmt::format("not comparable: {}\n", to_one_line(record.not_comparable)));
    }
  }
  void case_ended(const RunRecord& record, std::size_t i) override {
    put(table_heading(record, i) + table_row(record, i));
  }
  void end(const RunRecord& record) override { put(table_footer(record)); }

 private:
  static void put(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
};

}  // namespace

std::string format_time(double ns) {
  const Unit unit = unit_of(ns);
  return fmt::format("{:.4g} {}", ns / unit.ns, unit.name);
}

std::string format_mean(double mean_ns, double err_ns) {
  const Unit unit = unit_of(mean_ns);
  return fmt::format("{:.4g} {} ± {:.2g} {}", mean_ns / unit.ns, unit.name, err_ns / unit.ns,
                     unit.name);
}

std::string table_heading(const RunRecord& record, std::size_t i) {
  const CaseRecord& row = record.cases[i];
  std::string text;
  if (i == 0 || record.cases[i - 1].spec.problem != row.spec.problem) {
    text += fmt::format("{}{}: kernel {}", i == 0 ? "" : "\n", row.spec.problem,
                        row.kernel.name.empty() ? "unknown" : to_one_line(row.kernel.name));
    if (record.device) {
      text += fmt::format(", device {} ({}), clock {}",
                          record.device->kind == DeviceKind::cuda
                              ? fmt::format("cuda:{}", record.device->index)
                              : "host",
                          to_one_line(record.device->name), to_one_line(record.device->clock));
    }
    text += '\n';
    text += lead(record, "#", "problem", "spec") + heading_columns(record) + '\n';
  }
  return text;
}

std::string table_row(const RunRecord& record, std::size_t i) {
  const CaseRecord& row = record.cases[i];
  std::string text = lead(record, std::to_string(i), row.spec.problem, spec_text(row));
  if (!row.passed) return text + "FAIL  " + to_one_line(failure_text(row)) + '\n';
  if (!row.summary) return text + "pass  " + to_one_line(row.reply.message) + '\n';
  const Summary& s = *row.summary;
  text += pad(format_mean(s.mean, s.err), 22) + pad_left(format_time(s.best), 11) +
          pad_left(std::to_string(s.runs), 7) +
          pad_left(fmt::format("{:.3g}", row.reply.worst_of_gate), 15);
  return text + '\n';
}

std::string table_footer(const RunRecord& record) {
  std::string text;
  for (const std::string& problem : problem_names(record)) {
    const std::optional<double> mean = problem_geometric_mean(record, problem);
    if (mean && std::isfinite(*mean)) {
      text += fmt::format("geometric mean of {}: {}\n", problem, format_time(*mean));
    }
  }
  const auto failed = std::count_if(record.cases.begin(), record.cases.end(),
                                    [](const CaseRecord& row) { return !row.passed; });
  text += fmt::format("{} passed, {} failed\n",
                      static_cast<std::ptrdiff_t>(record.cases.size()) - failed, failed);
  return text;
}

std::unique_ptr<Reporter> make_table_reporter() { return std::make_unique<TableReporter>(); }

}  // namespace kbench
