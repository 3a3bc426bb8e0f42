// Keeps a file equal to the newest document of a run: replaced as a whole by a rename, so that a
// reader or a crash never meets half a document. Knows nothing of what is in it.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "runner/report.h"
#include "runner/say.h"

namespace kbench {
namespace {

namespace fs = std::filesystem;

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

class DocumentReporter : public Reporter {
 public:
  DocumentReporter(const std::string& flag, const std::string& path, Document document)
      : document_(document), path_(path) {
    const auto refuse = [&](const std::string& why) {
      throw Error(ExitCode::usage,
                  fmt::format("cannot write the results to `{}` ({}); give `{}` a writable path",
                              path, why, flag));
    };
    // A link is followed once, so that the rename replaces its target and not the link.
    std::error_code error;
    const fs::path target = fs::canonical(path_, error);
    if (!error) path_ = target.string();
    const Fd fd(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (!fd) refuse(std::strerror(errno));
    struct stat status {};
    fstat(fd.get(), &status);
    regular_ = S_ISREG(status.st_mode);
    mode_ = status.st_mode & 07777;
    // Root may write where nobody is meant to: the mode bits say what the owner wants.
    if (regular_ && (status.st_mode & 0222) == 0) refuse("the file is read-only");
  }

  void begin(const RunRecord& record) override {
    if (regular_) save(document_(record));
  }
  void case_ended(const RunRecord& record, std::size_t) override {
    if (regular_) save(document_(record));
  }
  void end(const RunRecord& record) override { save(document_(record)); }

 private:
  enum class Replaced { yes, no, folder_refuses };

  void save(const std::string& document) {
    const Replaced replaced = regular_ ? replace(document) : Replaced::folder_refuses;
    if (replaced == Replaced::yes) return;
    if (replaced == Replaced::folder_refuses && overwrite(document)) return;
    say(fmt::format("cannot write the results to `{}` ({}); the file lacks the newest case", path_,
                    std::strerror(errno)));
  }

  Replaced replace(const std::string& document) const {
    const std::string temporary = fmt::format("{}.{}.tmp", path_, getpid());
    const Fd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd) {
      const bool refused = errno == EACCES || errno == EPERM || errno == EROFS;
      return refused ? Replaced::folder_refuses : Replaced::no;
    }
    const bool written = write_all(fd.get(), document) && fchmod(fd.get(), mode_) == 0;
    if (written && rename(temporary.c_str(), path_.c_str()) == 0) return Replaced::yes;
    const int why = errno;
    unlink(temporary.c_str());
    errno = why;
    return Replaced::no;
  }

  bool overwrite(const std::string& document) const {
    const int truncate = regular_ ? O_TRUNC : 0;
    const Fd fd(open(path_.c_str(), O_WRONLY | O_CLOEXEC | truncate));
    return fd && write_all(fd.get(), document);
  }

  Document document_;
  std::string path_;
  bool regular_ = true;
  mode_t mode_ = 0666;
};

}  // namespace

std::unique_ptr<Reporter> make_document_reporter(const std::string& flag, const std::string& path,
                                                 Document document) {
  return std::make_unique<DocumentReporter>(flag, path, document);
}

}  // namespace kbench
