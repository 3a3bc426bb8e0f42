// Guards around arrays: layout, and what is said about each kind of damage.
#include "worker/guarded_buffer.h"

#include <cstdint>
#include <string>

#include "catch.h"
#include "fake_device.h"

using namespace kbench;
using namespace kbench::test;

TEST_CASE("arrays are 256-byte aligned whatever their sizes") {
  FakeDevice device;
  GuardedBuffers buffers(device);
  for (const std::int64_t bytes : {4, 36, 4096, 1000}) buffers.add("an array", bytes);
  buffers.allocate();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    CHECK(reinterpret_cast<std::uintptr_t>(buffers.data(i)) % 256 == 0);
  }
  CHECK(buffers.breach().empty());
}

TEST_CASE("a write up to a guard's length outside an array is attributed to it") {
  struct Row {
    std::size_t array;
    std::int64_t offset;  // from the array's start, or from its end where positive
    bool from_end;
    const char* breach;
  };
  const Row rows[] = {
      {0, 0, true, "wrote 1 bytes after first"},
      {0, k_guard_bytes - 1, true, "wrote 1 bytes after first"},
      {0, -1, false, "wrote 1 bytes before first"},
      {0, -k_guard_bytes, false, "wrote 1 bytes before first"},
      {1, -1, false, "wrote 1 bytes before second"},
      {1, -k_guard_bytes, false, "wrote 1 bytes before second"},
      {1, 0, true, "wrote 1 bytes after second"},
      {2, k_guard_bytes - 1, true, "wrote 1 bytes after third"},
  };
  for (const Row& row : rows) {
    FakeDevice device;
    GuardedBuffers buffers(device);
    buffers.add("first", 36);
    buffers.add("second", 1024);
    buffers.add("third", 12);
    buffers.allocate();
    char* data = static_cast<char*>(buffers.data(row.array));
    data[row.offset + (row.from_end ? buffers.bytes(row.array) : 0)] ^= 1;
    CHECK(buffers.breach() == row.breach);
  }
}

TEST_CASE("writes inside the arrays are no breach") {
  FakeDevice device;
  GuardedBuffers buffers(device);
  buffers.add("first", 36);
  buffers.add("second", 100);
  buffers.allocate();
  device.fill(buffers.data(0), 0, 36);
  device.fill(buffers.data(1), 0, 100);
  CHECK(buffers.breach().empty());
}

TEST_CASE("a set without arrays allocates nothing and has no breach") {
  FakeDevice device;
  GuardedBuffers buffers(device);
  buffers.allocate();
  CHECK(device.allocated == 0);
  CHECK(buffers.breach().empty());
}
