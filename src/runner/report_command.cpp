// `kbench report`: results documents in, one page of HTML out. Starts nothing.
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/text.h"
#include "runner/commands.h"
#include "runner/document_file.h"
#include "runner/report_page.h"
#include "runner/results_file.h"

namespace kbench {

ExitCode report(const Options& options, Problems problems) {
  std::vector<ResultsFile> files;
  for (const std::string& path : options.words) {
    files.push_back(read_results(path));
    std::error_code absent;
    if (!std::filesystem::equivalent(path, options.out, absent)) continue;
    throw Error(ExitCode::usage,
                fmt::format("cannot write the report to `{}` (it is one of the results); give "
                            "`--out` another path",
                            to_one_line(options.out)));
  }
  const DocumentFile file("--out", options.out);
  if (!file.save(report_page(files, problems, options.same))) return ExitCode::usage;
  std::printf("%s\n", to_one_line(options.out).c_str());
  return ExitCode::ok;
}

}  // namespace kbench
