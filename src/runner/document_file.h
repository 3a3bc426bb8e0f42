// A file that holds the newest version of a document, whatever happens.
#pragma once

#include <sys/types.h>

#include <string>

#include "runner/fd.h"

namespace kbench {

class DocumentFile {
 public:
  /// Finds out whether `path` can be written, and changes nothing. Throws Error(usage), naming
  /// `flag`, when it cannot.
  DocumentFile(const std::string& flag, const std::string& path);

  /// Replaces the whole document. Throws Error(usage), naming the flag, when that fails.
  void save(const std::string& document) const;
  /// The same where it is no reason to end: false when it failed, and stderr is told why, unless
  /// that is what it was told the last time.
  bool try_save(const std::string& document);

  /// False for a descriptor and the like, which takes one document only.
  bool is_file() const { return !stream_; }

 private:
  enum class Replaced { yes, no, folder_refuses };
  bool write_file(const std::string& document) const;
  Replaced replace(const std::string& document) const;
  bool overwrite(const std::string& document) const;

  std::string flag_, path_;
  Fd stream_;  ///< what is written once, at the end; empty for a file
  mode_t mode_ = 0666;
  std::string said_;  ///< why the newest try_save failed; empty when it did not
};

/// Results must not replace what a run reads: throws Error(usage), naming `flag`, when `path` and
/// `read` are one file; `what` is what is read. Either may be empty.
void require_other_file(const std::string& flag, const std::string& path, const std::string& read,
                        const char* what);

}  // namespace kbench
