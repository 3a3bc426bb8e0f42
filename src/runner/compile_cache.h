// Compiled plug-ins on disk: found by the hash of all that went into them, checked before use.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/fd.h"

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

/// A new folder of our own; removed with what is in it.
class PrivateFolder {
 public:
  /// `stem` is the path without the characters that make it unique. Throws Error(usage).
  explicit PrivateFolder(const std::string& stem);
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  ~PrivateFolder();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Fd lock_;  ///< tells other processes that its owner lives
};

/// Any number of processes may use the same folder at once.
class CompileCache {
 public:
  /// Creates `folder` when it is missing. Throws Error(usage) when that fails.
  explicit CompileCache(const std::string& folder);

  const std::string& folder() const { return folder_; }

  /// The entry of `key`, when it is whole and the files that it was made from are what they were.
  std::optional<CacheEntry> find(const std::string& key) const;

  /// Stem of a folder to build in: in the cache when each character of its true path is harmless in
  /// a shell, else in the folder for temporary files.
  std::string build_stem() const;

  /// Moves the plug-in `library` here as the entry of `key`; an older one is replaced in one step.
  /// `inputs` are absolute paths of files read by the compiler: when one of them changes the entry
  /// is no longer found.
  CacheEntry store(const std::string& key, const std::string& library, const std::string& output,
                   const std::vector<std::string>& inputs) const;

 private:
  std::string folder_;
};

}  // namespace kbench
