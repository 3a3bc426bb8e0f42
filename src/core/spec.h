// The case file: one case a line, `key: value; key: value`.
//
// Pure text to values. Knows the grammar and where in the file a mistake stands; does not know any
// problem, device or file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kbench {

using SpecValue = std::variant<std::int64_t, bool, std::string, std::vector<std::int64_t>>;

struct SpecEntry {
  std::string key;
  SpecValue value;
  int key_column = 0;            ///< 1-based, in bytes, in `line` of the file
  int value_column = 0;          ///< 1-based, in bytes, in `value_line` of the file
  int line = 0;                  ///< 1-based; a row of a task file may spread over several lines
  int value_line = 0;            ///< 1-based
  std::size_t key_offset = 0;    ///< of the key in SpecLine::raw, for the caret
  std::size_t value_offset = 0;  ///< of the value in SpecLine::raw
};

/// One parsed line. `raw` is echoed verbatim as `.spec`.
struct SpecLine {
  std::string raw;
  std::string file;  ///< as the user named it, for messages
  int line = 0;      ///< 1-based
  std::vector<SpecEntry> entries;
};

/// Parses a value alone (`dense`, `-3`, `True`, `[1, 2]`); task files share it.
/// Throws Error(case_file) without a position: the caller adds `file:line:column`.
SpecValue parse_spec_value(std::string_view text);

/// Parses one line. Throws Error(case_file): `file:line:column: <what>` and the line with a caret.
SpecLine parse_spec_line(std::string_view text, std::string_view file, int line);

/// Parses a whole shape file; a final newline is optional, `\r\n` is accepted.
/// Blank lines, an empty file, NUL or invalid UTF-8, and lines over 64 KiB are errors.
std::vector<SpecLine> parse_spec_text(std::string_view text, std::string_view file);

/// What a problem tells the rest of the house about itself. Plain data, filled in by src/problems.
struct ProblemInfo {
  std::string_view name;                       ///< `qr_v2`
  std::string_view summary;                    ///< one line for `kbench list`
  std::vector<std::string_view> cases;         ///< lower case; the first is the default
  std::vector<std::string_view> output_names;  ///< `H`, `tau`: names of saved .npy files
  double (*nominal_flops)(std::int64_t batch, std::int64_t n);
  double (*nominal_bytes)(std::int64_t batch, std::int64_t n);
  bool free_form = false;  ///< a case is any integers under any keys; nothing is generated
};

/// One integer of a case line of a free-form problem.
struct Parameter {
  std::string name;
  std::int64_t value = 0;
};

/// A validated case of one problem.
struct Case {
  std::string problem;
  std::string spec;  ///< raw text of the line, echoed verbatim
  std::int64_t batch = 0;
  std::int64_t n = 0;
  std::int64_t cond = 0;
  std::int64_t seed = 0;   ///< already combined with POPCORN_SEED when that is set
  std::string kind;        ///< case name in lower case, `dense` when the line names none
  std::string input_path;  ///< --input A.npy: matrices are read instead of generated; else empty
  std::vector<Parameter> parameters = {};  ///< of a free-form problem, in the line's order
};

/// True when every `case` value of `lines` (default: dense) is a case name of `problem`.
bool knows_all_cases(const ProblemInfo& problem, const std::vector<SpecLine>& lines);

/// Validates one line against a problem: keys batch, n, cond, seed (all required) and case.
/// Unknown (with did-you-mean), missing and repeated keys, wrong types, batch or n < 1, cond < 0,
/// batch * n * n * 4 beyond 2^62 and unknown case names throw Error(case_file) with line and caret.
/// A line of a free-form problem has integers only, each key once; batch is then 1 and n is 0.
Case make_case(const SpecLine& line, const ProblemInfo& problem);

}  // namespace kbench
