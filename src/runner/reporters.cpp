// The visible table of reporters. Knows which option asks for which output and nothing of their
// form.
#include <fmt/core.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "core/text.h"
#include "runner/document_file.h"
#include "runner/progress.h"
#include "runner/report.h"

namespace kbench {
namespace {

std::unique_ptr<Reporter> document(const Options& options, const std::string& flag,
                                   const std::string& path, Document text) {
  if (path.empty()) return nullptr;
  require_other_file(flag, path, options.file, "case file");
  require_other_file(flag, path, options.input, "input");
  require_other_file(flag, path, options.kernel, "kernel");
  // --json may continue them in place.
  if (flag != "--json") require_other_file(flag, path, options.resume, "results to resume");
  require_other_file(flag, path, options.baseline, "baseline");
  return make_document_reporter(flag, path, text);
}

/// True when both lead to one file, which may not be there yet.
bool name_one_file(const std::string& path, const std::string& other) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return std::filesystem::equivalent(path, other, error) &&
           std::filesystem::is_regular_file(path, error);
  }
  const auto full = [&error](const std::string& name) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(name, error), error);
  };
  return full(path) == full(other);
}

/// Two outputs in one file would overwrite each other.
void require_different_files(const Options& options) {
  const std::pair<const char*, std::string> outputs[] = {{"--json", options.json},
                                                         {"--csv", options.csv},
                                                         {"--markdown", options.markdown},
                                                         {"--junit", options.junit}};
  for (const auto& [flag, path] : outputs) {
    for (const auto& [other_flag, other] : outputs) {
      if (&flag == &other_flag || path.empty() || other.empty()) continue;
      if (!name_one_file(path, other)) continue;
      throw Error(ExitCode::usage, fmt::format("`{}` and `{}` name one file (`{}`); give each a "
                                               "path of its own",
                                               flag, other_flag, to_one_line(path)));
    }
  }
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
    // Before what prints: it takes its line away first.
    {"progress",
     [](const Options& options, std::optional<Fd>& popcorn) {
       return make_progress_reporter(options, popcorn.has_value());
     }},
    {"table",
     [](const Options& options, std::optional<Fd>&) { return make_table_reporter(options.color); }},
    {"csv",
     [](const Options& options, std::optional<Fd>&) {
       return document(options, "--csv", options.csv, csv_document);
     }},
    {"markdown",
     [](const Options& options, std::optional<Fd>&) {
       return document(options, "--markdown", options.markdown, markdown_document);
     }},
    {"junit",
     [](const Options& options, std::optional<Fd>&) {
       return document(options, "--junit", options.junit, junit_document);
     }},
    // The last one: its exit code counts what the others could not write.
    {"json",
     [](const Options& options, std::optional<Fd>&) {
       return document(options, "--json", options.json, json_document);
     }},
};

}  // namespace

std::vector<std::unique_ptr<Reporter>> make_reporters(const Options& options,
                                                      std::optional<Fd> popcorn) {
  std::vector<std::unique_ptr<Reporter>> reporters;
  for (const Row& row : k_reporters) {
    if (auto reporter = row.make(options, popcorn)) reporters.push_back(std::move(reporter));
  }
  require_different_files(options);
  return reporters;
}

}  // namespace kbench
