// Which compiler makes a plug-in from a source file, and with which arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kbench {

enum class SourceLanguage { cuda, cxx, c };

/// By the extension: .cu, .cpp .cc .cxx, .c. Throws Error(usage) naming these for any other.
SourceLanguage source_language(const std::string& path);
/// True when source_language would not throw.
bool is_source_path(const std::string& path);

struct Toolchain {
  SourceLanguage language = SourceLanguage::cxx;
  std::vector<std::string> compiler;  ///< absolute path of the program, then words such as `g++`
  std::string toolkit;                ///< CUDA toolkit's folder, empty for C and C++
};

/// .cu: $KBENCH_NVCC, nvcc on PATH, /usr/local/cuda/bin/nvcc; C++: $CXX or c++; C: $CC or cc.
/// Throws Error(usage) saying what is missing and how to name it.
Toolchain find_toolchain(SourceLanguage language);

/// Where the pieces of one compilation lie. Folders are named without a final slash.
struct CompilePaths {
  std::string source, source_folder, header_folder, output;
  std::string prelude;  ///< header included in front of the source; empty: none
  std::string depfile;  ///< empty: none is written
};

/// The whole argument list. `architecture` is a compute capability such as `9.0` (empty: 9.0); C
/// and C++ ignore it. Throws Error(usage) when it is none.
std::vector<std::string> compile_argv(const Toolchain& toolchain, const CompilePaths& paths,
                                      const std::string& architecture,
                                      const std::vector<std::string>& extra_flags);

/// `90a` for `9.0`: with the `a` suffix where the architecture has one. Throws Error(usage).
std::string architecture_number(const std::string& capability);

/// Words of a --nvcc-flags text: blanks separate, quotes and backslashes keep them as in a shell;
/// nothing is expanded. Throws Error(usage) on a quote that is not closed.
std::vector<std::string> split_flags(std::string_view text);

/// A list of arguments as a person could paste it into a shell.
std::string shell_text(const std::vector<std::string>& argv);

}  // namespace kbench
