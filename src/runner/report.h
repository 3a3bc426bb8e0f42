// Reporters: each turns the record of a run into one output. A new output is one file and one row
// of the table in reporters.cpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/fd.h"
#include "runner/options.h"
#include "runner/record.h"
#include "runner/terminal.h"

namespace kbench {

/// Told about a run as it goes. Every call gets the whole record; a case is final once it has
/// ended.
class Reporter {
 public:
  virtual ~Reporter() = default;
  /// The cases are known and nothing has begun: the first moment at which something can be said.
  virtual void starting(std::size_t) {}
  /// The last moment at which a run is refused: before any output of it. Throws Error when this one
  /// cannot be made.
  virtual void prepare(const RunRecord&) {}
  virtual void begin(const RunRecord& record) = 0;
  virtual void case_begins(const RunRecord&, std::size_t) {}
  /// An event of the worker that runs case i.
  virtual void progressed(const RunRecord&, std::size_t, const Event&) {}
  virtual void case_ended(const RunRecord& record, std::size_t i) = 0;
  /// Called while a case runs. When to call again, where something is still to be written.
  virtual std::optional<std::chrono::steady_clock::time_point> idle(const RunRecord&) {
    return std::nullopt;
  }
  /// The run is over. Throws Error when the output could not be completed.
  virtual void end(const RunRecord& record) = 0;
};

std::unique_ptr<Reporter> make_popcorn_reporter(Fd fd);
std::unique_ptr<Reporter> make_table_reporter(ColorChoice color);
using Document = std::string (*)(const RunRecord& record);
/// Keeps the file at `path` equal to the document: written at the start, after every case and at
/// the end. Whether it can be opened is found out at once; that, the first and the last writing
/// throw Error(usage) naming `flag` when they fail.
std::unique_ptr<Reporter> make_document_reporter(const std::string& flag, const std::string& path,
                                                 Document document);

/// The reporters that the options and the environment ask for, in the order in which they are told;
/// the popcorn reporter is the first, so that nothing else can delay its lines.
std::vector<std::unique_ptr<Reporter>> make_reporters(const Options& options,
                                                      std::optional<Fd> popcorn);

// The texts of the outputs as pure functions.

/// Result lines before the first case, for case i, and the verdict. Messages are cut to
/// `message_bytes`.
std::string popcorn_header(const RunRecord& record);
std::string popcorn_spec(const RunRecord& record, std::size_t i);
std::string popcorn_case(const RunRecord& record, std::size_t i, std::size_t message_bytes);
std::string popcorn_verdict(const RunRecord& record);

/// Widths of one run's table, the same for all of its rows.
struct TableLayout {
  TextStyle style;
  std::size_t number_width = 2;
  std::size_t place_width = 0;  ///< 0: no column
  std::size_t spec_width = 4;
  bool beside = true;  ///< figures stand beside the case's line, else in lines below it
};
TableLayout table_layout(const RunRecord& record, const TextStyle& style);

/// Before case i, or empty.
std::string table_heading(const RunRecord& record, std::size_t i, const TableLayout& layout);
/// Case i and its warnings.
std::string table_row(const RunRecord& record, std::size_t i, const TableLayout& layout);
std::string table_footer(const RunRecord& record, const TableLayout& layout);

/// The document `kbench.results/1` (docs/results.md).
std::string json_document(const RunRecord& record);
/// RFC 4180, a heading and one line a case (docs/results.md).
std::string csv_document(const RunRecord& record);
/// One table a problem, to be pasted into a page.
std::string markdown_document(const RunRecord& record);
/// One test suite a problem; a case that has not run is skipped.
std::string junit_document(const RunRecord& record);

}  // namespace kbench
