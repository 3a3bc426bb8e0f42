#include "core/sha256.h"

#include <vector>

#include "catch.h"

using namespace kbench;

TEST_CASE("SHA-256 gives the published digests") {
  struct Row {
    std::string text;
    const char* digest;
  };
  const std::vector<Row> rows{
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1'000'000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const Row& row : rows) CHECK(sha256_hex(row.text.data(), row.text.size()) == row.digest);
}

TEST_CASE("SHA-256 does not depend on how the bytes are cut") {
  std::string text(1000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  const std::string whole = sha256_hex(text.data(), text.size());
  for (const std::size_t step : {1u, 3u, 63u, 64u, 65u, 128u, 999u}) {
    CAPTURE(step);
    Sha256 hash;
    for (std::size_t at = 0; at < text.size(); at += step) {
      hash.update(text.data() + at, std::min(step, text.size() - at));
    }
    CHECK(hash.hex() == whole);
  }
}
