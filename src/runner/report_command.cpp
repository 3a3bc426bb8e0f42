// `kbench report`: results documents in, one page of HTML out, or their tables. Starts nothing.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <system_error>

#include "core/text.h"
#include "runner/commands.h"
#include "runner/document_file.h"
#include "runner/report.h"
#include "runner/report_page.h"
#include "runner/results_file.h"
#include "runner/resume.h"

namespace kbench {
namespace {

/// A former run as a record, as far as a table shows it.
RunRecord record_of(const Resume& former) {
  const ResultsFile& file = former.file;
  RunRecord record;
  record.mode = find_mode(file.mode);
  record.device = file.device;
  record.warm_up = file.warm_up;
  record.baseline = file.baseline;
  record.cases = former.cases;
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    record.cases[i].over_baseline = file.cases[i].over_baseline;
    record.cases[i].repeatable = false;  // the words say already how to reproduce it
  }
  return record;
}

/// What the run showed when it was made, in the width of this terminal.
void print_table(const std::string& path, const TextStyle& style,
                 const std::function<bool()>& cancelled) {
  const Resume former = read_resume(path, cancelled);
  const RunRecord record = record_of(former);
  if (record.mode == nullptr) {
    throw Error(ExitCode::usage,
                fmt::format("`{}` has no table (its mode is `{}`); give `-o PAGE.html` for a page",
                            to_one_line(path), to_one_line(former.file.mode)));
  }
  const TableLayout layout = table_layout(record, style);
  std::string text =
      fmt::format("{} (kbench {}, {})\n", to_one_line(path),
                  to_one_line(former.file.kbench_version), to_one_line(former.file.started));
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    text += table_heading(record, i, layout) + table_row(record, i, layout);
  }
  text += table_footer(record, layout);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

ExitCode report(const Options& options, Problems problems, Watch& watch) {
  const auto cancelled = [&watch] { return watch.must_stop(); };
  if (options.out.empty()) {
    const TextStyle style = text_style(STDOUT_FILENO, options.color);
    for (const std::string& path : options.words) print_table(path, style, cancelled);
    return ExitCode::ok;
  }
  std::vector<ResultsFile> files;
  for (const std::string& path : options.words) {
    files.push_back(read_results(path, cancelled));
    std::error_code absent;
    if (!std::filesystem::equivalent(path, options.out, absent)) continue;
    throw Error(ExitCode::usage,
                fmt::format("cannot write the report to `{}` (it is one of the results); give "
                            "`--out` another path",
                            to_one_line(options.out)));
  }
  const DocumentFile file("--out", options.out);
  file.save(report_page(files, problems, options.same));
  std::printf("%s\n", to_one_line(options.out).c_str());
  return ExitCode::ok;
}

}  // namespace kbench
