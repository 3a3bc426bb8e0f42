// Result lines of the evaluator contract: `key: value`, one place where text becomes safe, failures
// that always carry their words. Knows no descriptor; times are nanoseconds per custom_kernel call.
#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"
#include "runner/popcorn_sink.h"
#include "runner/report.h"

namespace kbench {
namespace {

constexpr std::size_t k_longest_message = 4096;
constexpr std::size_t k_shortest_message = 48;
/// Bytes of a case's lines beside spec and message, with the longest figures.
constexpr std::size_t k_figures_bytes = 720;

std::string stem(const RunRecord& record) { return record.mode->uses_tests ? "test" : "benchmark"; }

std::string line(const RunRecord& record, std::size_t i, std::string_view key,
                 std::string_view value) {
  return fmt::format("{}.{}.{}: {}\n", stem(record), i, key, value);
}

std::string figures(const RunRecord& record, std::size_t i) {
  const CaseRecord& row = record.cases[i];
  const Summary& s = *row.summary;
  std::string text = line(record, i, "runs", std::to_string(s.runs));
  const std::pair<std::string_view, double> values[] = {{"mean", s.mean},   {"std", s.std},
                                                        {"err", s.err},     {"best", s.best},
                                                        {"worst", s.worst}, {"median", s.median}};
  for (const auto& [key, value] : values) text += line(record, i, key, fmt::format("{}", value));
  text += line(record, i, "kernel", shorten(to_one_line(row.kernel.name), 80));
  text += line(record, i, "problem", to_one_line(row.spec.problem));
  if (record.places.size() > 1 && row.place) {
    text += line(record, i, "device", record.places[*row.place].name);
  }
  if (!record.not_comparable.empty()) {
    text += line(record, i, "not_comparable", shorten(to_one_line(record.not_comparable), 120));
  }
  return text;
}

class PopcornReporter : public Reporter {
 public:
  explicit PopcornReporter(Fd fd) : sink_(std::move(fd)) {}

  void begin(const RunRecord& record) override {
    for (std::size_t i = 0; i < record.cases.size(); ++i) fixed_ += fixed_bytes(record, i);
    sink_.write(popcorn_header(record));
  }

  void case_ended(const RunRecord& record, std::size_t i) override {
    sink_.write(popcorn_case(record, i, message_bytes(record, i)));
    fixed_ -= fixed_bytes(record, i);
  }

  void end(const RunRecord& record) override { sink_.finish(popcorn_verdict(record)); }

 private:
  static std::size_t fixed_bytes(const RunRecord& record, std::size_t i) {
    return popcorn_spec(record, i).size() + k_figures_bytes;
  }

  /// An equal share, for this case and each one after it, of what is left beside their other lines.
  std::size_t message_bytes(const RunRecord& record, std::size_t i) const {
    const std::size_t room = sink_.room();
    const std::size_t share = room > fixed_ ? (room - fixed_) / (record.cases.size() - i) : 0;
    return std::clamp(share, k_shortest_message, k_longest_message);
  }

  PopcornSink sink_;
  std::size_t fixed_ = 0;  // what the lines of the cases to come need beside their messages
};

}  // namespace

std::string popcorn_header(const RunRecord& record) {
  return fmt::format("{}-count: {}\n", stem(record), record.cases.size());
}

std::string popcorn_spec(const RunRecord& record, std::size_t i) {
  return line(record, i, "spec", to_one_line(record.cases[i].spec.spec));
}

std::string popcorn_case(const RunRecord& record, std::size_t i, std::size_t message_bytes) {
  const CaseRecord& row = record.cases[i];
  std::string text = popcorn_spec(record, i);
  const bool profile = record.mode->only_first_case;
  if (row.passed && record.mode->measures) return text + figures(record, i);
  text += line(record, i, "status", row.passed ? "pass" : "fail");
  if (profile) text += line(record, i, "report", "");
  if (!row.passed) {
    text += line(record, i, "error", failure_text(row, message_bytes));
  } else if (!profile) {
    text += line(record, i, "message", shorten(to_one_line(row.reply.message), message_bytes));
  }
  return text;
}

std::string popcorn_verdict(const RunRecord& record) {
  return fmt::format("check: {}\n", record.all_passed() ? "pass" : "fail");
}

std::unique_ptr<Reporter> make_popcorn_reporter(Fd fd) {
  return std::make_unique<PopcornReporter>(std::move(fd));
}

}  // namespace kbench
