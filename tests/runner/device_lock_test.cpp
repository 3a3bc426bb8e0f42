// The lock of a device between processes, and what it says of its holder.
#include "runner/device_lock.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>

#include "catch.h"
#include "kbench_process.h"

using namespace kbench;
using Taken = std::variant<DeviceLock, std::string>;

namespace {

constexpr const char* k_dense = "batch: 2; n: 4; cond: 1; seed: 5\n";
constexpr const char* k_wait = "batch: 3; n: 4; cond: 1; seed: 6; case: wait\n";

}  // namespace

TEST_CASE("a second lock of a device is refused with the name of the holder") {
  const Tree tree;
  const Taken first = DeviceLock::take("GPU-1", tree.path("."));
  REQUIRE(std::holds_alternative<DeviceLock>(first));
  const Taken second = DeviceLock::take("GPU-1", tree.path("."));
  REQUIRE(std::holds_alternative<std::string>(second));
  const std::string words = std::get<std::string>(second);
  CHECK_THAT(words, StartsWith("device GPU-1 is taken by process " + std::to_string(getpid())));
  CHECK_THAT(words, ContainsSubstring("runner_tests"));
  CHECK_THAT(words, ContainsSubstring("--no-lock"));
}

TEST_CASE("locks of two devices do not meet") {
  const Tree tree;
  const Taken first = DeviceLock::take("GPU-1", tree.path("."));
  CHECK(std::holds_alternative<DeviceLock>(DeviceLock::take("GPU-2", tree.path("."))));
}

TEST_CASE("a lock ends with its object") {
  const Tree tree;
  {
    const Taken first = DeviceLock::take("GPU-1", tree.path("."));
    REQUIRE(std::holds_alternative<DeviceLock>(first));
  }
  CHECK(std::holds_alternative<DeviceLock>(DeviceLock::take("GPU-1", tree.path("."))));
}

TEST_CASE("a link at the lock's place is not followed") {
  const Tree tree;
  const std::string victim = tree.write("victim", "as it was");
  std::filesystem::create_symlink(victim, tree.path("kbench-GPU-1.lock"));
  const Taken taken = DeviceLock::take("GPU-1", tree.path("."));
  REQUIRE(std::holds_alternative<std::string>(taken));
  CHECK_THAT(std::get<std::string>(taken), StartsWith("cannot lock the device ("));
  CHECK(tree.read("victim") == "as it was");
}

TEST_CASE("a run locks its device, and another run says who has it") {
  const Tree tree;
  const std::string uuid = "test-" + std::to_string(getpid());
  const std::string fifo = tree.make_fifo("fifo");
  const Environment environment = {{"FAKE_FIFO", fifo}, {"FAKE_UUID", uuid}};
  const std::string waits = tree.write("wait.txt", k_wait);
  const std::string good = tree.write("good.txt", k_dense);
  Kbench holder(tree, {"test", waits, "--problem", "qr_v2"}, environment);
  read_processes(fifo);

  const Outcome refused = kbench_run(tree, {"test", good, "--problem", "qr_v2"}, environment);
  CHECK(refused.status == 110);
  CHECK_THAT(refused.err, ContainsSubstring("device " + uuid + "-0 is taken by process " +
                                            std::to_string(holder.process())));
  CHECK(refused.out.empty());
  const Outcome forced =
      kbench_run(tree, {"test", good, "--problem", "qr_v2", "--no-lock"}, environment);
  CHECK(forced.status == 0);

  // Killed, it releases nothing itself.
  kill(holder.process(), SIGKILL);
  waitpid(holder.process(), nullptr, 0);
  CHECK(kbench_run(tree, {"test", good, "--problem", "qr_v2"}, environment).status == 0);
  std::filesystem::remove("/tmp/kbench-" + uuid + "-0.lock");
}
