// Nothing is compiled twice, and nothing stale, broken or half written is ever used.
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

#include "catch.h"
#include "core/expect_error.h"
#include "runner/compile_cache.h"
#include "runner_compile/support.h"

using namespace kbench;
using namespace kbench::test;

namespace {

/// A source with a header, and a compiler that counts how often it compiles.
struct Bench {
  TempFolder folder;
  std::string header = write(folder / "side.h", "#define SIDE 1\n");
  std::string source = write(folder / "k.cpp", simple_source("#include \"side.h\""));
  Variable cxx{"CXX", write_script(folder / "cxx", "case $1 in --version) ;; *) echo >> '" +
                                                       (folder / "runs").string() +
                                                       "';; esac\nexec c++ \"$@\"\n")};
  CompileRequest request = request_for(source, folder / "cache");

  std::size_t compilations() const { return count_lines(folder / "runs"); }
  /// The files of the only entry.
  fs::path entry() const {
    fs::path found;
    for (const auto& item : fs::directory_iterator(folder / "cache/kernels")) {
      REQUIRE(found.empty());
      found = item.path();
    }
    return found;
  }
};

}  // namespace

TEST_CASE("the second time nothing is compiled") {
  const Bench bench;
  const CompileResult first = compile(bench.request), second = compile(bench.request);
  REQUIRE(first.ok);
  REQUIRE(second.ok);
  CHECK_FALSE(first.cached);
  CHECK(second.cached);
  CHECK(second.library == first.library);
  CHECK(bench.compilations() == 1);
}

TEST_CASE("whatever goes into a plug-in makes it new") {
  struct Row {
    const char* what;
    std::function<void(Bench&)> change;
  };
  const std::vector<Row> rows = {
      {"the source",
       [](Bench& b) { write(b.source, simple_source("#include \"side.h\"\nint more;")); }},
      {"a header beside it", [](Bench& b) { write(b.header, "#define SIDE 2\n"); }},
      {"that header's absence",
       [](Bench& b) {
         fs::remove(b.header);
         b.request.extra_flags = {"-I", write(b.folder / "other/side.h", "#define SIDE 3\n")
                                            .substr(0, (b.folder / "other").string().size())};
       }},
      {"the flags", [](Bench& b) { b.request.extra_flags = {"-DX=1"}; }},
      {"kbench's header",
       [](Bench& b) {
         const std::string text = read(fs::path(k_header_folder) / "kbench_kernel.h");
         write(b.folder / "headers/kbench_kernel.h", text + "/* newer */\n");
         b.request.header_folder = (b.folder / "headers").string();
       }},
      {"the compiler's version",
       [](Bench& b) {
         std::string script = read(b.folder / "cxx");
         script.replace(script.find("--version) "), 11, "--version) echo newer ");
         write(b.folder / "cxx", script);
       }},
      {"the compiler's variables", [](Bench&) { setenv("CPLUS_INCLUDE_PATH", "/tmp", 1); }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    Bench bench;
    const Variable include_path("CPLUS_INCLUDE_PATH", std::nullopt);
    REQUIRE(compile(bench.request).ok);
    row.change(bench);
    const CompileResult changed = compile(bench.request);
    INFO(changed.output);
    REQUIRE(changed.ok);
    CHECK_FALSE(changed.cached);
    CHECK(compile(bench.request).cached);
    CHECK(bench.compilations() == 2);
  }
}

TEST_CASE("the same text in another folder is another plug-in") {
  Bench bench;
  REQUIRE(compile(bench.request).ok);
  write(bench.folder / "b/side.h", "#define SIDE 2\n");
  bench.request.source = write(bench.folder / "b/k.cpp", read(bench.source));
  CHECK_FALSE(compile(bench.request).cached);
}

TEST_CASE("a damaged entry is made anew") {
  struct Row {
    const char* what;
    std::function<void(const fs::path&)> damage;
  };
  const auto flip = [](const fs::path& file) {
    std::string bytes = read(file);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write(file, bytes);
  };
  const std::vector<Row> rows = {
      {"one bit of the library", [&](const fs::path& e) { flip(e / "kernel.so"); }},
      {"half of the library",
       [](const fs::path& e) {
         fs::resize_file(e / "kernel.so", fs::file_size(e / "kernel.so") / 2);
       }},
      {"no library", [](const fs::path& e) { fs::remove(e / "kernel.so"); }},
      {"one bit of the seal", [&](const fs::path& e) { flip(e / "entry"); }},
      {"half of the seal",
       [](const fs::path& e) { fs::resize_file(e / "entry", fs::file_size(e / "entry") / 2); }},
      {"an empty seal", [](const fs::path& e) { fs::resize_file(e / "entry", 0); }},
      {"no seal", [](const fs::path& e) { fs::remove(e / "entry"); }},
      {"other words", [](const fs::path& e) { write(e / "output.txt", "other words\n"); }},
      {"no words", [](const fs::path& e) { fs::remove(e / "output.txt"); }},
      {"a file in its place",
       [](const fs::path& e) {
         fs::remove_all(e);
         write(e, "not a folder");
       }},
      {"an empty folder",
       [](const fs::path& e) {
         fs::remove_all(e);
         fs::create_directory(e);
       }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const Bench bench;
    const CompileResult first = compile(bench.request);
    REQUIRE(first.ok);
    const std::string good = read(first.library);
    row.damage(bench.entry());
    const CompileResult again = compile(bench.request);
    REQUIRE(again.ok);
    CHECK_FALSE(again.cached);
    CHECK(again.library == first.library);
    CHECK(read(again.library).size() == good.size());
    CHECK(compile(bench.request).cached);
    CHECK(bench.entry() == fs::path(first.library).parent_path());
  }
}

TEST_CASE("several at once get a whole plug-in each, and one entry is left") {
  const Bench bench;
  std::vector<CompileResult> results(4);
  std::vector<std::thread> threads;
  for (CompileResult& result : results) {
    threads.emplace_back([&] { result = compile(bench.request); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const CompileResult& result : results) {
    CHECK(result.ok);
    CHECK(result.library == results[0].library);
  }
  CHECK(compile(bench.request).cached);
  CHECK(bench.entry() == fs::path(results[0].library).parent_path());
}

TEST_CASE("build folders of a killed run are removed after a day") {
  const Bench bench;
  const fs::path kernels = bench.folder / "cache/kernels";
  const fs::path old = kernels / ".build-old", young = kernels / ".build-young";
  write(old / "left", "x");
  write(young / "left", "x");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(25));
  REQUIRE(compile(bench.request).ok);
  CHECK_FALSE(fs::exists(old));
  CHECK(fs::exists(young));
}

TEST_CASE("a build folder goes once its owner does not live any more") {
  const Bench bench;
  const fs::path kernels = bench.folder / "cache/kernels";
  const fs::path left = kernels / ".build-left";
  write(left / "file", "x");
  const PrivateFolder owned((kernels / ".build-").string());
  for (const fs::path& folder : {fs::path(owned.path()), left}) {
    fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::minutes(2));
  }
  REQUIRE(compile(bench.request).ok);
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(owned.path()));
}

TEST_CASE("the cache lies where XDG says") {
  const Variable home("HOME", "/home/somebody");
  {
    const Variable cache("XDG_CACHE_HOME", "/var/somewhere");
    CHECK(default_cache_folder() == "/var/somewhere/kbench");
  }
  for (const std::optional<std::string>& value :
       {std::optional<std::string>(), std::optional<std::string>(""),
        std::optional<std::string>("relative")}) {
    const Variable cache("XDG_CACHE_HOME", value);
    CHECK(default_cache_folder() == "/home/somebody/.cache/kbench");
  }
  const Variable cache("XDG_CACHE_HOME", std::nullopt);
  const Variable nowhere("HOME", std::nullopt);
  CHECK_THAT(error_of([] { default_cache_folder(); }).text,
             ContainsSubstring("set XDG_CACHE_HOME"));
}

TEST_CASE("a cache that cannot be written is refused in words") {
  Bench bench;
  bench.request.cache_folder = write(bench.folder / "file", "x");
  const Said said = error_of([&] { compile(bench.request); });
  CHECK(said.code == 2);
  CHECK_THAT(said.text, StartsWith("cannot use the cache folder `" + bench.request.cache_folder));
  CHECK_THAT(said.text, ContainsSubstring("make it writable or set XDG_CACHE_HOME"));
}
