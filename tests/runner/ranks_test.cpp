// Runs of several ranks on one machine, with workers that do what the case's name says. The
// launcher is the real one; ranks are killed and stopped as the tests need it.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.h"
#include "kbench_process.h"
#include "runner/command.h"
#include "runner/descendants.h"

using namespace kbench;
using nlohmann::json;
using Strings = std::vector<std::string>;

namespace {

std::string cases(const Strings& names) {
  std::string text;
  for (const std::string& name : names) {
    text += "batch: 2; n: 4; cond: 1; seed: 5; case: " + name + "\n";
  }
  return text;
}

/// `mpirun -n R kbench MODE cases.txt ...` in a folder of its own.
class RankRun {
 public:
  RankRun(int ranks, const Strings& names, const Strings& options = {},
          const Environment& environment = {}, const std::string& mode = "test")
      : fifo_(tree_.make_fifo("fifo")) {
    command_.argv = {KBENCH_MPIRUN,
                     "-n",
                     std::to_string(ranks),
                     tree_.path("bin/kbench"),
                     mode,
                     tree_.write("cases.txt", cases(names)),
                     "--problem",
                     "qr_v2",
                     "--json",
                     tree_.path("r.json")};
    command_.argv.insert(command_.argv.end(), options.begin(), options.end());
    command_.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                            {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                            {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                            {"FAKE_BROKEN", tree_.path(".")},
                            {"FAKE_FIFO", fifo_}};
    command_.environment.insert(command_.environment.end(), environment.begin(), environment.end());
    command_.time_limit_s = 60;
    result_ = std::async(std::launch::async, [this] { return run_command(command_); });
  }

  /// Worker, keeper and rank of the case that waits.
  std::vector<pid_t> waiting() const { return read_processes(fifo_); }

  const CommandResult& wait() {
    if (result_.valid()) outcome_ = result_.get();
    return outcome_;
  }
  json document() const { return json::parse(tree_.read("r.json"), nullptr, false); }
  /// Once the results are complete; false when they are not within ten seconds.
  bool has_finished() const {
    for (int round = 0; round < 1000; ++round) {
      const json now = document();
      if (now.is_object() && now["finished"] == true) return true;
      usleep(10000);
    }
    return false;
  }

 private:
  Tree tree_;
  std::string fifo_;
  Command command_;
  std::future<CommandResult> result_;
  CommandResult outcome_;
};

/// What must not depend on the number of ranks.
json verdicts(json document) {
  for (json& row : document["cases"]) {
    for (const char* key : {"place", "wall_s", "comparable", "not_comparable_reason"}) {
      row.erase(key);
    }
    row["kernel"].erase("path");  // in a folder of each run
  }
  return document["cases"];
}

pid_t parent_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(file, line);
  return std::stoi(line.substr(line.rfind(')') + 4));
}

std::vector<pid_t> tree_below(pid_t process) {
  std::vector<pid_t> tree;
  for (pid_t child : children_of(process)) {
    tree.push_back(child);
    const std::vector<pid_t> below = tree_below(child);
    tree.insert(tree.end(), below.begin(), below.end());
  }
  return tree;
}

const Environment k_recovery = {{"OMPI_MCA_orte_enable_recovery", "1"}};

const Strings k_together = {"--together", "--repeats", "3"};

}  // namespace

TEST_CASE("one to four ranks give the same verdicts in the same order", "[ranks]") {
  json first;
  for (int ranks : {1, 2, 3, 4}) {
    RankRun run(ranks, {"dense", "echo", "wrong", "dense", "segv", "echo"});
    CHECK(run.wait().status == 112);
    const json rows = verdicts(run.document());
    REQUIRE(rows.size() == 6);
    CHECK(rows[4]["error"] == "worker killed by SIGSEGV before replying");
    if (ranks == 1) first = rows;
    CHECK(rows == first);
  }
}

TEST_CASE("every rank takes cases and only rank 0 writes", "[ranks]") {
  RankRun run(2, {"slow", "slow", "slow", "slow"});
  const CommandResult& result = run.wait();
  CHECK(result.status == 0);
  const json document = run.document();
  CHECK(document["places"][1]["name"] == "rank 1 host");
  CHECK(document["places"][1]["rank"] == 1);
  CHECK(document["cases"][0]["place"] == 0);
  CHECK(document["cases"][1]["place"] == 1);
  const std::string& out = result.output;
  CHECK(out.find("qr_v2: kernel") == out.rfind("qr_v2: kernel"));
}

TEST_CASE("a slow rank keeps nobody waiting", "[ranks]") {
  RankRun run(2, {"slow", "dense", "dense", "dense", "dense"});
  CHECK(run.wait().status == 0);
  const json rows = run.document()["cases"];
  for (int i = 1; i < 5; ++i) CHECK(rows[i]["place"] == 1);
}

TEST_CASE("the case of a killed rank goes to another one", "[ranks]") {
  RankRun run(2, {"slow", "waitonce", "dense"}, {}, k_recovery);
  const std::vector<pid_t> processes = run.waiting();
  REQUIRE(processes.size() == 3);
  kill(processes[2], SIGKILL);
  const CommandResult& result = run.wait();
  CHECK(result.end == CommandResult::End::exited);
  CHECK_THAT(result.output, ContainsSubstring("rank 1 host is left out from here on (rank 1 on "));
  CHECK_THAT(result.output, ContainsSubstring("is gone (its connection closed)"));
  const json document = run.document();
  CHECK(document["verdict"] == "pass");
  CHECK(document["cases"][1]["place"] == 0);
  for (pid_t process : processes) CHECK(is_gone(process));
}

TEST_CASE("a launcher that ends the job for a killed rank still gets a verdict", "[ranks]") {
  RankRun run(2, {"idle", "waitonce"});
  const std::vector<pid_t> processes = run.waiting();
  REQUIRE(processes.size() == 3);
  kill(processes[2], SIGKILL);
  CHECK(run.wait().end == CommandResult::End::exited);
  const json document = run.document();
  CHECK(document["finished"] == true);
  CHECK(document["verdict"] == "fail");
  for (const json& row : document["cases"]) CHECK(row["status"] == "fail");
  for (pid_t process : processes) CHECK(is_gone(process));
}

TEST_CASE("when rank 0 is killed nothing is left of the others", "[ranks]") {
  for (const Environment& environment : {Environment{}, k_recovery}) {
    RankRun run(2, {"waitonce", "idle"}, {}, environment);
    const std::vector<pid_t> processes = run.waiting();
    REQUIRE(processes.size() == 3);
    const pid_t launcher = parent_of(processes[2]);
    const std::vector<pid_t> all = tree_below(launcher);
    CHECK(all.size() >= 6);  // two ranks, each with a keeper and a worker
    kill(processes[2], SIGKILL);
    CHECK(run.wait().end == CommandResult::End::exited);
    for (pid_t process : all) CHECK(is_gone(process));
  }
}

TEST_CASE("a rank that stops is lost after a bounded wait", "[ranks]") {
  RankRun run(2, {"slow", "waitonce", "dense"}, {"--rank-timeout", "1"});
  const std::vector<pid_t> processes = run.waiting();
  REQUIRE(processes.size() == 3);
  kill(processes[2], SIGSTOP);
  CHECK(run.has_finished());
  kill(processes[2], SIGKILL);
  CHECK_THAT(run.wait().output, ContainsSubstring("is gone (not a word for 1 s; `--rank-timeout"));
  const json document = run.document();
  CHECK(document["verdict"] == "pass");
  CHECK(document["cases"][1]["place"] == 0);
}

TEST_CASE("wrong usage is said once and ends all ranks", "[ranks]") {
  RankRun run(2, {"dense"}, {"--devices", "0,0"});
  const CommandResult& result = run.wait();
  CHECK(result.status == 2);
  const std::string words = "`0,0` is no value for `--devices`";
  CHECK(result.output.find(words) != std::string::npos);
  CHECK(result.output.find(words) == result.output.rfind(words));
}

TEST_CASE("a result descriptor that the launcher has closed is refused with a way out", "[ranks]") {
  RankRun dead(2, {"dense"}, {}, {{"POPCORN_FD", "7"}});
  CHECK(dead.wait().status == 111);
  CHECK_THAT(dead.wait().output, ContainsSubstring("`POPCORN_FD=7` is unusable (not open; Open MPI "
                                                   "closes all descriptors but 0 to 2"));
  RankRun alive(2, {"dense", "dense"}, {}, {{"POPCORN_FD", "1"}});
  CHECK(alive.wait().status == 0);
  CHECK_THAT(alive.wait().output, ContainsSubstring("test.1.status: pass"));
  CHECK_THAT(alive.wait().output, ContainsSubstring("check: pass"));
}

TEST_CASE("2 and 4 ranks run every case together, with the same verdicts", "[ranks][together]") {
  for (std::size_t ranks : {2u, 4u}) {
    RankRun run(static_cast<int>(ranks), {"dense", "dense", "wrong"}, k_together, {}, "benchmark");
    CHECK(run.wait().status == 112);
    const json document = run.document();
    CHECK_THAT(document["cases"][0]["not_comparable_reason"].get<std::string>(),
               ContainsSubstring("--together (the slowest of " + std::to_string(ranks)));
    CHECK_THAT(document["cases"][2]["error"].get<std::string>(),
               ContainsSubstring("rank 0 host: factor: matrix 3: 7 > 2"));
    for (int i : {0, 1}) {
      const json together = document["cases"][i]["together"];
      REQUIRE(together["workers"].size() == ranks);
      CHECK(document["cases"][i]["samples_ns"] == json({1000, 1000, 1000}));
      CHECK(together["workers"][1]["summary_ns"]["median"] == 1000);
      // The fake workers of one machine begin when they are told to, to within 200 ns.
      CHECK(together["start_skew"]["samples_ns"] == json({0, 0, 0}));
      CHECK(together["workers"][1]["starts_ns"][2] == together["workers"][0]["starts_ns"][2]);
    }
  }
}

TEST_CASE("the slowest rank of a repeat is its time", "[ranks][together]") {
  RankRun run(2, {"oneslow"}, k_together, {}, "benchmark");
  const CommandResult& result = run.wait();
  CHECK(result.status == 0);
  CHECK_THAT(result.output,
             ContainsSubstring("together: 2 workers, medians of 3 repeats: slowest"));
  const json row = run.document()["cases"][0];
  CHECK(row["samples_ns"] == json({5000, 5000, 5000}));
  CHECK(row["together"]["fastest"]["samples_ns"] == json({1000, 1000, 1000}));
  CHECK(row["together"]["mean"]["samples_ns"] == json({3000, 3000, 3000}));
}

TEST_CASE("a wrong answer of one rank is the verdict", "[ranks][together]") {
  RankRun run(2, {"onewrong", "dense"}, k_together, {}, "benchmark");
  CHECK(run.wait().status == 112);
  const json rows = run.document()["cases"];
  CHECK_THAT(rows[0]["error"].get<std::string>(),
             ContainsSubstring("rank 1 host: factor: matrix 3"));
  CHECK(rows[1]["status"] == "pass");
}

TEST_CASE("a worker killed between two starts ends its case, and all go on", "[ranks][together]") {
  RankRun run(2, {"onewaits", "dense"}, k_together, {}, "benchmark");
  const std::vector<pid_t> processes = run.waiting();
  REQUIRE(processes.size() == 3);
  kill(processes[0], SIGKILL);
  CHECK(run.wait().status == 112);
  const json rows = run.document()["cases"];
  CHECK_THAT(rows[0]["error"].get<std::string>(), ContainsSubstring("worker killed by SIGKILL"));
  CHECK(rows[0]["together"].is_null());
  CHECK(rows[1]["status"] == "pass");
}

TEST_CASE("without one rank nothing runs together any more", "[ranks][together]") {
  struct Row {
    int signal;
    const char* words;
  };
  for (const Row& row : {Row{SIGKILL, "is gone (its connection closed)"},
                         Row{SIGSTOP, "is gone (not a word for 1 s; `--rank-timeout"}}) {
    Strings options = k_together;
    options.insert(options.end(), {"--rank-timeout", "1"});
    RankRun run(2, {"onewaits", "dense"}, options, k_recovery, "benchmark");
    const std::vector<pid_t> processes = run.waiting();
    REQUIRE(processes.size() == 3);
    kill(processes[2], row.signal);
    CHECK(run.has_finished());
    kill(processes[2], SIGKILL);
    run.wait();
    const json rows = run.document()["cases"];
    CHECK_THAT(rows[0]["error"].get<std::string>(), ContainsSubstring(row.words));
    CHECK_THAT(rows[1]["error"].get<std::string>(), ContainsSubstring("`--together` needs all"));
    for (pid_t process : processes) CHECK(is_gone(process));
  }
}

TEST_CASE("when rank 0 is killed between two starts nothing is left of the others",
          "[ranks][together]") {
  RankRun run(3, {"onewaits"}, k_together, k_recovery, "benchmark");
  const std::vector<pid_t> processes = run.waiting();
  REQUIRE(processes.size() == 3);
  const pid_t launcher = parent_of(processes[2]);
  const std::vector<pid_t> all = tree_below(launcher);
  CHECK(all.size() >= 9);  // three ranks, each with a keeper and a worker
  const std::vector<pid_t> ranks = children_of(launcher);
  REQUIRE(ranks.size() == 3);
  kill(*std::min_element(ranks.begin(), ranks.end()), SIGKILL);
  CHECK(run.wait().end == CommandResult::End::exited);
  for (pid_t process : all) CHECK(is_gone(process));
}

TEST_CASE("one worker cannot run together, nor with launches held back", "[together]") {
  const Tree tree;
  const std::string file = tree.write("c.txt", cases({"dense"}));
  const Strings alone = {"benchmark", file, "--problem", "qr_v2", "--together"};
  const Outcome lonely = kbench_run(tree, alone);
  CHECK(lonely.status == 2);
  CHECK_THAT(lonely.err, ContainsSubstring("`--together` needs several workers (there is one)"));
  Strings queued = alone;
  queued.insert(queued.end(), {"--launch", "queued", "--devices", "host,host"});
  CHECK_THAT(kbench_run(tree, queued).err, ContainsSubstring("exclude each other"));
}

TEST_CASE("the workers of one process run together too", "[together]") {
  const Tree tree;
  const std::string file = tree.write("c.txt", cases({"dense"}));
  const Outcome outcome =
      kbench_run(tree, {"benchmark", file, "--problem", "qr_v2", "--together", "--repeats", "4",
                        "--devices", "host,host,host", "--json", tree.path("r.json")});
  CHECK(outcome.status == 0);
  const json row = json::parse(tree.read("r.json"))["cases"][0];
  CHECK(row["together"]["workers"].size() == 3);
  CHECK(row["stop"] == "repeats");
  CHECK(row["samples_ns"].size() == 4);
}

TEST_CASE("under a profiler the workers that run together hold nothing back", "[together]") {
  const Tree tree;
  const std::string file = tree.write("c.txt", cases({"dense"}));
  for (const bool watched : {false, true}) {
    std::map<std::string, std::string> environment;
    if (watched) environment["NSYS_PROFILING_SESSION_ID"] = "1";
    kbench_run(tree,
               {"benchmark", file, "--problem", "qr_v2", "--together", "--repeats", "2",
                "--devices", "host,host", "--json", tree.path("r.json")},
               environment);
    const json row = json::parse(tree.read("r.json"))["cases"][0];
    const json start = row["together"]["workers"][1]["starts_ns"][0];
    // The fake worker takes 200 ns to see that it was let go.
    const std::int64_t width_ns = start[1].get<std::int64_t>() - start[0].get<std::int64_t>();
    CHECK(width_ns == (watched ? 0 : 200));
  }
}
