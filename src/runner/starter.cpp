// Hands out the starting kernels. Knows names and files; what is in the kernels is not its
// business.
#include "runner/starter.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "runner/fd.h"

namespace kbench {
namespace {

std::string list(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::string_view name : names) text += fmt::format("{}`{}`", text.empty() ? "" : ", ", name);
  return text;
}

}  // namespace

std::string starter_kernel(std::string_view problem, SourceLanguage language) {
  std::vector<std::string_view> problems;
  for (const StarterText& row : starter_texts()) {
    if (row.problem == problem && row.language == language) return std::string(row.text);
    if (std::find(problems.begin(), problems.end(), row.problem) == problems.end()) {
      problems.push_back(row.problem);
    }
  }
  const std::string_view near = did_you_mean(problem, problems);
  throw Error(ExitCode::usage, fmt::format("no starting kernel for problem `{}` (there are {}); {}",
                                           to_one_line(problem), list(problems),
                                           near.empty() ? std::string("name one of these")
                                                        : fmt::format("did you mean `{}`?", near)));
}

void write_starter(std::string_view problem, const std::string& path) {
  const std::string text = starter_kernel(problem, source_language(path));
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) {
    throw Error(ExitCode::usage,
                errno == EEXIST
                    ? fmt::format("`{}` exists (nothing is overwritten); choose another name or "
                                  "remove it",
                                  to_one_line(path))
                    : fmt::format("cannot write `{}` ({}); choose another place", to_one_line(path),
                                  std::strerror(errno)));
  }
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(file.get(), text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int why = errno;
      unlink(path.c_str());
      throw Error(ExitCode::usage, fmt::format("cannot write `{}` ({}); free some space",
                                               to_one_line(path), std::strerror(why)));
    }
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace kbench
