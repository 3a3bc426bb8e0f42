// The manual page in troff's man macros, from the tables of verbs and flags: one source for help,
// page and completion.
#include <fmt/core.h>

#include "runner/commands.h"
#include "runner/flags.h"

namespace kbench {
namespace {

/// Text of a line: no character of it is a request or an escape.
std::string roff(std::string_view text) {
  std::string escaped;
  if (!text.empty() && (text.front() == '.' || text.front() == '\'')) escaped.append("\\&");
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string usage(const VerbRow& row) {
  std::string text = fmt::format(".B kbench {}\n", roff(row.name));
  if (!row.argument.empty()) text += fmt::format("[\\fI{}\\fR]\n", roff(row.argument));
  if (!row.second_argument.empty()) {
    text += fmt::format("[\\fI{}\\fR]\n", roff(row.second_argument));
  }
  return text + "[options]\n.br\n";
}

std::string argument(std::string_view name, std::string_view values, std::string_view help) {
  if (name.empty()) return "";
  std::string text = fmt::format(".TP\n\\fI{}\\fR", roff(name));
  if (values.find_first_not_of(' ') != std::string_view::npos)
    text.append(" ").append(roff(values));
  return text + fmt::format("\n{}\n", roff(help));
}

std::string verb(const VerbRow& row) {
  std::string text = fmt::format(".SS {}\n{}.\n", roff(row.name), roff(row.summary));
  text += argument(row.argument, row.argument_values, row.argument_help);
  text += argument(row.second_argument, "", row.second_help);
  std::string names;
  for (const Flag& flag : flags()) {
    if (!flag.belongs_to(row.verb)) continue;
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ",
                         roff(fmt::format("--{}", flag.name)));
  }
  if (!names.empty()) text += fmt::format(".PP\nOptions: {}.\n", names);
  return text + fmt::format(".PP\nExample:\n.PP\n.RS\n.nf\n{}\n.fi\n.RE\n", roff(row.example));
}

std::string option(const Flag& flag) {
  std::string text = fmt::format(".TP\n\\fB{}\\fR", roff(fmt::format("--{}", flag.name)));
  if (!flag.value.empty()) text += fmt::format(" \\fI{}\\fR", roff(flag.value));
  text += fmt::format("\n{}", roff(flag.help));
  if (flag.from_environment) text += fmt::format(" [{}]", environment_name(flag));
  text += "\n.br\nTaken by";
  std::string separator = " ";
  for (const VerbRow& row : verbs()) {
    if (!flag.belongs_to(row.verb)) continue;
    text += separator + roff(row.name);
    separator = ", ";
  }
  return text + ".\n";
}

struct Status {
  int code;
  const char* meaning;
};
constexpr Status k_statuses[] = {
    {0, "ran, every case passed"},
    {2, "wrong usage, or an output could not be written"},
    {110, "no usable device, or the device failed before any case"},
    {111, "POPCORN_FD is set and cannot be used"},
    {112, "ran, some case failed"},
    {113, "the case file is missing, unreadable or wrong"},
};

}  // namespace

std::string man_page() {
  std::string text =
      ".TH KBENCH 1 \"\" \"kbench " KBENCH_VERSION
      "\" \"User Commands\"\n"
      ".SH NAME\nkbench \\- benchmark runner and correctness checker for batched QR and symmetric "
      "eigenproblems\n.SH SYNOPSIS\n";
  for (const VerbRow& row : verbs()) text += usage(row);
  text +=
      ".SH DESCRIPTION\n"
      "FILE has one case a line (batch: 20; n: 32; cond: 1; seed: 43214) or is a task file (YAML); "
      "without FILE the shipped task file of each problem is taken.\n.SH VERBS\n";
  for (const VerbRow& row : verbs()) text += verb(row);
  text +=
      ".SH OPTIONS\nEvery option is also read from the variable in brackets; the option wins.\n";
  for (const Flag& flag : flags()) text += option(flag);
  text += ".SH EXIT STATUS\n";
  for (const Status& status : k_statuses) {
    text += fmt::format(".TP\n.B {}\n{}\n", status.code, roff(status.meaning));
  }
  return text;
}

}  // namespace kbench
