// Compiled plug-ins on disk: found by the hash of all that went into them, checked before use.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kbench {

/// A plug-in in the cache.
struct CacheEntry {
  std::string library;  ///< path of the .so
  std::string output;   ///< what the compiler said when it was made
};

/// Bytes of a regular file; nothing when it cannot be read.
std::optional<std::string> read_file(const std::string& path);

/// `${XDG_CACHE_HOME:-~/.cache}/kbench`. Throws Error(usage) when neither variable helps.
std::string default_cache_folder();

/// A private folder in the cache in which one plug-in is built; removed with what is in it.
class BuildFolder {
 public:
  /// `cache` must exist. Throws Error(usage) when it cannot be written.
  explicit BuildFolder(const std::string& cache);
  BuildFolder(const BuildFolder&) = delete;
  BuildFolder& operator=(const BuildFolder&) = delete;
  ~BuildFolder();

  const std::string& path() const { return path_; }
  /// Another name of the same folder in which every character is harmless in a shell.
  const std::string& plain_path() const { return plain_path_; }

 private:
  std::string path_, plain_path_;
  std::string link_folder_;  ///< holds the link when plain_path differs
};

/// Any number of processes may use the same folder at once.
class CompileCache {
 public:
  /// Creates `folder` when it is missing. Throws Error(usage) when that fails.
  explicit CompileCache(const std::string& folder);

  const std::string& folder() const { return folder_; }

  /// The entry of `key`, when it is whole and the files that it was made from are what they were.
  std::optional<CacheEntry> find(const std::string& key) const;

  /// Makes `build`, whose file `library_name` is the plug-in, the entry of `key`; an older one is
  /// replaced in one step. `inputs` are absolute paths of files read by the compiler: when one of
  /// them changes the entry is no longer found.
  CacheEntry store(const std::string& key, const BuildFolder& build, const std::string& output,
                   const std::vector<std::string>& inputs) const;

  /// Name of the plug-in's file in a build folder and in an entry.
  static constexpr const char* k_library = "kernel.so";

 private:
  std::string folder_;
};

}  // namespace kbench
