// `kbench compare old.json new.json`: reads two results documents, refuses what is no comparison,
// and prints the rest. Starts nothing.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "core/text.h"
#include "runner/commands.h"
#include "runner/compare_files.h"
#include "runner/document_file.h"
#include "runner/say.h"

namespace kbench {
namespace {

void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

ExitCode compare_files(const Options& options, Watch& watch) {
  const auto cancelled = [&watch] { return watch.must_stop(); };
  const ResultsFile before = read_results(options.words[0], cancelled);
  const ResultsFile after = read_results(options.words[1], cancelled);
  for (const ResultsFile* file : {&before, &after}) {
    if (file->finished) continue;
    say(fmt::format("`{}` is of a run that did not come to its end; only what it has is compared",
                    to_one_line(file->path)));
  }
  require_same(differences(before, after),
               fmt::format("`{}` and `{}` cannot be compared", to_one_line(before.path),
                           to_one_line(after.path)),
               options.force);
  ComparisonRecord record = compare_results(before, after, options.same);
  if (record.cases.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("`{}` and `{}` have no case in common; name runs of the same cases",
                            to_one_line(before.path), to_one_line(after.path)));
  }
  record.fail_if_slower = options.fail_if_slower;
  record.command_line = options.command_line;
  record.started = utc_now();
  std::optional<DocumentFile> json;
  for (const std::string& read : options.words) {
    require_other_file("--json", options.json, read, "results document");
  }
  if (!options.json.empty()) json.emplace("--json", options.json);
  std::vector<Case> cases;
  for (const ComparedCase& row : record.cases) cases.push_back(row.spec);
  const ComparisonLayout layout =
      comparison_layout(cases, text_style(STDOUT_FILENO, options.color));
  put(comparison_heading(record, layout));
  for (std::size_t i = 0; i < record.cases.size(); ++i) put(comparison_row(record, i, layout));
  put(comparison_footer(record, layout));
  // The runs have their own exit codes; here only what was asked about fails.
  record.exit_code = options.fail_if_slower ? comparison_exit_code(record) : ExitCode::ok;
  const bool saved = !json || json->try_save(comparison_document(record));
  return !saved && record.exit_code == ExitCode::ok ? ExitCode::usage : record.exit_code;
}

}  // namespace kbench
