// Goes on from a results document: whether its run is the same as the present one in everything but
// time, and which of its cases need not be measured again. Starts nothing and writes nothing.
#include "runner/resume.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/sha256.h"
#include "core/text.h"
#include "runner/case_reader.h"
#include "runner/compare_files.h"
#include "runner/report.h"

namespace kbench {
namespace {

bool is_measured(const CaseRecord& row) { return row.passed && row.summary.has_value(); }

std::string build_text(const CaseRecord& row) {
  constexpr std::size_t k_digits = 12;
  const std::string build =
      row.kernel_sha256.empty() ? "unknown" : row.kernel_sha256.substr(0, k_digits);
  return fmt::format("{}, build {}", to_one_line(row.kernel.name), build);
}

/// Indices into the former document and into the present run, of cases that need not be run.
std::vector<std::pair<std::size_t, std::size_t>> measured_pairs(const Resume& former,
                                                                const ResultsFile& present) {
  auto pairs = matching_cases(former.file, present);
  const auto not_measured = [&](const auto& pair) {
    return !is_measured(former.cases[pair.first]);
  };
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(), not_measured), pairs.end());
  return pairs;
}

class Words {
 public:
  void add(const std::string& what, const std::string& former, const std::string& present) {
    if (former == present) return;
    const std::string text =
        fmt::format("{} (`{}` and `{}`)", what, shorten(former, 80), shorten(present, 80));
    // Cases of one problem have the same differences.
    if (std::find(found_.begin(), found_.end(), text) == found_.end()) found_.push_back(text);
  }
  void add(const std::vector<std::string>& more) {
    found_.insert(found_.end(), more.begin(), more.end());
  }
  std::vector<std::string> found() const { return found_; }

 private:
  std::vector<std::string> found_;
};

}  // namespace

ResultsFile as_results(const RunRecord& record) { return parse_results(json_document(record), ""); }

Resume read_resume(const std::string& path, const std::function<bool()>& cancelled) {
  const std::string text = read_results_text(path, cancelled);
  Resume former{parse_results(text, path), {}};
  try {
    const auto document = nlohmann::ordered_json::parse(text);
    for (const auto& row : document.at("cases")) former.cases.push_back(read_case_record(row));
  } catch (const std::exception& error) {
    throw Error(ExitCode::usage,
                fmt::format("`{}` cannot be resumed ({}); give a file that `--json` wrote",
                            to_one_line(path), shorten(to_one_line(error.what()), 200)));
  }
  return former;
}

std::string file_sha256(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return "";
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return file.bad() ? "" : sha256_hex(bytes.data(), bytes.size());
}

std::vector<std::string> resume_differences(const Resume& former, const RunRecord& present,
                                            Launch launch, bool fresh) {
  const ResultsFile now = as_results(present);
  Words words;
  words.add(run_differences(former.file, now));
  words.add("kbench", former.file.kbench_version, now.kbench_version);
  for (const auto& [i, k] : measured_pairs(former, now)) {
    const CaseRecord& before = former.cases[i];
    const auto reason = [](const std::string& text) { return text.empty() ? "nothing" : text; };
    words.add("what makes them not comparable", reason(former.file.cases[i].not_comparable),
              reason(now.cases[k].not_comparable));
    words.add("kernel", build_text(before), build_text(present.cases[k]));
    words.add("launch", before.reply.queued ? "queued" : "public",
              launch == Launch::queued ? "queued" : "public");
    if (before.fresh_inputs != "fixed") {
      words.add("fresh inputs", before.fresh_inputs, fresh ? "on" : "off");
    }
  }
  return words.found();
}

void require_resumable(const Resume& former, const RunRecord& present, Launch launch, bool fresh,
                       const std::string& kernel_error) {
  const std::string path = to_one_line(former.file.path);
  if (!present.device || !kernel_error.empty()) {
    throw Error(ExitCode::case_failed,
                fmt::format("`{}` is not resumed ({}); it is left as it was", path,
                            kernel_error.empty() ? "no worker came up" : kernel_error));
  }
  const auto found = resume_differences(former, present, launch, fresh);
  if (found.empty()) return;
  throw Error(ExitCode::usage,
              fmt::format("`{}` cannot be resumed (that run and this one differ in {}); run as it "
                          "was run, or leave out `--resume`",
                          path, fmt::join(found, "; ")));
}

std::vector<std::size_t> take_over(const Resume& former, RunRecord& record) {
  std::vector<std::size_t> taken;
  for (const auto& [i, k] : measured_pairs(former, as_results(record))) {
    CaseRecord row = former.cases[i];
    CaseRecord& present = record.cases[k];
    row.spec = present.spec;
    row.case_index = present.case_index;
    // A run that was itself resumed keeps the start of the one that measured.
    if (row.resumed_from.empty()) row.resumed_from = former.file.started;
    present = std::move(row);
    taken.push_back(k);
  }
  return taken;
}

}  // namespace kbench
