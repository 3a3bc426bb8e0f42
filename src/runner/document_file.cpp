// Keeps a file equal to the newest document of a run: replaced as a whole by a rename, so that a
// reader or a crash never meets half a document. Knows nothing of what is in it.
#include "runner/document_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/text.h"
#include "runner/outlet.h"
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

/// Where the user wants a document, and by which flag.
struct Destination {
  std::string flag, path;
};

[[noreturn]] void refuse(const Destination& to, const std::string& why) {
  throw Error(ExitCode::usage,
              fmt::format("cannot write the results to `{}` ({}); give `{}` a writable path",
                          to_one_line(to.path), why, to.flag));
}

/// A new file of nobody else's beside `path`, under a name that nobody can know before; removed
/// unless it is moved.
class Temporary {
 public:
  explicit Temporary(const std::string& path)
      : name_((fs::path(path).parent_path() / ".kbench-XXXXXX").string()),
        fd_(mkostemp(name_.data(), O_CLOEXEC)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    const int why = errno;
    if (fd_ && !moved_) unlink(name_.c_str());
    errno = why;
  }

  const Fd& fd() const { return fd_; }
  bool move_to(const std::string& path) {
    moved_ = rename(name_.c_str(), path.c_str()) == 0;
    return moved_;
  }

 private:
  std::string name_;
  Fd fd_;
  bool moved_ = false;
};

/// Number of an open descriptor of this process that `path` stands for.
std::optional<int> own_descriptor(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int number = -1;
    const char* end = path.data() + path.size();
    const auto [stop, error] = std::from_chars(path.data() + folder.size(), end, number);
    if (error == std::errc() && stop == end && number >= 0) return number;
  }
  return std::nullopt;
}

Fd duplicate(int number, const Destination& to) {
  Fd fd(fcntl(number, F_DUPFD_CLOEXEC, 0));
  if (!fd) refuse(to, std::strerror(errno));
  if ((fcntl(number, F_GETFL) & O_ACCMODE) == O_RDONLY) refuse(to, "it is open for reading only");
  return fd;
}

std::string target_of(const Destination& to) {
  constexpr int k_most_links = 40;
  fs::path target = to.path;
  std::error_code error;
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, error)); ++links) {
    if (links == k_most_links) refuse(to, std::strerror(ELOOP));
    target = target.parent_path() / fs::read_symlink(target, error);
    if (error) refuse(to, error.message());
  }
  return target.string();
}

/// Mode bits of the file at `path`, once it is known that it can be replaced.
mode_t mode_of_existing(const Destination& to, const std::string& path, const struct stat& status) {
  // A pipe or device may never take what is written, and need not exist to the end.
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) refuse(to, "it is no regular file");
  const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) refuse(to, std::strerror(errno));
  // Root may write where nobody is meant to: the mode bits say what the owner wants.
  if ((status.st_mode & 0222) == 0) refuse(to, "the file is read-only");
  return status.st_mode & 07777;
}

/// Writes all of it, waiting for a reader that reads. Sets errno when it did not work.
bool write_to_stream(int fd, std::string_view document) {
  constexpr std::size_t k_piece = std::size_t{1} << 20;
  constexpr int k_patience_ms = 10000;
  Outlet outlet(fd);
  while (!document.empty() && !outlet.is_gone()) {
    outlet.put(document.substr(0, k_piece));
    document.remove_prefix(std::min(document.size(), k_piece));
    while (outlet.held() > 0) {
      pollfd entry{fd, POLLOUT, 0};
      if (poll(&entry, 1, k_patience_ms) > 0) {
        outlet.pump();
      } else if (errno != EINTR) {
        errno = ETIMEDOUT;
        return false;
      }
    }
  }
  errno = outlet.error();
  return !outlet.is_gone();
}

class DocumentReporter : public Reporter {
  using Clock = std::chrono::steady_clock;

 public:
  DocumentReporter(const std::string& flag, const std::string& path, Document document)
      : document_(document), file_(flag, path) {}

  void prepare(const RunRecord& record) override {
    if (file_.is_file()) file_.save(document_(record));
  }
  void begin(const RunRecord&) override {}
  void case_ended(const RunRecord& record, std::size_t i) override {
    // What was not even begun can wait for the end.
    waits_ = waits_ || (file_.is_file() && record.cases[i].begun);
    idle(record);
  }
  std::optional<Clock::time_point> idle(const RunRecord& record) override {
    if (waits_ && Clock::now() >= not_before_) save_in_time(record);
    return waits_ ? std::optional(not_before_) : std::nullopt;
  }
  void end(const RunRecord& record) override { file_.save(document_(record)); }

 private:
  /// The whole document is written each time. With thousands of cases it is large: beyond a second
  /// in all, writing takes at most a tenth of the run.
  void save_in_time(const RunRecord& record) {
    constexpr std::chrono::seconds k_allowance(1);
    const Clock::time_point begin = Clock::now();
    file_.try_save(document_(record));
    waits_ = false;
    spent_ += Clock::now() - begin;
    if (spent_ > k_allowance) not_before_ = start_ + 10 * (spent_ - k_allowance);
  }

  Document document_;
  DocumentFile file_;
  bool waits_ = false;  // a case has ended since the file was written
  const Clock::time_point start_ = Clock::now();
  Clock::duration spent_{};
  Clock::time_point not_before_{};
};

}  // namespace

DocumentFile::DocumentFile(const std::string& flag, const std::string& path)
    : flag_(flag), path_(path) {
  const Destination to{flag, path};
  if (const std::optional<int> number = own_descriptor(to.path)) {
    stream_ = duplicate(*number, to);
    return;
  }
  // Links are followed here, so that the rename replaces the target and not the link.
  path_ = target_of(to);
  struct stat status {};
  if (stat(path_.c_str(), &status) == 0) {
    const dev_t null_device = makedev(1, 3);
    if (S_ISCHR(status.st_mode) && status.st_rdev == null_device) {
      stream_ = Fd(open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    } else {
      mode_ = mode_of_existing(to, path_, status);
    }
    return;
  }
  const mode_t mask = umask(0);
  umask(mask);
  mode_ = 0666 & ~mask;
  // The file itself is made by the first save: a run that ends before that leaves none.
  if (errno != ENOENT || !Temporary(path_).fd()) refuse(to, std::strerror(errno));
}

void DocumentFile::save(const std::string& document) const {
  if (stream_ ? write_to_stream(stream_.get(), document) : write_file(document)) return;
  refuse({flag_, path_}, std::strerror(errno));
}

bool DocumentFile::try_save(const std::string& document) {
  std::string why;
  try {
    save(document);
  } catch (const Error& error) {
    why = error.what();
  }
  if (!why.empty() && why != said_) say(to_one_line(why));
  said_ = why;
  return why.empty();
}

bool DocumentFile::write_file(const std::string& document) const {
  const Replaced replaced = replace(document);
  return replaced == Replaced::yes || (replaced == Replaced::folder_refuses && overwrite(document));
}

DocumentFile::Replaced DocumentFile::replace(const std::string& document) const {
  Temporary temporary(path_);
  if (!temporary.fd()) {
    const bool refused = errno == EACCES || errno == EPERM || errno == EROFS;
    return refused ? Replaced::folder_refuses : Replaced::no;
  }
  const int fd = temporary.fd().get();
  const bool written = write_all(fd, document) && fchmod(fd, mode_) == 0;
  return written && temporary.move_to(path_) ? Replaced::yes : Replaced::no;
}

bool DocumentFile::overwrite(const std::string& document) const {
  const Fd fd(open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_TRUNC));
  return fd && write_all(fd.get(), document);
}

void require_other_file(const std::string& flag, const std::string& path, const std::string& read,
                        const char* what) {
  std::error_code absent;
  if (path.empty() || read.empty() || !fs::equivalent(path, read, absent)) return;
  throw Error(ExitCode::usage, fmt::format("cannot write the results to `{}` (it is the {}); give "
                                           "`{}` another path",
                                           to_one_line(path), what, flag));
}

std::unique_ptr<Reporter> make_document_reporter(const std::string& flag, const std::string& path,
                                                 Document document) {
  return std::make_unique<DocumentReporter>(flag, path, document);
}

}  // namespace kbench
