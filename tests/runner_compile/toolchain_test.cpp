// Which compiler, and with which words.
#include "runner/toolchain.h"

#include "catch.h"
#include "core/expect_error.h"
#include "runner_compile/support.h"

using namespace kbench;
using namespace kbench::test;
using Words = std::vector<std::string>;

namespace {

bool has_sequence(const Words& words, const Words& wanted) {
  return std::search(words.begin(), words.end(), wanted.begin(), wanted.end()) != words.end();
}

}  // namespace

TEST_CASE("the extension decides the language") {
  CHECK(source_language("a/b.cu") == SourceLanguage::cuda);
  CHECK(source_language("b.cpp") == SourceLanguage::cxx);
  CHECK(source_language("b.x.cc") == SourceLanguage::cxx);
  CHECK(source_language("b.cxx") == SourceLanguage::cxx);
  CHECK(source_language("b.c") == SourceLanguage::c);
  for (const char* path : {"kernel.py", "kernel", "kernel.so", ".cu", "a.cu/kernel", ""}) {
    CAPTURE(path);
    CHECK_FALSE(is_source_path(path));
    const Said said = error_of([&] { source_language(path); });
    CHECK(said.code == 2);
    CHECK_THAT(said.text, ContainsSubstring("name a .cu, .cpp, .cc, .cxx or .c file"));
  }
}

TEST_CASE("architectures get the a suffix where it exists") {
  struct Row {
    const char* capability;
    const char* number;
  };
  for (const Row& row :
       {Row{"", "90a"}, Row{"9.0", "90a"}, Row{"8.0", "80"}, Row{"8.9", "89"}, Row{"7.5", "75"},
        Row{"10.0", "100a"}, Row{"10.3", "103a"}, Row{"12.0", "120a"}, Row{"12.1", "121a"}}) {
    CAPTURE(row.capability);
    CHECK(architecture_number(row.capability) == row.number);
  }
  for (const char* wrong :
       {"90", "9.", ".0", "sm_90", "9.0a", "9.0.1", "-9.0", "9.0 -o x", "native"}) {
    CAPTURE(wrong);
    const Said said = error_of([&] { architecture_number(wrong); });
    CHECK(said.code == 2);
    CHECK_THAT(said.text, ContainsSubstring("is no compute capability"));
  }
}

TEST_CASE("flags are split as a shell would, and nothing is expanded") {
  struct Row {
    const char* text;
    Words words;
  };
  const std::vector<Row> rows = {
      {"", {}},
      {"  \t\n", {}},
      {"-O2  -DN=3", {"-O2", "-DN=3"}},
      {"'-D X' \"a b\"c d\\ e", {"-D X", "a bc", "d e"}},
      {"$(touch pwn) `x` *", {"$(touch", "pwn)", "`x`", "*"}},
      {"'' \"\"", {"", ""}},
      {"'a\\b' \"q\\\"r\"", {"a\\b", "q\"r"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(split_flags(row.text) == row.words);
  }
  CHECK_THAT(error_of([] { split_flags("-D'X"); }).text,
             Equals("a quote ' is not closed (in `-D'X`); close it"));
}

TEST_CASE("the text of a command reads back as the same words") {
  const Words words = {"nvcc", "-DX=\"a b\"", "it's", "$(touch pwn)", "", "a\nb", "-I", "/x y"};
  CHECK(split_flags(shell_text(words)) == words);
  CHECK(shell_text({"nvcc", "-O3", "/a b"}) == "nvcc -O3 '/a b'");
}

TEST_CASE("a .cu goes through nvcc with the shared runtime, the architecture and the libraries") {
  const Toolchain nvcc{SourceLanguage::cuda, {"/t/bin/nvcc"}, "/t"};
  const CompilePaths paths{"k.cu", "src", "inc", "k.so", "pre.h", "deps"};
  const Words words = compile_argv(nvcc, paths, "10.0", {"-DUSER", "--maxrregcount=64"});
  CHECK(words[0] == "/t/bin/nvcc");
  for (const Words& wanted : std::vector<Words>{
           {"-O3", "-std=c++20", "-shared"},
           {"--cudart", "shared"},
           {"-lineinfo"},
           {"-gencode", "arch=compute_100a,code=sm_100a"},
           {"-Xcompiler", "-fPIC", "-Xcompiler", "-fvisibility=hidden"},
           {"-MMD", "-MF", "deps"},
           {"-I", "src", "-I", "inc", "-DUSER", "--maxrregcount=64", "k.cu", "-o", "k.so"},
           {"-lcublas", "-lcublasLt", "-lcusolver", "-lcusparse"}}) {
    CAPTURE(wanted);
    CHECK(has_sequence(words, wanted));
  }
}

TEST_CASE("C and C++ get their own standard and LAPACK") {
  const CompilePaths paths{"k.c", "src", "inc", "k.so", "", ""};
  const Words c = compile_argv({SourceLanguage::c, {"/bin/cc"}, ""}, paths, "", {});
  CHECK(has_sequence(c, {"-std=c11", "-shared", "-fPIC"}));
  CHECK(has_sequence(c, {"-llapacke", "-lopenblas"}));
  CHECK_FALSE(has_sequence(c, {"-MMD"}));
  CHECK_FALSE(has_sequence(c, {"-include"}));
  const Words cxx = compile_argv({SourceLanguage::cxx, {"/bin/c++"}, ""}, paths, "", {});
  CHECK(has_sequence(cxx, {"-std=c++20"}));
}

TEST_CASE("variables name the compilers, with words behind the program") {
  const TempFolder folder;
  const std::string program = write_script(folder / "my compiler", "exit 0\n");
  {
    const Variable cxx("CXX", program);
    CHECK(find_toolchain(SourceLanguage::cxx).compiler == Words{program});
  }
  {
    const Variable cxx("CXX", "'" + program + "' g++ -m64");
    CHECK(find_toolchain(SourceLanguage::cxx).compiler == Words{program, "g++", "-m64"});
  }
  {
    const Variable nvcc("KBENCH_NVCC", program);
    const Toolchain toolchain = find_toolchain(SourceLanguage::cuda);
    CHECK(toolchain.compiler == Words{program});
    CHECK(toolchain.toolkit == folder.path().parent_path().string());
  }
  {
    const Variable path("PATH", folder.path().string());
    write_script(folder / "cc", "exit 0\n");
    const Variable cc("CC", std::nullopt);
    CHECK(find_toolchain(SourceLanguage::c).compiler == Words{(folder / "cc").string()});
  }
}

TEST_CASE("a compiler that is missing is told in words") {
  const TempFolder folder;
  const Variable path("PATH", folder.path().string());
  const Variable cxx("CXX", std::nullopt);
  const Said none = error_of([] { find_toolchain(SourceLanguage::cxx); });
  CHECK(none.code == 2);
  CHECK(none.text == "no compiler (`c++` is not on PATH); install build-essential or set CXX");
  const Variable nvcc("KBENCH_NVCC", "/nowhere/nvcc");
  const Said wrong = error_of([] { find_toolchain(SourceLanguage::cuda); });
  CHECK(wrong.code == 2);
  CHECK(wrong.text ==
        "`/nowhere/nvcc` is no program (KBENCH_NVCC names it as the compiler); correct or unset "
        "KBENCH_NVCC");
  const Variable blank("CC", "   ");
  CHECK_THAT(error_of([] { find_toolchain(SourceLanguage::c); }).text,
             ContainsSubstring("CC names it as the compiler"));
}
