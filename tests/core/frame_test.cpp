#include "core/frame.h"

#include <stdexcept>

#include "catch.h"

using namespace kbench;
using namespace std::string_literals;

TEST_CASE("a frame fed byte by byte comes out whole and only then") {
  const std::string payload = "hello\0\n\xFF"s;
  const std::string frame = encode_frame(payload);
  FrameDecoder decoder;
  for (std::size_t i = 0; i < frame.size(); ++i) {
    CHECK_FALSE(decoder.next().has_value());
    decoder.feed(frame.substr(i, 1));
    CHECK_FALSE(decoder.empty());
  }
  CHECK(decoder.next() == payload);
  CHECK(decoder.empty());
  CHECK_FALSE(decoder.next().has_value());
}

TEST_CASE("several frames in one feed come out in order and the rest waits") {
  const std::string third = encode_frame("three");
  FrameDecoder decoder;
  decoder.feed(encode_frame("one") + encode_frame("") + third.substr(0, 9));
  CHECK(decoder.next() == "one");
  CHECK(decoder.next() == "");
  CHECK_FALSE(decoder.next().has_value());
  CHECK_FALSE(decoder.empty());
  decoder.feed(third.substr(9) + encode_frame("four"));
  CHECK(decoder.next() == "three");
  CHECK(decoder.next() == "four");
  CHECK(decoder.empty());
}

TEST_CASE("foreign bytes are refused at the first one that differs") {
  for (const char* bytes : {"x", "KBFx", "check: pass\n"}) {
    CAPTURE(bytes);
    FrameDecoder decoder;
    decoder.feed(bytes);
    CHECK_THROWS_AS(decoder.next(), std::runtime_error);
    decoder.feed(encode_frame("good"));
    CHECK_THROWS_AS(decoder.next(), std::runtime_error);
  }
  FrameDecoder behind;
  behind.feed(encode_frame("good") + "x");
  CHECK(behind.next() == "good");
  CHECK_THROWS_AS(behind.next(), std::runtime_error);
}

TEST_CASE("a length above the limit is refused before its payload comes") {
  FrameDecoder decoder;
  decoder.feed(encode_frame("").substr(0, 4) + "\x01\x00\x00\x04"s);
  CHECK_THROWS_AS(decoder.next(), std::runtime_error);
  CHECK_THROWS_AS(encode_frame(std::string(k_max_frame_bytes + 1, 'x')), std::runtime_error);
  FrameDecoder largest;
  largest.feed(encode_frame(std::string(k_max_frame_bytes, 'x')));
  CHECK(largest.next().value_or("").size() == k_max_frame_bytes);
}
