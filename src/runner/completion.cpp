// Scripts that complete kbench's words in a shell, from the tables of verbs and flags: a new flag
// is completed without a change here. Runs nothing; the scripts ask `kbench list` for names.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "runner/commands.h"
#include "runner/flags.h"

namespace kbench {
namespace {

/// What stands behind a flag, or is a positional.
enum class Values { words, kernels, problems, files, folders, text };

struct Completion {
  Values kind = Values::text;
  std::vector<std::string_view> words;
};

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t bar; (bar = text.find('|')) != std::string_view::npos;) {
    parts.push_back(text.substr(0, bar));
    text.remove_prefix(bar + 1);
  }
  parts.push_back(text);
  return parts;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

/// `on|off` names words; PATH, DIR and the like say what may stand there.
Completion completion_of(std::string_view name, std::string_view values) {
  if (name == "kernel" || name == "KERNEL") return {Values::kernels, {}};
  if (name == "problem" || name == "PROBLEM") return {Values::problems, {}};
  if (values == "DIR") return {Values::folders, {}};
  if (name == "FILE" || values == "PATH" || values.ends_with(".npy") ||
      values.find(".json") != values.npos) {
    return {Values::files, {}};
  }
  std::vector<std::string_view> words = split(values);
  std::erase_if(words, [](std::string_view word) { return !is_word(word); });
  if (name == "device") words.push_back("cuda");
  return {words.empty() ? Values::text : Values::words, std::move(words)};
}

constexpr std::string_view k_kernels = "kbench list kernels 2>/dev/null | awk '{print $2}'";
constexpr std::string_view k_problems = "kbench list problems 2>/dev/null | awk '{print $1}'";

std::string bash_values(const Completion& completion) {
  constexpr std::string_view k_files = "COMPREPLY=($(compgen -f -- \"$cur\"))";
  switch (completion.kind) {
    case Values::words:
      return fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$cur\"))",
                         fmt::join(completion.words, " "));
    case Values::kernels:
      return fmt::format("COMPREPLY=($(compgen -f -W \"$({})\" -- \"$cur\"))", k_kernels);
    case Values::problems:
      return fmt::format("COMPREPLY=($(compgen -W \"$({})\" -- \"$cur\"))", k_problems);
    case Values::files:
      return std::string(k_files);
    case Values::folders:
      return "COMPREPLY=($(compgen -d -- \"$cur\"))";
    case Values::text:
      return "COMPREPLY=()";
  }
  return "";
}

/// Text between single quotes of a shell.
std::string in_quotes(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted;
}

/// A message of _arguments, in which brackets and colons have a meaning.
std::string zsh_message(std::string_view text) {
  std::string message;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') message += '\\';
    message += c;
  }
  return in_quotes(message);
}

std::string zsh_values(const Completion& completion) {
  switch (completion.kind) {
    case Values::words:
      return fmt::format("({})", fmt::join(completion.words, " "));
    case Values::kernels:
      return "_kbench_kernels";
    case Values::problems:
      return "_kbench_problems";
    case Values::files:
      return "_files";
    case Values::folders:
      return "_files -/";
    case Values::text:
      return " ";
  }
  return "";
}

std::string verb_names() {
  std::string names;
  for (const VerbRow& row : verbs()) names.append(names.empty() ? "" : " ").append(row.name);
  return names;
}

std::string bash_verb(const VerbRow& row) {
  std::string options = "--help";
  std::string values;
  for (const Flag& flag : flags()) {
    if (!flag.belongs_to(row.verb)) continue;
    options += fmt::format(" --{}", flag.name);
    if (flag.value.empty()) continue;
    values += fmt::format("        --{}) {}; return ;;\n", flag.name,
                          bash_values(completion_of(flag.name, flag.value)));
  }
  const Completion first = completion_of(row.argument, row.argument_values);
  // Which of two arguments is being written is not known: words of the first, or a file.
  const std::string arguments =
      row.second_argument.empty()
          ? bash_values(first)
          : fmt::format("COMPREPLY=($(compgen -f -W \"{}\" -- \"$cur\"))",
                        first.kind == Values::problems
                            ? fmt::format("$({})", k_problems)
                            : fmt::format("{}", fmt::join(first.words, " ")));
  return fmt::format(
      "    {})\n      case $prev in\n{}      esac\n"
      "      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"{}\" -- \"$cur\"))\n"
      "      else {}; fi ;;\n",
      row.name, values, options, arguments);
}

std::string zsh_verb(const VerbRow& row) {
  std::string text = fmt::format("    {})\n      _arguments \\\n", row.name);
  for (const Flag& flag : flags()) {
    if (!flag.belongs_to(row.verb)) continue;
    text += fmt::format("        '{}--{}[{}]", flag.repeatable ? "*" : "", flag.name,
                        zsh_message(flag.help));
    if (!flag.value.empty()) {
      text += fmt::format(":{}:{}", zsh_message(flag.value),
                          zsh_values(completion_of(flag.name, flag.value)));
    }
    text += "' \\\n";
  }
  for (const auto& [name, values] : {std::pair(row.argument, row.argument_values),
                                     std::pair(row.second_argument, std::string_view())}) {
    if (name.empty()) continue;
    text += fmt::format("        '{}:{}:{}' \\\n", row.takes_words ? "*" : "", name,
                        zsh_values(completion_of(name, values)));
  }
  return text + "        '--help[show the options]' ;;\n";
}

}  // namespace

std::string bash_completion() {
  std::string cases;
  for (const VerbRow& row : verbs()) cases += bash_verb(row);
  return fmt::format(
      "# bash completion of kbench, made by `kbench completion bash`\n"
      "_kbench() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} verb= word\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \" {0} \" in *\" $word \"*) verb=$word; break ;; esac\n"
      "  done\n"
      "  case $verb in\n"
      "{1}"
      "    *) COMPREPLY=($(compgen -W \"{0} --help --version\" -- \"$cur\")) ;;\n"
      "  esac\n"
      "}}\n"
      "complete -o filenames -F _kbench kbench\n",
      verb_names(), cases);
}

std::string zsh_completion() {
  std::string described, cases;
  for (const VerbRow& row : verbs()) {
    described += fmt::format("    '{}:{}'\n", row.name, zsh_message(row.summary));
    cases += zsh_verb(row);
  }
  return fmt::format(
      "#compdef kbench\n"
      "# zsh completion of kbench, made by `kbench completion zsh`\n"
      "_kbench_kernels() {{ compadd -- ${{(f)\"$({})\"}}; _files }}\n"
      "_kbench_problems() {{ compadd -- ${{(f)\"$({})\"}} }}\n"
      "_kbench() {{\n"
      "  local -a kbench_verbs=(\n{}  )\n"
      "  local -i at=2\n"
      "  while (( at < CURRENT )) && [[ ' {} ' != *\" ${{words[at]}} \"* ]]; do (( at++ )); done\n"
      "  if (( at == CURRENT )); then _describe verb kbench_verbs; return; fi\n"
      "  local verb=${{words[at]}}\n"
      "  words=(\"${{(@)words[at,-1]}}\"); (( CURRENT -= at - 1 ))\n"
      "  case $verb in\n{}  esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _kbench ]]; then _kbench \"$@\"; else compdef _kbench kbench; fi\n",
      k_kernels, k_problems, described, verb_names(), cases);
}

}  // namespace kbench
