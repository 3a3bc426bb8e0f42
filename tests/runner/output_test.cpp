// The bound on a worker's chatter.
#include "runner/output.h"

#include <vector>

#include "catch.h"

using namespace kbench;

namespace {

struct Lines {
  std::vector<std::string> lines;
  OutputForwarder forwarder{[this](std::string_view line) { lines.emplace_back(line); }};
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const std::string& line : lines) sum += line.size() + 1;
    return sum;
  }
};

constexpr const char* k_cut = "... output of the worker cut (64 KiB for one case)";

}  // namespace

TEST_CASE("whole lines are passed on and pieces are joined") {
  Lines out;
  out.forwarder.take("one\ntw");
  out.forwarder.take("o\nthr");
  CHECK(out.lines == std::vector<std::string>{"one", "two"});
  out.forwarder.flush();
  CHECK(out.lines == std::vector<std::string>{"one", "two", "thr"});
}

TEST_CASE("bytes that are no UTF-8 are replaced") {
  Lines out;
  out.forwarder.take(
      "a\xff"
      "b\n");
  CHECK(out.lines == std::vector<std::string>{"a\xef\xbf\xbd"
                                              "b"});
}

TEST_CASE("more than 64 KiB of one case is cut with one line that says so") {
  for (const std::string& text : {std::string(99, 'x') + "\n", std::string(70000, 'y')}) {
    Lines out;
    for (int i = 0; i < 1000; ++i) out.forwarder.take(text);
    out.forwarder.flush();
    REQUIRE(!out.lines.empty());
    CHECK(out.lines.back() == k_cut);
    CHECK(out.bytes() <= OutputForwarder::k_limit + 100);
    CHECK(out.bytes() > OutputForwarder::k_limit - 100);
    out.forwarder.begin_case();
    out.forwarder.take("next\n");
    CHECK(out.lines.back() == "next");
  }
}

TEST_CASE("exactly what fits is not cut") {
  Lines out;
  out.forwarder.take(std::string(OutputForwarder::k_limit - 1, 'x') + "\n");
  out.forwarder.flush();
  CHECK(out.lines.size() == 1);
}

TEST_CASE("control characters of a kernel's output do not reach the terminal") {
  Lines out;
  out.forwarder.take("\x1b[2J\x1b]0;title\x07 at\ttab\r\n\xc2\x9b");
  out.forwarder.flush();
  CHECK(out.lines == std::vector<std::string>{"\\x1b[2J\\x1b]0;title\\x07 at\ttab\\r", "\\u009b"});
}
