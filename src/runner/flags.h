// The table of verbs and the table of flags. A new flag is one row.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runner/options.h"

namespace kbench {

struct VerbRow {
  Verb verb;
  std::string_view name;
  std::string_view argument;         ///< name of the positional
  std::string_view argument_values;  ///< what it may be, as help shows it
  std::string_view argument_help;
  std::string_view summary;
  std::string_view example;
  std::string_view second_argument = {};  ///< name of the second positional; empty: there is none
  std::string_view second_help = {};
  bool takes_words = false;  ///< the positional may be repeated and goes to Options::words
};

struct Flag {
  std::string_view name;   ///< without dashes
  std::string_view value;  ///< as help shows it; empty: a switch without a value
  std::string_view help;
  unsigned verbs;  ///< bit 1 << Verb for every verb that takes it
  /// Sets the option from text; `source` is `--name` or the variable, for messages.
  void (*set)(Options& options, const std::string& text, const std::string& source);

  bool repeatable = false;  ///< may be given several times
  char letter = 0;          ///< `o` for `-o`; 0: none

  bool belongs_to(Verb verb) const { return (verbs >> static_cast<unsigned>(verb) & 1u) != 0; }
};

std::span<const VerbRow> verbs();
std::span<const Flag> flags();

/// Name of the flag's environment variable: `KBENCH_CALL_TIMEOUT`.
std::string environment_name(const Flag& flag);

/// `text` as a secret seed in [0, 2^31). Throws Error(usage) naming `source`.
std::int64_t parse_seed(const std::string& text, const std::string& source);

}  // namespace kbench
