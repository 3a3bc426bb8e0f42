// The visible table of reporters. Knows which option asks for which output and nothing of their
// form.
#include "runner/report.h"

namespace kbench {
namespace {

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
    {"table", [](const Options&, std::optional<Fd>&) { return make_table_reporter(); }},
    {"json",
     [](const Options& options, std::optional<Fd>&) {
       return options.json.empty() ? nullptr : make_json_reporter(options.json);
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
