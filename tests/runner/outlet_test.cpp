// Output that never waits for its reader: held, left out with a word, and complete when it is read.
#include "runner/outlet.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "catch.h"
#include "kbench_process.h"
#include "runner/fd.h"
#include "runner/standard_streams.h"

using namespace kbench;

namespace {

struct Channel {
  Fd read, write;
};

Channel make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  return {Fd(ends[0]), Fd(ends[1])};
}

Channel make_sockets() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) throw std::runtime_error("socketpair");
  return {Fd(ends[0]), Fd(ends[1])};
}

std::string numbered_lines(int first, int count) {
  std::string text;
  for (int i = first; i < first + count; ++i) text += fmt::format("line {} {:>80}\n", i, "x");
  return text;
}

/// Reads and pumps in turn until the outlet has nothing left.
std::string read_all(Outlet& outlet, int fd) {
  fcntl(fd, F_SETFL, O_NONBLOCK);
  std::string text;
  std::array<char, 65536> bytes;
  for (;;) {
    const ssize_t count = read(fd, bytes.data(), bytes.size());
    if (count > 0) text.append(bytes.data(), static_cast<std::size_t>(count));
    if (count <= 0 && !outlet.pump()) return text;
  }
}

/// Nothing more goes into it.
void fill(int pipe) {
  fcntl(pipe, F_SETFL, O_NONBLOCK);
  const std::string page(4096, 'x');
  while (write(pipe, page.data(), page.size()) > 0) {
  }
  fcntl(pipe, F_SETFL, 0);
}

}  // namespace

TEST_CASE("what a slow reader takes late is complete and in order") {
  for (const auto& make : {make_pipe, make_sockets}) {
    const Channel channel = make();
    Outlet outlet(channel.write.get());
    const std::string text = numbered_lines(0, 5000);
    outlet.put(text.substr(0, 1000));
    outlet.put(text.substr(1000));
    CHECK(outlet.held() > 0);
    CHECK(read_all(outlet, channel.read.get()) == text);
    CHECK(outlet.left_out() == 0);
  }
}

TEST_CASE("beyond its room an outlet leaves out whole lines and says how many") {
  Channel channel = make_pipe();
  Outlet outlet(channel.write.get());
  const int lines = static_cast<int>(Outlet::k_room / 80);
  const std::string text = numbered_lines(0, lines);
  // In pieces that end in the middle of a line, as a stream's buffer does.
  for (std::size_t at = 0; at < text.size(); at += 4096) outlet.put(text.substr(at, 4096));
  CHECK(outlet.held() < Outlet::k_room + 200);
  CHECK(outlet.left_out() > 0);
  const std::string got = read_all(outlet, channel.read.get());
  CHECK(text.substr(0, got.size()) == got);
  CHECK(got.back() == '\n');
  const auto kept = std::count(got.begin(), got.end(), '\n');
  CHECK(kept + outlet.left_out() == lines);
  outlet.put("last\n");
  CHECK(read_all(outlet, channel.read.get()) ==
        fmt::format("... {} lines left out (nobody read them in time)\nlast\n", outlet.left_out()));
}

TEST_CASE("a reader that is gone costs nothing") {
  Channel channel = make_pipe();
  Outlet outlet(channel.write.get());
  channel.read.reset();
  signal(SIGPIPE, SIG_IGN);
  outlet.put("a\n");
  outlet.put("b\n");
  CHECK(outlet.held() == 0);
  CHECK(outlet.left_out() == 0);
}

TEST_CASE("a full stdout and stderr that nobody reads delay neither results nor the end") {
  const Tree tree;
  const std::string file = tree.write("f.txt",
                                      "batch: 2; n: 4; cond: 1; seed: 5; case: chatter\n"
                                      "batch: 2; n: 4; cond: 1; seed: 5\n");
  Channel streams = make_pipe(), lines = make_pipe();
  fill(streams.write.get());
  const std::string number = std::to_string(lines.write.get());
  Kbench kbench(tree, {"test", file, "--problem", "qr_v2", "--json", tree.path("r.json")},
                {{"POPCORN_FD", number}}, {lines.write.get()}, streams.write.get(),
                streams.write.get());
  CHECK(kbench.wait().status == 0);
  CHECK_THAT(tree.read("r.json"), ContainsSubstring("\"verdict\": \"pass\""));
  std::array<char, 65536> bytes;
  const ssize_t count = read(lines.read.get(), bytes.data(), bytes.size());
  REQUIRE(count > 0);
  CHECK_THAT(std::string(bytes.data(), static_cast<std::size_t>(count)),
             ContainsSubstring("check: pass\n"));
}

TEST_CASE("a stdout that nobody reads ends with a note, and TERM still ends the run") {
  const Tree tree;
  const std::string dense = "batch: 2; n: 4; cond: 1; seed: 5\n";
  const std::string file =
      tree.write("f.txt", dense + "batch: 2; n: 4; cond: 1; seed: 5; case: wait\n" + dense);
  Channel out = make_pipe();
  fill(out.write.get());
  const std::string fifo = tree.make_fifo("fifo");
  Kbench kbench(tree, {"test", file, "--problem", "qr_v2"}, {{"FAKE_FIFO", fifo}}, {},
                out.write.get());
  const std::vector<pid_t> processes = read_processes(fifo);
  kill(kbench.process(), SIGTERM);
  const Outcome outcome = kbench.wait();
  CHECK(outcome.status == 112);
  for (const pid_t process : processes) CHECK(kill(process, 0) != 0);
  CHECK_THAT(outcome.err, ContainsSubstring("lines of stdout are left out (nobody read them in "
                                            "time); read stdout, or take the results from "
                                            "`--json`\n"));
}

// A profiler's library does so: it flushes at exit the `stdout` that it found when it was loaded.
TEST_CASE("whoever kept the stream of a run may write to it when the run is over") {
  Channel channel = make_pipe();
  const pid_t child = fork();
  if (child == 0) {
    dup2(channel.write.get(), STDOUT_FILENO);
    std::FILE* kept = nullptr;
    {
      StandardStreams streams;
      kept = stdout;
      std::fputs("in the run\n", kept);
      streams.finish(1, nullptr);
    }
    std::fputs("behind it\n", kept);
    std::fflush(kept);
    _exit(stdout == kept ? 1 : 0);
  }
  channel.write = Fd();
  std::string text;
  std::array<char, 256> bytes;
  for (ssize_t count = 0; (count = read(channel.read.get(), bytes.data(), bytes.size())) > 0;) {
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(text == "in the run\nbehind it\n");
}
