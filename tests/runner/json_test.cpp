// The results document: complete, valid, and on disk after every case.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include <cmath>
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
constexpr const char* k_wait = "batch: 3; n: 4; cond: 1; seed: 6; case: wait\n";

std::string two_cases() { return std::string(k_dense) + k_wrong; }

}  // namespace

TEST_CASE("the document holds the machine, the device, the settings and every case") {
  const Tree tree;
  const std::string file = tree.write("f.txt", two_cases());
  const Outcome outcome =
      kbench_run(tree, {"benchmark", file, "--problem", "qr_v2", "--only", "0,1", "--json",
                        tree.path("r.json"), "--range", "off", "--no-warmup", "--nonce", "9"});
  CHECK(outcome.status == 112);
  const json document = json::parse(tree.read("r.json"));
  CHECK(document["schema"] == "kbench.results/1");
  CHECK(document["mode"] == "benchmark");
  CHECK(document["command_line"].size() == 14);
  CHECK(document["started"].get<std::string>().back() == 'Z');
  for (const char* key : {"hostname", "os", "kernel", "cpu", "cores", "memory_bytes"}) {
    CHECK(document["machine"].contains(key));
  }
  CHECK(document["device"]["name"] == "Fake CPU");
  CHECK(document["device"]["clock"] == "steady_clock");
  CHECK(document["options"] == json::parse(R"({"flush_bytes": 4096, "range": false,
                                              "warm_up": false, "repeats": null, "nvcc_flags": []})"));
  CHECK(document["verdict"] == "fail");
  CHECK(document["exit_code"] == 112);
  CHECK(document["problems"][0]["geometric_mean_ns"].is_null());

  const json& good = document["cases"][0];
  CHECK(good["status"] == "pass");
  CHECK(good["samples_ns"] == json({1000.0, 1250.0, 1500.0}));
  CHECK(good["summary_ns"]["mean"] == 1250.0);
  CHECK(good["distribution_ns"] == json::parse(R"({"p10": 1050.0, "p25": 1125.0, "p75": 1375.0,
                                                  "p90": 1450.0, "median_95": null})"));
  CHECK(good["nominal"]["flops"] == 0.0);
  CHECK(good["nominal"]["tflop_per_s"].is_null());
  CHECK(good["nominal"]["floor_share"] == 0.1);
  CHECK(good["warnings"][0]["kind"] == "few repeats");
  CHECK(good["residuals"]["scaled_residual"] == 0.5);
  CHECK(good["kernel"]["name"] == "lapack");
  CHECK(good["kernel"]["source"].is_null());
  CHECK(good["inputs"][0]["ms"] == 1.5);
  CHECK(good["inputs"][0]["sha256"].is_null());
  CHECK(good["comparable"] == true);
  CHECK(good["error"].is_null());
  CHECK(good["n"] == 4);
  CHECK(good["case"] == "dense");
  const json& bad = document["cases"][1];
  CHECK(bad["status"] == "fail");
  CHECK(bad["error"] == "factor: matrix 3: 7 > 2; reproduce with --nonce 9");
  CHECK(bad["summary_ns"].is_null());
  CHECK(bad["distribution_ns"].is_null());
  CHECK(bad["warnings"].empty());
}

TEST_CASE("a filtered run keeps the original numbers of its cases") {
  const Tree tree;
  const std::string file = tree.write("f.txt", two_cases() + k_dense);
  kbench_run(tree, {"test", file, "--problem", "qr_v2", "--only", "2", "--json", tree.path("r")});
  const json document = json::parse(tree.read("r"));
  REQUIRE(document["cases"].size() == 1);
  CHECK(document["cases"][0]["index"] == 0);
  CHECK(document["cases"][0]["case_index"] == 2);
}

TEST_CASE("figures that are no numbers stand as strings and text is valid") {
  RunRecord record;
  record.mode = find_mode("benchmark");
  CaseRecord row;
  row.ended = true;
  row.error = "bad \xff byte";
  row.reply.samples_ns = {std::nan(""), INFINITY, -INFINITY, 1};
  row.reply.worst_of_gate = INFINITY;
  record.cases.push_back(row);
  const json document = json::parse(json_document(record));
  CHECK(document["cases"][0]["samples_ns"] == json({"nan", "inf", "-inf", 1.0}));
  CHECK(document["cases"][0]["worst_of_gate"] == "inf");
  CHECK(document["cases"][0]["error"] == "bad \xef\xbf\xbd byte");
}

TEST_CASE("why figures are no ranking stands in the table and in the document") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  struct Row {
    std::vector<std::string> arguments;
    Environment environment;
    json reason;
  };
  const std::vector<Row> rows = {
      {{"--repeats", "3"}, {}, "--repeats 3"},
      {{"--no-warmup"}, {}, nullptr},
      {{}, {{"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "/x"}}, "run under ncu"},
      {{}, {{"NV_NSIGHT_INJECTION_PORT_BASE", "1"}}, "run under ncu"},
      {{}, {{"NSYS_PROFILING_SESSION_ID", "1"}}, "run under nsys"},
      {{}, {{"CUDA_INJECTION64_PATH", "/x"}}, nullptr},
  };
  for (const Row& row : rows) {
    std::vector<std::string> arguments = {"benchmark", file,     "--problem",
                                          "qr_v2",     "--json", tree.path("r.json")};
    arguments.insert(arguments.end(), row.arguments.begin(), row.arguments.end());
    const Outcome outcome = kbench_run(tree, arguments, row.environment);
    CHECK(outcome.status == 0);
    const json document = json::parse(tree.read("r.json"));
    CHECK(document["cases"][0]["not_comparable_reason"] == row.reason);
    CHECK(document["cases"][0]["comparable"] == row.reason.is_null());
    const bool said = outcome.out.find("not comparable: ") != std::string::npos;
    CHECK(said != row.reason.is_null());
  }
}

TEST_CASE("a path that cannot be written is refused before anything runs") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  const std::string read_only = tree.write("old.json", "old");
  chmod(read_only.c_str(), 0444);
  for (const std::string& path : {read_only, tree.path("no/such/folder.json"), tree.path("bin")}) {
    CAPTURE(path);
    const Outcome outcome =
        kbench_run(tree, {"benchmark", file, "--json", path}, {{"FAKE_LOG", tree.path("log")}});
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, StartsWith("cannot write the results to `" + path + "`"));
    CHECK(outcome.out.empty());
    CHECK(tree.read("log").empty());
  }
  CHECK(tree.read("old.json") == "old");
}

TEST_CASE("results do not replace the case file that they are of") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  std::filesystem::create_symlink(file, tree.path("link.json"));
  for (const std::string& path : {file, tree.path("link.json")}) {
    CAPTURE(path);
    const Outcome outcome = kbench_run(tree, {"test", file, "--json", path});
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, ContainsSubstring("(it is the case file)"));
    CHECK(tree.read("f.txt") == k_dense);
  }
}

TEST_CASE("a link stays a link and its target is replaced") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  const std::string target = tree.write("real.json", "old");
  std::filesystem::create_symlink(target, tree.path("link.json"));
  CHECK(kbench_run(tree, {"test", file, "--json", tree.path("link.json")}).status == 0);
  CHECK(std::filesystem::is_symlink(tree.path("link.json")));
  CHECK(json::parse(tree.read("real.json"))["verdict"] == "pass");
}

TEST_CASE("an interruption loses no case that has ended") {
  const Tree tree;
  const std::string file = tree.write("f.txt", std::string(k_dense) + k_wait + k_dense);
  for (const int signal : {SIGTERM, SIGKILL}) {
    std::filesystem::remove(tree.path("fifo"));
    const std::string fifo = tree.make_fifo("fifo");
    Kbench kbench(tree, {"benchmark", file, "--problem", "qr_v2", "--json", tree.path("r.json")},
                  {{"FAKE_FIFO", fifo}});
    const std::vector<pid_t> processes = read_processes(fifo);
    kill(kbench.process(), signal);
    const Outcome outcome = kbench.wait();
    for (const pid_t process : processes) CHECK(is_gone(process));
    const json document = json::parse(tree.read("r.json"));
    CHECK(document["cases"][0]["summary_ns"]["mean"] == 1250.0);
    if (signal == SIGTERM) {
      CHECK(outcome.status == 112);
      CHECK(document["verdict"] == "fail");
      CHECK(document["cases"][1]["error"] == "stopped (interrupted)");
      CHECK(document["cases"][2]["error"] == "not run (interrupted)");
    } else {
      CHECK(outcome.status == 128 + SIGKILL);
      CHECK(document["finished"] == false);
      CHECK(document["verdict"].is_null());
      CHECK(document["cases"][1]["status"] == "not run");
    }
  }
}

TEST_CASE("a link to nothing stays a link and its target is made") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  std::filesystem::create_directories(tree.path("results"));
  std::filesystem::create_symlink("results/new.json", tree.path("link.json"));
  CHECK(kbench_run(tree, {"test", file, "--json", tree.path("link.json")}).status == 0);
  CHECK(std::filesystem::is_symlink(tree.path("link.json")));
  CHECK(json::parse(tree.read("results/new.json"))["verdict"] == "pass");
  std::filesystem::create_symlink("loop.json", tree.path("loop.json"));
  const Outcome loop = kbench_run(tree, {"test", file, "--json", tree.path("loop.json")});
  CHECK(loop.status == 2);
  CHECK_THAT(loop.err, ContainsSubstring("symbolic links"));
}

TEST_CASE("a run that ends before its first case leaves no file and an old one as it was") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  const std::string old = tree.write("results/old.json", "old");
  for (const std::string& path : {tree.path("results/new.json"), old}) {
    const Outcome outcome =
        kbench_run(tree, {"test", file, "--json", path}, {{"FAKE_HELLO", "no device"}});
    CHECK(outcome.status == 110);
  }
  CHECK(tree.read("results/old.json") == "old");
  std::size_t entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tree.path("results"))) {
    CHECK(entry.path() == old);
    ++entries;
  }
  CHECK(entries == 1);
}

TEST_CASE("pipes and devices are no place for results, descriptors of the caller are") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  for (const std::string& path : {tree.make_fifo("fifo"), std::string("/dev/full")}) {
    const Outcome outcome = kbench_run(tree, {"test", file, "--json", path});
    CHECK(outcome.status == 2);
    CHECK(outcome.err == "cannot write the results to `" + path +
                             "` (it is no regular file); give `--json` a writable path\n");
  }
  CHECK(kbench_run(tree, {"test", file, "--json", "/dev/null"}).status == 0);
  const Outcome out =
      kbench_run(tree, {"test", file, "--problem", "qr_v2", "--json", "/dev/stdout"});
  CHECK(out.status == 0);
  CHECK_THAT(out.out, ContainsSubstring("1 passed, 0 failed\n{\n"));
  CHECK(json::parse(out.out.substr(out.out.find("\n{\n")))["verdict"] == "pass");
  CHECK(kbench_run(tree, {"test", file, "--json", "/dev/fd/77"}).status == 2);
}

TEST_CASE("a new results file has the permissions that the caller gives to new files") {
  const Tree tree;
  const std::string file = tree.write("f.txt", k_dense);
  const mode_t before = umask(0027);
  CHECK(kbench_run(tree, {"test", file, "--json", tree.path("r.json")}).status == 0);
  umask(before);
  struct stat status {};
  REQUIRE(stat(tree.path("r.json").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}
