// Turns argv and the environment into Options with CLI11: finds the verb wherever it stands, lets a
// flag win over its variable, and answers --help and --version. Reads no file and starts nothing.
#include "runner/options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <map>

#include "core/text.h"
#include "runner/flags.h"
#include "runner/results_file.h"

namespace kbench {
namespace {

using Words = std::vector<std::string>;

std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates,
                       std::string_view prefix) {
  const std::string_view near = did_you_mean(word, candidates);
  return near.empty() ? "" : fmt::format("did you mean `{}{}`? ", prefix, near);
}

[[noreturn]] void refuse_flag(const std::string& word, const VerbRow* verb) {
  const std::string name = to_one_line(word.substr(0, word.find('=')));
  std::vector<std::string_view> names;
  for (const Flag& flag : flags()) {
    if (verb != nullptr && "--" + std::string(flag.name) == name) {
      throw Error(ExitCode::usage,
                  fmt::format("`{0}` is not an option of `kbench {1}`; see `kbench {1} --help`",
                              name, verb->name));
    }
    if (verb == nullptr || flag.belongs_to(verb->verb)) names.push_back(flag.name);
  }
  const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  throw Error(ExitCode::usage,
              fmt::format("unknown option `{}`; {}see `kbench{}{} --help`", name,
                          suggestion(bare, names, "--"), verb == nullptr ? "" : " ",
                          verb == nullptr ? "" : verb->name));
}

const Flag* find_flag(char letter) {
  for (const Flag& flag : flags()) {
    if (flag.letter == letter) return &flag;
  }
  return nullptr;
}

/// The row for a verb; null: of any.
const Flag* find_flag(std::string_view name, const VerbRow* verb) {
  for (const Flag& flag : flags()) {
    if (flag.name == name && (verb == nullptr || flag.belongs_to(verb->verb))) return &flag;
  }
  return nullptr;
}

/// Position of the verb: the first word that is neither an option nor the value of one.
std::size_t find_verb(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.empty() || word[0] != '-') return i;
    if (word == "-h" || word == "--help" || word == "--version") continue;
    const std::size_t equals = word.find('=');
    const Flag* flag = word.starts_with("--") ? find_flag(word.substr(2, equals - 2), nullptr)
                       : word.size() == 2     ? find_flag(word[1])
                                              : nullptr;
    if (flag == nullptr) refuse_flag(word, nullptr);
    if (!flag->value.empty() && equals == std::string::npos) ++i;
  }
  return words.size();
}

const VerbRow& verb_row(const std::string& word) {
  std::vector<std::string_view> names;
  for (const VerbRow& row : verbs()) {
    if (row.name == word) return row;
    names.push_back(row.name);
  }
  throw Error(ExitCode::usage, fmt::format("unknown verb `{}`; {}see `kbench --help`",
                                           to_one_line(word), suggestion(word, names, "")));
}

std::string general_help() {
  std::string text =
      "kbench: benchmark runner and correctness checker for batched QR and symmetric "
      "eigenproblems\n"
      "\nUsage: kbench VERB [FILE] [options]\n\nVerbs:\n";
  for (const VerbRow& row : verbs()) text += fmt::format("  {:<16} {}\n", row.name, row.summary);
  text +=
      "\nFILE has one case a line (`batch: 20; n: 32; cond: 1; seed: 43214`) or is a task file "
      "(YAML);\nwithout FILE the shipped task file of each problem is taken.\n"
      "`--kernel my.cu` runs a kernel of yours; `kbench new qr_v2 my.cu` writes a first one.\n"
      "\n  kbench VERB --help   the options of a verb, their variables and an example\n"
      "  kbench --version\n";
  return text;
}

/// Values as the command line gave them, by flag name.
struct CommandLine {
  std::map<std::string_view, std::vector<std::string>> values;
  std::string argument, second_argument;
  Words words;
  std::string help;  ///< set when --help was asked for
};

CommandLine parse_words(const VerbRow& row, Words words) {
  CLI::App app{std::string(row.summary), fmt::format("kbench {}", row.name)};
  app.allow_extras();
  app.get_formatter()->column_width(34);
  app.footer(
      fmt::format("Every option is also read from its variable in brackets; the option "
                  "wins.\nExample: {}",
                  row.example));
  CommandLine line;
  std::map<std::string_view, CLI::Option*> given;
  std::vector<CLI::Option*> positionals;
  const auto add = [&](std::string_view name, std::string& value, std::string_view help,
                       std::string_view values) {
    positionals.push_back(app.add_option(std::string(name), value, std::string(help)));
    positionals.back()->option_text(std::string(values));
  };
  if (row.takes_words) {
    app.add_option(std::string(row.argument), line.words, std::string(row.argument_help))
        ->option_text(std::string(row.argument_values));
  } else if (!row.argument.empty()) {
    add(row.argument, line.argument, row.argument_help, row.argument_values);
  }
  if (!row.second_argument.empty()) {
    add(row.second_argument, line.second_argument, row.second_help, " ");
  }
  for (const Flag& flag : flags()) {
    if (!flag.belongs_to(row.verb)) continue;
    const std::string name = flag.letter == 0 ? fmt::format("--{}", flag.name)
                                              : fmt::format("-{},--{}", flag.letter, flag.name);
    // Const: a flag would be bound to a string that can be written.
    const std::string help =
        fmt::format("{}{}", flag.help,
                    flag.from_environment ? fmt::format(" [{}]", environment_name(flag)) : "");
    CLI::Option* option = flag.value.empty() ? app.add_flag(name, help)
                                             : app.add_option(name, line.values[flag.name], help);
    if (!flag.value.empty()) {
      // One word each time: the next one may be FILE.
      option->option_text(std::string(flag.value))->allow_extra_args(false);
      if (!flag.repeatable) option->expected(1)->take_last();
    }
    given[flag.name] = option;
  }
  try {
    std::reverse(words.begin(), words.end());
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    line.help = app.help();
    return line;
  } catch (const CLI::ParseError& error) {
    throw Error(ExitCode::usage, fmt::format("{}; see `kbench {} --help`", error.what(), row.name));
  }
  for (const std::string& extra : app.remaining()) {
    if (extra.size() > 1 && extra[0] == '-') refuse_flag(extra, &row);
    throw Error(
        ExitCode::usage,
        fmt::format("unexpected argument `{}` (after `{}`); see `kbench {} "
                    "--help`",
                    extra, line.second_argument.empty() ? line.argument : line.second_argument,
                    row.name));
  }
  for (const CLI::Option* positional : positionals) {
    if (positional->count() > 0 && positional->results().front().empty()) {
      throw Error(ExitCode::usage, fmt::format("[{}] is an empty word; name one or leave it out",
                                               positional->get_name(true)));
    }
  }
  for (const auto& [name, option] : given) {
    if (option->count() == 0) {
      line.values.erase(name);
    } else if (find_flag(name, &row)->value.empty()) {
      // A switch alone is "true"; `--name=off` may follow or take its place.
      line.values[name] = {option->results().back()};
    }
  }
  return line;
}

void apply(const VerbRow& row, const CommandLine& line, std::string_view popcorn_seed,
           Options& options) {
  if (!popcorn_seed.empty()) {
    options.seed = parse_seed(std::string(popcorn_seed), "POPCORN_SEED");
  }
  for (const Flag& flag : flags()) {
    if (!flag.belongs_to(row.verb)) continue;
    const auto found = line.values.find(flag.name);
    if (found != line.values.end()) {
      const std::string source = fmt::format("--{}", flag.name);
      for (const std::string& value : found->second) {
        if (value.empty()) {
          throw Error(ExitCode::usage,
                      fmt::format("`{0}` has an empty value; give `{0} {1}`", source, flag.value));
        }
        flag.set(options, value, source);
      }
      continue;
    }
    if (!flag.from_environment) continue;
    const std::string variable = environment_name(flag);
    const char* value = std::getenv(variable.c_str());
    if (value != nullptr && *value != '\0') flag.set(options, value, variable);
  }
}

/// Results are compared with results, two at a time.
void check_compared(const std::vector<std::string>& words) {
  const auto results = std::count_if(words.begin(), words.end(), is_results_path);
  if (results == 0 || (results == 2 && words.size() == 2)) return;
  throw Error(ExitCode::usage,
              "`kbench compare` takes kernels, or two results documents and nothing else; see "
              "`kbench compare --help`");
}

void check_together(const VerbRow& row, const Options& options) {
  if (row.verb == Verb::compare && options.words.size() < 2) {
    throw Error(
        ExitCode::usage,
        "`kbench compare` needs two kernels or more; name them, as in `kbench compare lapack "
        "my.cpp`");
  }
  if (!options.input.empty() && !options.file.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("`--input {}` and FILE `{}` exclude each other; leave one out",
                            options.input, options.file));
  }
  if (!options.case_lines.empty() && !(options.file.empty() && options.input.empty())) {
    throw Error(
        ExitCode::usage,
        fmt::format("`--case` and {} exclude each other; leave one out",
                    options.file.empty() ? "`--input`" : fmt::format("FILE `{}`", options.file)));
  }
  const bool several = options.all_devices || !options.devices.empty();
  if (several && options.device.kind != DeviceRequest::Kind::automatic) {
    throw Error(ExitCode::usage, "`--device` and `--devices` exclude each other; leave one out");
  }
  if (options.in_process && (options.all_devices || options.devices.size() > 1)) {
    throw Error(ExitCode::usage,
                "`--in-process` has one worker (a kernel can be loaded once in a process); name "
                "one device");
  }
  if (options.together && options.launch == Launch::queued) {
    throw Error(ExitCode::usage,
                "`--together` and `--launch queued` exclude each other (one hold in front of a "
                "repeat); leave one out");
  }
  if (options.together && !options.resume.empty()) {
    throw Error(ExitCode::usage,
                "`--together` and `--resume` exclude each other (its cases are of all devices at "
                "once); leave one out");
  }
  if (row.verb == Verb::compare) check_compared(options.words);
  if (row.verb == Verb::report && options.words.empty()) {
    throw Error(
        ExitCode::usage,
        "`kbench report` needs results; name a file that `--json` wrote, as in `kbench report "
        "results.json -o report.html`");
  }
  if (row.verb == Verb::generate && options.out.empty()) {
    throw Error(ExitCode::usage,
                "`kbench generate` needs a folder for the inputs; add `--out DIR`");
  }
  if (row.verb == Verb::new_kernel && options.file.empty()) {
    throw Error(ExitCode::usage,
                "`kbench new` needs a problem and a file to write; give both, as in `kbench new "
                "qr_v2 my.cu`");
  }
  if (row.verb == Verb::build && options.file.empty()) {
    throw Error(ExitCode::usage,
                "`kbench build` needs a kernel source; name it, as in `kbench build my.cu`");
  }
  if (row.verb == Verb::trace && options.cupti == CuptiUse::off) {
    throw Error(ExitCode::usage,
                "`kbench trace` is made of what CUPTI records (`--cupti off` forbids it); leave "
                "`--cupti off` out");
  }
  if (row.verb == Verb::profile_command && options.tool.empty()) {
    throw Error(ExitCode::usage,
                "`kbench profile-command` needs a profiler; name it, as in `kbench "
                "profile-command nsys shape.txt`");
  }
  if (row.verb == Verb::completion && options.shell != "bash" && options.shell != "zsh") {
    throw Error(ExitCode::usage,
                fmt::format("{}; give bash or zsh, as in `kbench completion bash`",
                            options.shell.empty() ? "`kbench completion` needs a shell"
                                                  : fmt::format("no completion for shell `{}`",
                                                                to_one_line(options.shell))));
  }
  if (row.verb == Verb::list && !options.file.empty()) {
    const std::vector<std::string_view> nouns = {"problems", "cases", "kernels", "devices"};
    if (std::find(nouns.begin(), nouns.end(), options.file) == nouns.end()) {
      throw Error(ExitCode::usage,
                  fmt::format("nothing to list named `{}`; {}give problems, cases, kernels or "
                              "devices",
                              options.file, suggestion(options.file, nouns, "")));
    }
  }
}

/// `kbench help`, alone or with a verb.
Parsed help_on(const Words& words) {
  if (words.empty()) return Parsed{std::nullopt, general_help(), false};
  return Parsed{std::nullopt, parse_words(verb_row(words.front()), {"--help"}).help, false};
}

}  // namespace

Parsed parse_options(int argc, const char* const* argv, std::string_view popcorn_seed) {
  Words words(argv + std::min(argc, 1), argv + argc);
  const std::size_t at = find_verb(words);
  if (at == words.size()) {
    Parsed answer;
    const bool version = std::find(words.begin(), words.end(), "--version") != words.end();
    const bool help = std::any_of(words.begin(), words.end(),
                                  [](const auto& w) { return w == "--help" || w == "-h"; });
    answer.text = version && !help ? "kbench " KBENCH_VERSION "\n" : general_help();
    answer.to_stderr = !version && !help;
    return answer;
  }
  if (words[at] == "help")
    return help_on({words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end()});
  const VerbRow& row = verb_row(words[at]);
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(at));
  if (std::find(words.begin(), words.end(), "--version") != words.end()) {
    return Parsed{std::nullopt, "kbench " KBENCH_VERSION "\n", false};
  }
  const CommandLine line = parse_words(row, std::move(words));
  if (!line.help.empty()) return Parsed{std::nullopt, line.help, false};

  Options options;
  options.verb = row.verb;
  options.mode = find_mode(row.name);
  options.file = row.second_argument.empty() ? line.argument : line.second_argument;
  options.words = line.words;
  if (row.verb == Verb::new_kernel) options.problem = line.argument;
  if (row.verb == Verb::profile_command) options.tool = line.argument;
  if (row.verb == Verb::completion) options.shell = line.argument;
  options.command_line.assign(argv, argv + argc);
  apply(row, line, popcorn_seed, options);
  check_together(row, options);
  return Parsed{std::move(options), "", false};
}

}  // namespace kbench
