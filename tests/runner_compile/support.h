// Temporary folders, variables and files of the compilation tests.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>

#include "runner/compile.h"

namespace kbench::test {

namespace fs = std::filesystem;

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (fs::temp_directory_path() / "kbench-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = fs::canonical(pattern);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { fs::remove_all(path_); }

  fs::path path() const { return path_; }
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

/// Sets a variable (nothing: unsets it) until it goes out of scope.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = getenv(name)) before_ = before;
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_); }

 private:
  void set(const std::optional<std::string>& value) {
    if (value) {
      setenv(name_, value->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

inline std::string write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

/// An executable shell script.
inline std::string write_script(const fs::path& path, const std::string& text) {
  write(path, "#!/bin/sh\n" + text);
  fs::permissions(path, fs::perms::owner_all);
  return path.string();
}

inline std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::size_t count_lines(const fs::path& path) {
  const std::string text = read(path);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

inline const std::string k_header_folder = std::string(KBENCH_SOURCE_DIR) + "/kernels";

inline CompileRequest request_for(const fs::path& source, const fs::path& cache) {
  CompileRequest request;
  request.source = source.string();
  request.cache_folder = cache.string();
  request.header_folder = k_header_folder;
  return request;
}

/// A host kernel in the simple form that does nothing; `extra` stands above it.
inline std::string simple_source(const std::string& extra = "") {
  return "#include \"kbench_kernel.h\"\n" + extra +
         "\nvoid custom_kernel(const float*, float*, float*, int64_t, int64_t, void*) {}\n"
         "KBENCH_SIMPLE_KERNEL(qr_v2, KBENCH_HOST, KBENCH_COLUMN_MAJOR)\n";
}

/// The first block in `language` of docs/kernels/writing-a-kernel.md.
inline std::string page_example(const std::string& language) {
  const std::string page = read(fs::path(KBENCH_SOURCE_DIR) / "docs/kernels/writing-a-kernel.md");
  const std::string fence = "```" + language + "\n";
  const std::size_t begin = page.find(fence);
  if (begin == std::string::npos) return "";
  const std::size_t text = begin + fence.size();
  return page.substr(text, page.find("```", text) - text);
}

}  // namespace kbench::test
