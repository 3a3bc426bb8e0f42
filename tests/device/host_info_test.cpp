// What the host device reads about its machine, from trees of files laid out as /proc and /sys are.
#include "device/host/host_info.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "catch.h"
#include "device/device.h"

namespace kbench::host {
namespace {

// A folder of its own that goes with the object.
class Tree {
 public:
  Tree() {
    std::string name = (std::filesystem::temp_directory_path() / "kbench-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  ~Tree() { std::filesystem::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

constexpr std::int64_t k_mib = 1 << 20;

void write_meminfo(const Tree& tree) {
  tree.write("/proc/meminfo", "MemTotal:  1048576 kB\nMemFree: 1 kB\nMemAvailable:  524288 kB\n");
}

TEST_CASE("free memory is MemAvailable without a control group") {
  const Tree tree;
  write_meminfo(tree);
  const Memory memory = read_memory(tree.root());
  CHECK(memory.total_bytes == 1024 * k_mib);
  CHECK(memory.free_bytes == 512 * k_mib);
}

TEST_CASE("a lower limit of a version 2 control group counts, page cache given back") {
  const Tree tree;
  write_meminfo(tree);
  tree.write("/proc/self/cgroup", "0::/box\n");
  tree.write("/sys/fs/cgroup/box/memory.max", "104857600\n");
  tree.write("/sys/fs/cgroup/box/memory.current", "73400320\n");
  tree.write("/sys/fs/cgroup/box/memory.stat", "anon 5\ninactive_file 10485760\n");
  const Memory memory = read_memory(tree.root());
  CHECK(memory.total_bytes == 100 * k_mib);
  CHECK(memory.free_bytes == 40 * k_mib);
}

TEST_CASE("a lower limit of a version 1 control group counts, also mounted as the root") {
  const Tree tree;
  write_meminfo(tree);
  tree.write("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/elsewhere\n");
  tree.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n");
  tree.write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "104857600\n");
  const Memory memory = read_memory(tree.root());
  CHECK(memory.total_bytes == 100 * k_mib);
  CHECK(memory.free_bytes == 0);
}

TEST_CASE("a control group without a limit changes nothing") {
  const Tree tree;
  write_meminfo(tree);
  tree.write("/proc/self/cgroup", "0::/box\n");
  tree.write("/sys/fs/cgroup/box/memory.max", "max\n");
  tree.write("/sys/fs/cgroup/box/memory.current", "73400320\n");
  CHECK(read_memory(tree.root()).free_bytes == 512 * k_mib);
}

TEST_CASE("a machine that hides its memory is an error in words") {
  const Tree tree;
  CHECK_THROWS_AS(read_memory(tree.root()), DeviceError);
  try {
    read_memory(tree.root());
  } catch (const DeviceError& error) {
    CHECK_THAT(error.what(), StartsWith("free memory is unknown"));
  }
}

TEST_CASE("the processor's model name is the first one of cpuinfo") {
  const Tree tree;
  CHECK(read_cpu_model(tree.root()) == "CPU");
  tree.write("/proc/cpuinfo", "processor\t: 0\nmodel\t\t: 17\nmodel name\t: Fast Chip 9\n");
  CHECK(read_cpu_model(tree.root()) == "Fast Chip 9");
}

TEST_CASE("the last-level cache is that of the highest level") {
  const Tree tree;
  CHECK(read_last_level_cache(tree.root()) == 0);
  const std::string caches = "/sys/devices/system/cpu/cpu0/cache/";
  tree.write(caches + "index0/level", "1\n");
  tree.write(caches + "index0/size", "32K\n");
  tree.write(caches + "index1/level", "3\n");
  tree.write(caches + "index1/size", "48M\n");
  tree.write(caches + "index2/level", "2\n");
  tree.write(caches + "index2/size", "1024K\n");
  CHECK(read_last_level_cache(tree.root()) == 48 * k_mib);
}

}  // namespace
}  // namespace kbench::host
