// Runs of several ranks on one machine, with workers that do what the case's name says. The
// launcher is the real one; ranks are killed and stopped as the tests need it.
#include <signal.h>
#include <unistd.h>

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
