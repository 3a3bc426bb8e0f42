// scripts/profile-nsys and scripts/profile-ncu from a case line to a report and its summary. The
// profilers are shell scripts that write their command line into the report; kbench is the real
// one.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "catch.h"

namespace fs = std::filesystem;

namespace {

constexpr const char* k_line = "'batch: 2; n: 4; cond: 1; seed: 5' --problem qr_v2";

/// The word behind `-o` names the report; everything said goes into it.
constexpr const char* k_fake_tool = R"(#!/usr/bin/env bash
if [[ $1 == stats || $1 == --import ]]; then
  for word; do [[ $word == *-rep ]] && cat "$word"; done
  exit 0
fi
echo "$FAKE_SAYS"
while [[ $1 != -o ]]; do options+=("$1"); shift; done
[[ -n $FAKE_NO_REPORT ]] || echo "options: ${options[*]}; program: ${*:3}" >"$2.$(basename "$0")-rep"
exit "${FAKE_STATUS:-0}"
)";

struct Outcome {
  int status;
  std::string out, err;
};

class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "kbench-scripts-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
    fs::create_directories(path_ / "bin");
  }
  ~Folder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  void add_tool(const std::string& name) const {
    const fs::path tool = path_ / "bin" / name;
    std::ofstream(tool) << k_fake_tool;
    fs::permissions(tool, fs::perms::owner_all);
  }
  std::string read(const std::string& name) const {
    std::stringstream text;
    text << std::ifstream(path_ / name).rdbuf();
    return text.str();
  }
  /// Runs a script of the project in this folder; `variables` stand in front of it.
  Outcome run(const std::string& script, const std::string& arguments,
              const std::string& variables = "") const {
    const std::string command =
        "cd '" + path_.string() +
        "' && PATH=$PWD/bin:/usr/bin:/bin KBENCH='" KBENCH_BINARY_DIR "/bin/kbench' " + variables +
        " '" KBENCH_SOURCE_DIR "/scripts/" + script + "' " + arguments + " >out 2>err";
    const int status = std::system(command.c_str());
    return {WEXITSTATUS(status), read("out"), read("err")};
  }
  /// The only folder below profiles.
  fs::path report_folder() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(path_ / "profiles")) {
      found.push_back(entry.path());
    }
    REQUIRE(found.size() == 1);
    return found.front();
  }

 private:
  fs::path path_;
};

}  // namespace

TEST_CASE("a case line becomes a report and a summary, and what to open is printed") {
  struct Row {
    std::string script, tool, options, program;
  };
  const Row rows[] = {
      {"profile-nsys", "nsys",
       "options: profile --capture-range=cudaProfilerApi --capture-range-end=stop "
       "--trace=cuda,nvtx --cuda-graph-trace=node; ",
       " --only 0 --problem qr_v2 --repeats 1"},
      {"profile-ncu", "ncu", "options: --profile-from-start off --set full --clock-control none; ",
       " --only 0 --problem qr_v2"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.script);
    const Folder folder;
    folder.add_tool(row.tool);
    const Outcome outcome = folder.run(row.script, k_line);
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.status == 0);
    const fs::path reports = folder.report_folder();
    CHECK_THAT(outcome.out, StartsWith("+ " + row.tool + " "));
    CHECK_THAT(outcome.out, ContainsSubstring(row.options));
    CHECK_THAT(outcome.out, ContainsSubstring(row.program));
    CHECK_THAT(outcome.out,
               ContainsSubstring("\nopen: " + row.tool + "-ui " + (reports / "report").string() +
                                 "." + row.tool + "-rep\ntext: "));
    std::stringstream line;
    line << std::ifstream(reports / "case.txt").rdbuf();
    CHECK(line.str() == "batch: 2; n: 4; cond: 1; seed: 5\n");
    std::stringstream summary;
    summary << std::ifstream(reports / "summary.txt").rdbuf();
    CHECK_THAT(summary.str(), StartsWith(row.options));
  }
}

TEST_CASE("what stands in the way of a profile is said with the way out") {
  struct Row {
    std::string script, tool, arguments, variables, words;
  };
  const Row rows[] = {
      {"profile-nsys", "nsys", "", "", "profile-nsys: no case; give a case line or a file"},
      {"profile-nsys", "nsys", k_line, "KBENCH=/no/kbench", "no kbench at /no/kbench; build it"},
      {"profile-nsys", "nsys", k_line, "FAKE_STATUS=3", "the run failed; all of it is in "},
      {"profile-nsys", "nsys", k_line, "FAKE_NO_REPORT=1", "nsys wrote no "},
      {"profile-ncu", "ncu", k_line, "FAKE_NO_REPORT=1", "ncu wrote no "},
      {"profile-ncu", "ncu", k_line, "FAKE_SAYS='==ERROR== ERR_NVGPUCTRPERM'",
       "this user may not read the GPU's counters (ERR_NVGPUCTRPERM)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.script, row.variables);
    const Folder folder;
    folder.add_tool(row.tool);
    const Outcome outcome = folder.run(row.script, row.arguments, row.variables);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, ContainsSubstring(row.words));
    CHECK_THAT(outcome.out, !ContainsSubstring("open: "));
  }
}

TEST_CASE("what kbench refuses is not given to a profiler") {
  const Folder folder;
  folder.add_tool("nsys");
  const Outcome outcome = folder.run("profile-nsys", "'batch: 2; m: 4' --problem qr_v2");
  CHECK(outcome.status == 113);
  CHECK_THAT(outcome.err, ContainsSubstring("case.txt:1:"));
  CHECK(outcome.out.empty());
}
