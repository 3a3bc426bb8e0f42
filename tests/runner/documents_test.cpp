// The exports beside JSON: what they hold, that no text can break their form, and that each is on
// disk from the start and after every case.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "kbench_process.h"
#include "runner/report.h"

using namespace kbench;
using nlohmann::json;

namespace {

constexpr const char* k_dense = "batch: 2; n: 4; cond: 1; seed: 5\n";
constexpr const char* k_wrong = "batch: 3; n: 4; cond: 1; seed: 6; case: wrong\n";
constexpr const char* k_wait = "batch: 3; n: 4; cond: 1; seed: 7; case: wait\n";
constexpr const char* k_flags[] = {"--json", "--csv", "--markdown", "--junit"};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// A measured case, a failed one with the worst of texts, and one that has not run.
RunRecord record_of() {
  RunRecord record;
  record.mode = find_mode("benchmark");
  record.tags = {{"branch", "a,b"}};
  CaseRecord good;
  good.spec = {"qr_v2", "batch: 2; n: 4", 2, 4, 1, 5, "dense", ""};
  good.kernel.name = "lapack";
  good.ended = good.passed = true;
  good.reply.samples_ns = {1000, 1250, 1500};
  good.summary = summarize(good.reply.samples_ns);
  good.distribution = describe_distribution(good.reply.samples_ns);
  CaseRecord bad = good;
  bad.passed = false;
  bad.summary.reset();
  bad.error = "a, \"b\" <c> & |d|\nnew\x01 line\xff";
  CaseRecord later = good;
  later.ended = later.passed = false;
  later.summary.reset();
  record.cases = {good, bad, later};
  return record;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

}  // namespace

TEST_CASE("comma-separated values have one line a case under one heading") {
  const std::vector<std::string> lines = lines_of(csv_document(record_of()));
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[0], StartsWith("index,case_index,problem,batch,n,cond,seed,case,spec,kernel,"
                                  "device,status,median_ns,median_low_ns,median_high_ns,mean_ns,"));
  CHECK_THAT(lines[0], ContainsSubstring(",warnings,error,tag.branch"));
  CHECK_THAT(lines[1], StartsWith("0,0,qr_v2,2,4,1,5,dense,batch: 2; n: 4,lapack,,pass,1250,,,1250,"
                                  "250,"));
  CHECK_THAT(lines[1], ContainsSubstring(",few repeats,,\"a,b\""));
  CHECK_THAT(lines[2], ContainsSubstring(",fail,"));
  CHECK_THAT(lines[2], ContainsSubstring("\"a, \"\"b\"\" <c> & |d|\\nnew\\x01 line\xef\xbf\xbd\""));
  CHECK_THAT(lines[3], ContainsSubstring(",not run,"));
}

TEST_CASE("every line of a Markdown table has the cells of its heading") {
  const std::string text = markdown_document(record_of());
  std::vector<std::size_t> bars;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("|")) bars.push_back(count(line, "|") - count(line, "\\|"));
  }
  REQUIRE(bars.size() == 5);
  for (const std::size_t cells : bars) CHECK(cells == bars.front());
  CHECK_THAT(text, ContainsSubstring("| 1.2"));
  CHECK_THAT(text, ContainsSubstring("**FAIL**: a, \"b\" \\<c\\> & \\|d\\|\\\\nnew\\\\x01 line"));
  CHECK_THAT(text, ContainsSubstring("branch: a,b"));
  CHECK_THAT(text, ContainsSubstring("- case 0: only 3 repeats"));
}

TEST_CASE("JUnit counts tests, failures and skipped ones and escapes what XML reserves") {
  const std::string text = junit_document(record_of());
  CHECK(count(text, "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\"") == 2);
  CHECK_THAT(text, ContainsSubstring("<property name=\"tag.branch\" value=\"a,b\"/>"));
  CHECK_THAT(text, ContainsSubstring("<failure message=\"a, &quot;b&quot; &lt;c&gt; &amp; |d|\\nnew"
                                     "\\x01 line\xef\xbf\xbd\"/>"));
  CHECK_THAT(text, ContainsSubstring("<skipped message=\"not run\"/>"));
  CHECK_THAT(text, ContainsSubstring("<system-out>median 1.25 us, mean 1.25 us"));
  CHECK(count(text, "<testcase ") == count(text, "</testcase>"));
}

TEST_CASE("every export is refused at once where it cannot be written") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  for (const std::string flag : k_flags) {
    for (const std::string& path : {tree.path("no/such/folder"), tree.path("bin"), file}) {
      CAPTURE(flag, path);
      const Outcome outcome =
          kbench_run(tree, {"benchmark", file, flag, path}, {{"FAKE_LOG", tree.path("log")}});
      CHECK(outcome.status == 2);
      CHECK_THAT(outcome.err, StartsWith("cannot write the results to `" + path + "`"));
      CHECK_THAT(outcome.err, ContainsSubstring("give `" + flag + "`"));
      CHECK(tree.read("log").empty());
      CHECK(tree.read("f.txt") == k_dense);
    }
  }
}

TEST_CASE("two exports do not share a file") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  const Outcome outcome =
      kbench_run(tree, {"test", file, "--json", tree.path("r"), "--csv", tree.path("./r")});
  CHECK(outcome.status == 2);
  CHECK_THAT(outcome.err, StartsWith("`--json` and `--csv` name one file"));
  CHECK(kbench_run(
            tree, {"test", file, "--problem", "qr_v2", "--csv", "/dev/null", "--json", "/dev/null"})
            .status == 0);
}

TEST_CASE("every export exists while the first case runs and holds each case that has ended") {
  const Tree tree;
  const std::string file = tree.write("f.txt", std::string(k_dense) + k_wrong + k_wait);
  const std::string fifo = tree.make_fifo("fifo");
  std::vector<std::string> arguments = {"benchmark", file, "--problem", "qr_v2", "--tag", "a=1"};
  for (const std::string flag : k_flags) {
    arguments.push_back(flag);
    arguments.push_back(tree.path("r" + flag));
  }
  Kbench kbench(tree, arguments, {{"FAKE_FIFO", fifo}});
  const std::vector<pid_t> processes = read_processes(fifo);
  kill(kbench.process(), SIGKILL);
  kbench.wait();
  for (const pid_t process : processes) CHECK(is_gone(process));
  CHECK(json::parse(tree.read("r--json"))["cases"][1]["status"] == "fail");
  CHECK(json::parse(tree.read("r--json"))["tags"] == json({{"a", "1"}}));
  CHECK(count(tree.read("r--csv"), ",fail,") == 1);
  CHECK(count(tree.read("r--csv"), ",not run,") == 1);
  CHECK(count(tree.read("r--markdown"), "**FAIL**") == 1);
  CHECK(count(tree.read("r--junit"), "<failure") == 1);
  CHECK(count(tree.read("r--junit"), "<skipped") == 1);
}

TEST_CASE("a tag is a key and a value, each key once") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  struct Row {
    std::vector<std::string> tags;
    std::string words;
  };
  const std::vector<Row> rows = {
      {{"novalue"}, "`novalue` is no value for `--tag`; give KEY=VALUE"},
      {{"=x"}, "`=x` is no value for `--tag`"},
      {{"a b=x"}, "`a b=x` is no value for `--tag`"},
      {{"a=1", "a=2"}, "`--tag` names `a` twice"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> arguments = {"test", file};
    for (const std::string& tag : row.tags) {
      arguments.push_back("--tag");
      arguments.push_back(tag);
    }
    const Outcome outcome = kbench_run(tree, arguments);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, StartsWith(row.words));
  }
  const Outcome outcome = kbench_run(tree, {"test", "--tag", "a=x=y", "--tag", "b=", file,
                                            "--problem", "qr_v2", "--json", tree.path("r")});
  CHECK(outcome.status == 0);
  CHECK(json::parse(tree.read("r"))["tags"] == json({{"a", "x=y"}, {"b", ""}}));
}
