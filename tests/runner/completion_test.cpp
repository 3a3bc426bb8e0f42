// What is generated from the tables of verbs and flags: completion, the manual page, list --json;
// and sweeps and filters as the command line takes them.
#include <stdio.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "kbench_process.h"
#include "runner/commands.h"
#include "runner/flags.h"

using namespace kbench;
using nlohmann::json;

namespace {

/// The words that bash offers for a line, the last word of which is being written.
std::string offered(const Tree& tree, const std::string& words) {
  const std::string script =
      tree.write("ask.sh", "source " + tree.path("completion") + "\nCOMP_WORDS=(" + words +
                               ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_kbench\n"
                               "printf '%s\\n' \"${COMPREPLY[@]}\" > " +
                               tree.path("offered") + "\n");
  REQUIRE(system(("cd " KBENCH_SOURCE_DIR " && bash " + script).c_str()) == 0);
  return tree.read("offered");
}

/// What an interactive zsh makes of a line and a tab. It runs on a terminal of its own, in which a
/// key of the test's writes the line into a file.
std::string made_by_zsh(const Tree& tree, const std::string& line) {
  const std::string folder = tree.path("");
  const std::string script =
      tree.write("ask.zsh",
                 "zmodload zsh/zpty\n"
                 "zpty shell zsh -f -i\n"
                 "zpty -w shell 'cd " +
                     folder + "; PS1=; unsetopt beep; fpath=(" + folder +
                     " $fpath)'\n"
                     "zpty -w shell 'autoload -U compinit; compinit -u -d " +
                     tree.path("dump") +
                     "'\n"
                     "zpty -w shell 'tell() { print -r -- \"$BUFFER\" > " +
                     tree.path("made") +
                     "; exit }'\n"
                     "zpty -w shell 'zle -N tell; bindkey \"^X\" tell; print ready > " +
                     tree.path("ready") +
                     "'\n"
                     "wait_for() { repeat 300; do [[ -s $1 ]] && return; zpty -r -t shell "
                     ">/dev/null; sleep 0.1; done }\n"
                     "wait_for " +
                     tree.path("ready") +
                     "\n"
                     "zpty -w -n shell \"$1\"$'\\t\\x18'\n"
                     "wait_for " +
                     tree.path("made") +
                     "\n"
                     "zpty -d shell\n");
  for (const char* name : {"made", "ready"}) std::filesystem::remove(tree.path(name));
  REQUIRE(system(("zsh -f " + script + " '" + line + "'").c_str()) == 0);
  return tree.read("made");
}

}  // namespace

TEST_CASE("bash offers verbs, the options of a verb and the values of an option") {
  const Tree tree;
  tree.write("completion", kbench_run(tree, {"completion", "bash"}).out);
  struct Row {
    const char* words;
    const char* offer;
  };
  for (const Row& row :
       {Row{"kbench ben", "benchmark\n"}, Row{"kbench test --jso", "--json\n"},
        Row{"kbench --quiet list ke", "kernels\n"}, Row{"kbench test --color al", "always\n"},
        Row{"kbench completion z", "zsh\n"}, Row{"kbench list --kern", "\n"},
        Row{"kbench profile-command nc", "ncu\n"},
        Row{"kbench benchmark --baseline CMakeLi", "CMakeLists.txt\n"}}) {
    CAPTURE(row.words);
    CHECK(offered(tree, row.words) == row.offer);
  }
}

TEST_CASE("zsh makes verbs, options and values of their first letters") {
  if (system("command -v zsh >/dev/null") != 0) {
    puts("SKIPPED: no zsh here; install zsh to have its completion tested");
    return;
  }
  const Tree tree;
  tree.write("_kbench", kbench_run(tree, {"completion", "zsh"}).out);
  for (const auto& [line, made] :
       {std::pair("kbench ben", "kbench benchmark \n"),
        std::pair("kbench test --jso", "kbench test --json \n"),
        std::pair("kbench --quiet list ke", "kbench --quiet list kernels \n"),
        std::pair("kbench test --color al", "kbench test --color always \n"),
        std::pair("kbench profile-command nc", "kbench profile-command ncu \n"),
        std::pair("kbench list --kern", "kbench list --kern\n")}) {
    CAPTURE(line);
    CHECK(made_by_zsh(tree, line) == made);
  }
}

TEST_CASE("every flag and verb stands in the page and in both scripts") {
  const Tree tree;
  const std::string page = kbench_run(tree, {"man"}).out;
  const std::string bash = kbench_run(tree, {"completion", "bash"}).out;
  const std::string zsh = kbench_run(tree, {"completion", "zsh"}).out;
  for (const VerbRow& row : verbs()) {
    CHECK_THAT(bash, ContainsSubstring("    " + std::string(row.name) + ")"));
    CHECK_THAT(zsh, ContainsSubstring("    " + std::string(row.name) + ")"));
  }
  for (const Flag& flag : flags()) {
    const std::string name = "--" + std::string(flag.name);
    CHECK_THAT(bash, ContainsSubstring(name));
    CHECK_THAT(zsh, ContainsSubstring(name + "["));
    if (flag.from_environment) CHECK_THAT(page, ContainsSubstring(environment_name(flag)));
  }
  CHECK_THAT(page, StartsWith(".TH KBENCH 1"));
  CHECK_THAT(page, ContainsSubstring("\\-\\-json"));
}

TEST_CASE("the shells and the formatter find no mistake") {
  const Tree tree;
  tree.write("bash", kbench_run(tree, {"completion", "bash"}).out);
  tree.write("zsh", kbench_run(tree, {"completion", "zsh"}).out);
  tree.write("page", kbench_run(tree, {"man"}).out);
  CHECK(system(("bash -n " + tree.path("bash")).c_str()) == 0);
  // zsh and groff are not everywhere; where they are they must agree.
  const auto check = [&](const std::string& program, const std::string& command) {
    if (system(("command -v " + program + " >/dev/null").c_str()) != 0) {
      WARN(program << " is not installed: not checked");
      return;
    }
    CHECK(system((command + " >" + tree.path("said") + " 2>&1").c_str()) == 0);
    CHECK(tree.read("said").empty());
  };
  check("zsh", "zsh -n " + tree.path("zsh"));
  check("groff", "groff -man -Tutf8 -ww -z " + tree.path("page"));
}

TEST_CASE("a shell without a script is refused with those that have one") {
  const Tree tree;
  for (const std::string shell : {"fish", ""}) {
    std::vector<std::string> arguments = {"completion"};
    if (!shell.empty()) arguments.push_back(shell);
    const Outcome outcome = kbench_run(tree, arguments);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, ContainsSubstring("give bash or zsh"));
  }
}

TEST_CASE("list has a JSON form with the sections asked for") {
  const Tree tree;
  // The variable of --json PATH means another option.
  const Environment environment = {{"KBENCH_JSON", tree.path("r.json")}};
  const json all = json::parse(kbench_run(tree, {"list", "--json"}, environment).out);
  CHECK(all["schema"] == "kbench.list/1");
  CHECK(all["problems"][0]["name"] == "qr_v2");
  CHECK(all["problems"][0]["cases"][0] == "dense");
  CHECK(all["devices"][0]["name"] == "Fake CPU");
  const json kernels = json::parse(kbench_run(tree, {"list", "kernels", "--json"}).out);
  CHECK(kernels.size() == 2);
  CHECK(kernels["kernels"][0]["default_on"].is_array());
  const json one =
      json::parse(kbench_run(tree, {"list", "problems", "--json", "--problem", "eigh_py"}).out);
  CHECK(one["problems"].size() == 1);
}

TEST_CASE("cases of the command line are echoed as ordinary lines and can be filtered") {
  const Tree tree;
  const std::string sweep = "batch: {1,2}; n: {4..16*2}; cond: 1; seed: 5; case: dense";
  const Outcome all = kbench_run(tree, {"test", "--case", sweep, "--problem", "qr_v2"});
  CHECK(all.status == 0);
  CHECK_THAT(all.out, ContainsSubstring("batch: 2; n: 16; cond: 1; seed: 5; case: dense  pass"));
  CHECK_THAT(all.out, ContainsSubstring("6 passed"));
  const Outcome some = kbench_run(
      tree, {"test", "--case", sweep, "--filter", "n > 4; batch = 2", "--problem", "qr_v2",
             "--case", "batch: 2; n: 5; cond: 1; seed: 1", "--json", tree.path("r")});
  CHECK_THAT(some.out, ContainsSubstring("3 passed"));
  const json document = json::parse(tree.read("r"));
  CHECK(document["cases"][0]["case_index"] == 4);
  CHECK(document["cases"][2]["spec"] == "batch: 2; n: 5; cond: 1; seed: 1");
}

TEST_CASE("a sweep or a filter that cannot be run is refused before anything runs") {
  const Tree tree;
  const std::string file = tree.write("f.txt", "batch: 2; n: 4; cond: 1; seed: 5\n");
  struct Row {
    std::vector<std::string> arguments;
    int status;
    const char* words;
  };
  const std::vector<Row> rows = {
      {{"test", "--case", "n: {1,2"}, 113, "--case:1:4: `{` is not closed"},
      {{"test", "--case", "batch: {1,x}; n: 4; cond: 1; seed: 1"}, 113, "--case:2:8"},
      {{"test", "--case", "n: 4", file}, 2, "`--case` and FILE `"},
      {{"test", "--case", "n: 4", "--input", "a.npy"}, 2, "`--case` and `--input` exclude"},
      {{"test", file, "--filter", "m = 4"}, 2, "is no condition for `--filter`"},
      {{"test", file, "--filter", "n = 5", "--problem", "qr_v2"},
       2,
       "no case matches `--filter n = 5` (1 cases are there)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    const Outcome outcome = kbench_run(tree, row.arguments);
    CHECK(outcome.status == row.status);
    CHECK_THAT(outcome.err, ContainsSubstring(row.words));
    CHECK(outcome.out.empty());
  }
}
