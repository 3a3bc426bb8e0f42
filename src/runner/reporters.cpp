// The visible table of reporters. Knows which option asks for which output and nothing of their
// form.
#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "core/text.h"
#include "runner/report.h"

namespace kbench {
namespace {

/// Results must not replace what the run reads. Throws Error(usage).
void require_other_file(const std::string& json, const std::string& read, const char* what) {
  std::error_code absent;
  if (read.empty() || !std::filesystem::equivalent(json, read, absent)) return;
  throw Error(ExitCode::usage, fmt::format("cannot write the results to `{}` (it is the {}); give "
                                           "`--json` another path",
                                           to_one_line(json), what));
}

struct Row {
  const char* name;
  /// Null when the options do not ask for this output.
  std::unique_ptr<Reporter> (*make)(const Options& options, std::optional<Fd>& popcorn);
};

constexpr Row k_reporters[] = {
    {"popcorn",
     [](const Options&, std::optional<Fd>& popcorn) {
       return popcorn ? make_popcorn_reporter(std::move(*popcorn)) : nullptr;
     }},
    {"table",
     [](const Options& options, std::optional<Fd>&) { return make_table_reporter(options.color); }},
    {"json",
     [](const Options& options, std::optional<Fd>&) {
       if (options.json.empty()) return std::unique_ptr<Reporter>();
       require_other_file(options.json, options.file, "case file");
       require_other_file(options.json, options.input, "input");
       require_other_file(options.json, options.kernel, "kernel");
       return make_json_reporter(options.json);
     }},
};

}  // namespace

std::vector<std::unique_ptr<Reporter>> make_reporters(const Options& options,
                                                      std::optional<Fd> popcorn) {
  std::vector<std::unique_ptr<Reporter>> reporters;
  for (const Row& row : k_reporters) {
    if (auto reporter = row.make(options, popcorn)) reporters.push_back(std::move(reporter));
  }
  return reporters;
}

}  // namespace kbench
