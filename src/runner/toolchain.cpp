// Finds nvcc and the host compilers and writes their argument lists. Starts nothing and knows no
// cache.
#include "runner/toolchain.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/error.h"
#include "core/text.h"

namespace kbench {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* k_usual_nvcc = "/usr/local/cuda/bin/nvcc";

struct Extension {
  std::string_view text;
  SourceLanguage language;
};
constexpr Extension k_extensions[] = {{".cu", SourceLanguage::cuda},
                                      {".cpp", SourceLanguage::cxx},
                                      {".cc", SourceLanguage::cxx},
                                      {".cxx", SourceLanguage::cxx},
                                      {".c", SourceLanguage::c}};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool is_program(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

/// Absolute path of a program named by a path or to be found on PATH; empty when there is none.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return is_program(name) ? fs::absolute(name).string() : std::string();
  }
  const std::string path = variable("PATH");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path folder = path.substr(begin, end - begin);
    if (!folder.empty() && is_program(folder / name)) return fs::absolute(folder / name).string();
    begin = end + 1;
  }
  return "";
}

/// The compiler that variable `name` names: a path, or words such as `ccache g++`.
Words compiler_of_variable(const char* name, const std::string& value) {
  Words words = is_program(value) ? Words{value} : split_flags(value);
  const std::string program = words.empty() ? std::string() : find_program(words[0]);
  if (program.empty()) {
    throw Error(ExitCode::usage, fmt::format("`{}` is no program ({} names it as the compiler); "
                                             "correct or unset {}",
                                             value, name, name));
  }
  words[0] = program;
  return words;
}

Words find_nvcc() {
  const std::string named = variable("KBENCH_NVCC");
  if (!named.empty()) return compiler_of_variable("KBENCH_NVCC", named);
  std::string program = find_program("nvcc");
  if (program.empty()) program = find_program(k_usual_nvcc);
  if (program.empty()) {
    throw Error(ExitCode::usage,
                fmt::format("no CUDA compiler (`nvcc` is neither on PATH nor {}); install the CUDA "
                            "toolkit or set KBENCH_NVCC",
                            k_usual_nvcc));
  }
  return {program};
}

Words find_host_compiler(const char* name, const char* usual) {
  const std::string named = variable(name);
  if (!named.empty()) return compiler_of_variable(name, named);
  const std::string program = find_program(usual);
  if (program.empty()) {
    throw Error(ExitCode::usage, fmt::format("no compiler (`{}` is not on PATH); install "
                                             "build-essential or set {}",
                                             usual, name));
  }
  return {program};
}

/// `<toolkit>/bin/nvcc`, links followed.
std::string toolkit_of(const std::string& nvcc) {
  std::error_code error;
  const fs::path real = fs::canonical(nvcc, error);
  return error ? std::string() : real.parent_path().parent_path().string();
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

void append_cuda_flags(Words& words, const std::string& architecture) {
  const std::string number = architecture_number(architecture);
  append(words, {"-O3", "-std=c++20", "-shared", "-Xcompiler", "-fPIC", "-Xcompiler",
                 "-fvisibility=hidden", "--cudart", "shared", "-lineinfo", "-Xptxas", "-v",
                 "-gencode", fmt::format("arch=compute_{0},code=sm_{0}", number)});
}

/// A library that the kernel does not use is not loaded with it; a function that nobody defines is
/// an error here and not at load time.
void append_cuda_libraries(Words& words, const std::string& toolkit) {
  append(words, {"-Xlinker", "--as-needed", "-Xlinker", "-z", "-Xlinker", "defs"});
  std::error_code error;
  for (const char* folder : {"lib64", "lib"}) {
    const fs::path libraries = fs::path(toolkit) / folder;
    if (toolkit.empty() || !fs::exists(libraries / "libcudart.so", error)) continue;
    append(words, {"-L", libraries.string(), "-Xlinker", "-rpath", "-Xlinker", libraries.string()});
    break;
  }
  append(words, {"-lcublas", "-lcublasLt", "-lcusolver", "-lcusparse"});
}

}  // namespace

bool is_source_path(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  for (const Extension& row : k_extensions) {
    if (row.text == extension) return true;
  }
  return false;
}

SourceLanguage source_language(const std::string& path) {
  const std::string extension = fs::path(path).extension().string();
  for (const Extension& row : k_extensions) {
    if (row.text == extension) return row.language;
  }
  throw Error(
      ExitCode::usage,
      fmt::format("`{}` is no kernel source (its extension is `{}`); name a .cu, .cpp, .cc, "
                  ".cxx or .c file",
                  to_one_line(path), to_one_line(extension)));
}

Toolchain find_toolchain(SourceLanguage language) {
  switch (language) {
    case SourceLanguage::cuda: {
      const Words nvcc = find_nvcc();
      return {language, nvcc, toolkit_of(nvcc[0])};
    }
    case SourceLanguage::cxx:
      return {language, find_host_compiler("CXX", "c++"), ""};
    case SourceLanguage::c:
      return {language, find_host_compiler("CC", "cc"), ""};
  }
  return {};
}

std::string architecture_number(const std::string& capability) {
  const std::string text = capability.empty() ? "9.0" : capability;
  const std::size_t point = text.find('.');
  const auto is_number = [](const std::string& digits) {
    return !digits.empty() && digits.size() <= 2 &&
           digits.find_first_not_of("0123456789") == std::string::npos;
  };
  const std::string major = text.substr(0, point);
  const std::string minor = point == std::string::npos ? "" : text.substr(point + 1);
  if (!is_number(major) || !is_number(minor)) {
    throw Error(ExitCode::usage, fmt::format("`{}` is no compute capability (two numbers and a "
                                             "point are expected); write it as in `9.0`",
                                             to_one_line(capability)));
  }
  const bool has_suffix = std::stoi(major) >= 10 || text == "9.0";
  return major + minor + (has_suffix ? "a" : "");
}

std::vector<std::string> compile_argv(const Toolchain& toolchain, const CompilePaths& paths,
                                      const std::string& architecture,
                                      const std::vector<std::string>& extra_flags) {
  const bool cuda = toolchain.language == SourceLanguage::cuda;
  Words words = toolchain.compiler;
  if (cuda) {
    append_cuda_flags(words, architecture);
  } else {
    const bool is_c = toolchain.language == SourceLanguage::c;
    append(words, {"-O3", is_c ? "-std=c11" : "-std=c++20", "-shared", "-fPIC", "-pthread",
                   "-fvisibility=hidden"});
  }
  if (!paths.depfile.empty()) append(words, {"-MMD", "-MF", paths.depfile});
  if (!paths.prelude.empty()) append(words, {"-include", paths.prelude});
  append(words, {"-I", paths.source_folder, "-I", paths.header_folder});
  append(words, extra_flags);
  append(words, {paths.source, "-o", paths.output});
  if (cuda) {
    append_cuda_libraries(words, toolchain.toolkit);
  } else {
    append(words, {"-Wl,--as-needed", "-Wl,-z,defs", "-llapacke", "-lopenblas", "-lm"});
  }
  return words;
}

std::vector<std::string> split_flags(std::string_view text) {
  Words words;
  std::string word;
  char quote = '\0';
  bool inside = false;  // a word has begun; `""` is one, too
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (quote == '\0' && blank) {
      if (inside) words.push_back(std::move(word));
      word.clear();
      inside = false;
      continue;
    }
    inside = true;
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      word += text[++i];
    } else if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else {
      word += c;
    }
  }
  if (quote != '\0') {
    throw Error(ExitCode::usage, fmt::format("a quote {} is not closed (in `{}`); close it", quote,
                                             to_one_line(text)));
  }
  if (inside) words.push_back(std::move(word));
  return words;
}

std::string shell_text(const std::vector<std::string>& argv) {
  constexpr std::string_view k_plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-=,:@%";
  std::string text;
  for (const std::string& word : argv) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(k_plain) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

}  // namespace kbench
