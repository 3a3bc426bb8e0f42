// A C or C++ source becomes a plug-in; the user's paths and mistakes are shown as they are.
#include "runner/compile.h"

#include <dlfcn.h>
#include <unistd.h>

#include "catch.h"
#include "core/expect_error.h"
#include "core/text.h"
#include "kbench_kernel.h"
#include "runner_compile/support.h"

using namespace kbench;
using namespace kbench::test;

namespace {

const kbench_kernel* load(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  return static_cast<const kbench_kernel*>(dlsym(handle, "kbench_kernel_descriptor"));
}

/// Every file below `folder` whose name begins with `pwn`.
std::size_t pwned(const fs::path& folder) {
  std::size_t count = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (file.path().filename().string().starts_with("pwn")) ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a simple source becomes a plug-in that is named after its file") {
  const TempFolder folder;
  const std::string source = write(folder / "my first-one.cpp", simple_source());
  const CompileResult result = compile(request_for(source, folder / "cache"));
  INFO(result.output << result.error);
  REQUIRE(result.ok);
  CHECK_FALSE(result.cached);
  CHECK(result.output.empty());
  CHECK(result.error.empty());
  CHECK(result.seconds > 0);
  const kbench_kernel* kernel = load(result.library);
  REQUIRE(kernel != nullptr);
  CHECK(kernel->abi_version == KBENCH_ABI_VERSION);
  CHECK(std::string(kernel->name) == "my_first-one");
  CHECK(std::string(kernel->problem) == "qr_v2");
  CHECK(kernel->device == KBENCH_HOST);
  CHECK(kernel->output_layout == KBENCH_COLUMN_MAJOR);
  CHECK(kernel->flags == 0u);
  CHECK(kernel->create == nullptr);
}

TEST_CASE("the simple form takes every signature, and hands on an int") {
  struct Row {
    const char* file;
    std::string text;
    int code;
  };
  const std::string arguments = "(const float*, float*, float*, int64_t, int64_t, void*)";
  const std::string c_arguments =
      "(const float* a, float* h, float* t, int64_t b, int64_t n, void* s) {"
      "(void)a;(void)h;(void)t;(void)b;(void)n;(void)s;";
  const std::string macro =
      "\nKBENCH_SIMPLE_KERNEL_WITH(eigh_py, KBENCH_HOST, KBENCH_ROW_MAJOR, "
      "KBENCH_SYNCHRONISES_HOST)\n";
  const std::string include = "#include \"kbench_kernel.h\"\n";
  const std::vector<Row> rows = {
      {"a.cpp", include + "extern \"C\" int custom_kernel" + arguments + "{ return 7; }" + macro,
       7},
      {"b.cpp", include + "static int custom_kernel" + arguments + "{ return -3; }" + macro, -3},
      {"c.cc", include + "void custom_kernel" + arguments + "{}" + macro, 0},
      {"d.cxx",
       include +
           "struct CUstream_st;\nint custom_kernel(const float*, float*, float*, int64_t, "
           "int64_t, CUstream_st*) { return 5; }" +
           macro,
       5},
      {"e.c", include + "int custom_kernel" + c_arguments + "return 9; }" + macro, 9},
      {"f.c", include + "void custom_kernel" + c_arguments + "}" + macro, 0},
  };
  const TempFolder folder;
  for (const Row& row : rows) {
    CAPTURE(row.file);
    CompileRequest request = request_for(write(folder / row.file, row.text), folder / "cache");
    request.extra_flags = {"-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"};
    if (std::string(row.file) == "a.cpp") request.extra_flags.push_back("-std=c++17");
    const CompileResult result = compile(request);
    INFO(result.output);
    REQUIRE(result.ok);
    const kbench_kernel* kernel = load(result.library);
    REQUIRE(kernel != nullptr);
    CHECK(kernel->flags == KBENCH_SYNCHRONISES_HOST);
    CHECK(kernel->output_layout == KBENCH_ROW_MAJOR);
    kbench_tensor input{}, outputs[2] = {};
    kbench_call call{};
    call.inputs = &input;
    call.outputs = outputs;
    CHECK(kernel->custom_kernel(nullptr, &call) == row.code);
  }
}

TEST_CASE("the simple form hands over data, sizes and stream") {
  const TempFolder folder;
  const std::string source =
      write(folder / "k.cpp",
            "#include \"kbench_kernel.h\"\n"
            "int custom_kernel(const float* a, float* h, float* tau, int64_t batch, int64_t n,\n"
            "                  void* stream) {\n"
            "  h[0] = a[0] + 1; tau[0] = a[0] + 2;\n"
            "  return static_cast<int>(batch * 100 + n * 10) + (stream == a ? 1 : 0);\n"
            "}\n"
            "KBENCH_SIMPLE_KERNEL(qr_v2, KBENCH_HOST, KBENCH_COLUMN_MAJOR)\n");
  const CompileResult result = compile(request_for(source, folder / "cache"));
  REQUIRE(result.ok);
  float a = 5, h = 0, tau = 0;
  kbench_tensor input{}, outputs[2] = {};
  input.data = &a;
  input.size[0] = 3;
  input.size[1] = input.size[2] = 4;
  outputs[0].data = &h;
  outputs[1].data = &tau;
  kbench_call call{};
  call.inputs = &input;
  call.outputs = outputs;
  call.stream = &a;
  CHECK(load(result.library)->custom_kernel(nullptr, &call) == 341);
  CHECK(h == 6);
  CHECK(tau == 7);
}

TEST_CASE("a mistake is shown in the compiler's words at the user's own line") {
  const TempFolder folder;
  write(folder / "broken.h", "int from_header = missing_in_header;\n");
  const std::string source = write(
      folder / "my kernel.cpp", simple_source("#include \"broken.h\"\nint x = missing_in_source;"));
  CompileRequest request = request_for(source, folder / "cache");
  const CompileResult result = compile(request);
  CHECK_FALSE(result.ok);
  CHECK(result.library.empty());
  CHECK(result.error == "`" + source +
                            "` does not compile (c++: exit status 1); see the compiler's "
                            "words");
  CHECK_THAT(result.output, ContainsSubstring(source + ":3:9: error:"));
  CHECK_THAT(result.output, ContainsSubstring(" int x = missing_in_source;"));
  CHECK_THAT(result.output, ContainsSubstring((folder / "broken.h").string() + ":1:19: error:"));
  CHECK(result.output.find("kbench_source") == std::string::npos);
  // Nothing of it stays, and it is not remembered.
  for (const auto& entry : fs::directory_iterator(folder / "cache/kernels")) {
    CHECK(entry.path().string() == "nothing");
  }
  write(source, simple_source());
  CHECK(compile(request).ok);
}

TEST_CASE("a function that nobody defines is found when compiling") {
  const TempFolder folder;
  const std::string source =
      write(folder / "k.cpp", simple_source("void nobody();\nvoid caller() { nobody(); }"));
  const CompileResult result = compile(request_for(source, folder / "cache"));
  CHECK_FALSE(result.ok);
  CHECK_THAT(result.output, ContainsSubstring("undefined reference to `nobody()'"));
}

TEST_CASE("odd characters in paths work and never run anything") {
  const std::vector<std::string> names = {
      "a b",           "a [1] (2) {3}",   "k$(touch pwn)", "k`touch pwn`",  "it's \"q\"",
      "a;touch pwn;",  "a\ntouch pwn\nb", "back\\slash",   "dollar $HOME",  "glob*?~#&|<>!",
      "j\xc3\xbcrgen", "bad\xff utf8",    "-o pwn",        "comma,equals=x"};
  for (const std::string& name : names) {
    CAPTURE(name);
    const TempFolder folder;
    const fs::path odd = folder / ("dir " + name);
    write(odd / (name + ".h"), "inline int from_header() { return 1; }\n");
    const bool quotable = name.find_first_of("\"\n\\") == std::string::npos;
    const std::string include = quotable ? "#include \"" + name + ".h\"\n" : "";
    const std::string source = write(odd / (name + ".cpp"), simple_source(include));
    const CompileRequest request = request_for(source, odd / ("cache " + name));
    const CompileResult result = compile(request);
    INFO(result.output);
    REQUIRE(result.ok);
    CHECK(load(result.library) != nullptr);
    CHECK(compile(request).cached);
    CHECK(to_valid_utf8(result.command) == result.command);

    write(source, simple_source("int x = missing;"));
    const CompileResult wrong = compile(request);
    CHECK_FALSE(wrong.ok);
    CHECK_THAT(wrong.output, ContainsSubstring(to_valid_utf8(source) + ":2:9: error:"));
    CHECK(pwned(folder.path()) == 0);
    CHECK_FALSE(fs::remove("pwn"));
  }
}

TEST_CASE("files beside the source are found, and ours do not hide them") {
  const TempFolder folder;
  write(folder / "common/up.h", "#define UP 1\n");
  write(folder / "k/sub/inner.h", "#include \"../side.h\"\n#include \"../../common/up.h\"\n");
  write(folder / "k/side.h", "#define SIDE 1\n");
  write(folder / "k/kernel.cpp", "#define KERNEL 1\n");
  write(folder / "k/prelude.h", "#define PRELUDE 1\n");
  const std::string source = write(
      folder / "k/my.cpp",
      simple_source("#include \"sub/inner.h\"\n#include \"kernel.cpp\"\n#include \"prelude.h\"\n"
                    "static_assert(UP + SIDE + KERNEL + PRELUDE == 4);\n"
                    "static_assert(sizeof(__FILE__) > 1 && __LINE__ == 6);"));
  const CompileResult result = compile(request_for(source, folder / "cache"));
  INFO(result.output);
  CHECK(result.ok);
}

TEST_CASE("a byte order mark and a missing last newline are no mistakes") {
  const TempFolder folder;
  std::string text = "\xef\xbb\xbf" + simple_source();
  text.pop_back();
  const CompileResult result =
      compile(request_for(write(folder / "k.cpp", text), folder / "cache"));
  INFO(result.output);
  CHECK(result.ok);
}

TEST_CASE("warnings are shown, also from the cache, as valid UTF-8") {
  const TempFolder folder;
  const std::string source =
      write(folder / "k.cpp", simple_source("#warning careful \xff\nint unused;"));
  const CompileRequest request = request_for(source, folder / "cache");
  const CompileResult first = compile(request);
  REQUIRE(first.ok);
  CHECK_THAT(first.output, ContainsSubstring("careful"));
  CHECK(to_valid_utf8(first.output) == first.output);
  const CompileResult second = compile(request);
  CHECK(second.cached);
  CHECK(second.output == first.output);
}

TEST_CASE("the command line shows the user's paths") {
  const TempFolder folder;
  const std::string source = write(folder / "k.cpp", simple_source());
  CompileRequest request = request_for(source, folder / "cache");
  request.extra_flags = {"-DA=b c"};
  const CompileResult result = compile(request);
  CHECK_THAT(result.command, ContainsSubstring("c++ -O3 -std=c++20 -shared"));
  CHECK_THAT(result.command, ContainsSubstring("-I " + k_header_folder));
  CHECK_THAT(result.command, ContainsSubstring("'-DA=b c' " + source + " -o k.so"));
}

TEST_CASE("what is no kernel source is refused in words") {
  const TempFolder folder;
  fs::create_directory(folder / "folder.cpp");
  const Said missing =
      error_of([&] { compile(request_for(folder / "missing.cpp", folder / "cache")); });
  CHECK(missing.code == 2);
  CHECK(missing.text == "cannot read the kernel `" + (folder / "missing.cpp").string() +
                            "` (no readable file is there); check the path, or write one with "
                            "`kbench new`");
  CHECK(error_of([&] { compile(request_for(folder / "folder.cpp", folder / "cache")); }).code == 2);
  CHECK(error_of([&] { compile(request_for(folder / "k.py", folder / "cache")); }).code == 2);
  CompileRequest request = request_for(write(folder / "k.cpp", simple_source()), folder / "cache");
  request.header_folder = folder.path().string();
  CHECK_THAT(error_of([&] { compile(request); }).text,
             ContainsSubstring("cannot read `kbench_kernel.h`"));
}

TEST_CASE("a compiler that does not run is no mistake of the kernel") {
  const TempFolder folder;
  const Variable cxx("CXX", write_script(folder / "cxx", "echo broken installation; exit 9\n"));
  const std::string source = write(folder / "k.cpp", simple_source());
  const Said said = error_of([&] { compile(request_for(source, folder / "cache")); });
  CHECK(said.code == 2);
  CHECK_THAT(said.text, ContainsSubstring("does not run (exit status 9: broken installation\\n)"));
}

TEST_CASE("a compiler that hangs is ended at the time limit or when the run is cancelled") {
  const TempFolder folder;
  const Variable cxx("CXX", write_script(folder / "cxx",
                                         "case $1 in --version) echo 1; exit;; "
                                         "esac\necho started; exec sleep 1000\n"));
  const std::string source = write(folder / "k.cpp", simple_source());
  CompileRequest request = request_for(source, folder / "cache");
  request.time_limit_s = 0.3;
  const CompileResult late = compile(request);
  CHECK_FALSE(late.ok);
  CHECK(late.output == "started\n");
  CHECK_THAT(late.error, ContainsSubstring("does not compile (cxx: time limit of 0.3 s)"));
  request.time_limit_s = 0;
  int asked = 0;
  request.cancelled = [&] { return ++asked > 5; };
  const CompileResult cancelled = compile(request);
  CHECK_FALSE(cancelled.ok);
  CHECK_THAT(cancelled.error, ContainsSubstring("interrupted"));
}
