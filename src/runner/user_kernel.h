// The kernel that a user names by a path: a plug-in, or a source file that becomes one.
#pragma once

#include <optional>
#include <string>

#include "runner/compile.h"
#include "runner/options.h"
#include "runner/plan.h"
#include "runner/run_cases.h"
#include "runner/session.h"
#include "runner/watch.h"

namespace kbench {

/// Throws Error(usage) when there is no readable source file at `path`.
void check_source(const std::string& path);

/// The one problem that the text of a kernel's source names; empty when it names none or several,
/// or cannot be read.
std::string problem_in_source(const std::string& path, Problems problems);

/// Compiles `source` with the run's flags, or finds it in the cache, and says on stderr which of
/// both and how long it took; what takes long is said as it begins. When it does not compile,
/// stderr has the reason and all that the compiler said. Ends with `watch`. Throws Error(usage)
/// when there is no compiler.
CompileResult compile_kernel(const std::string& source, const Options& options,
                             const std::string& architecture, Watch& watch);

/// `words` of a worker about the plug-in `library`, with the `source` that it was made from named
/// instead: its place in the cache says nothing to whoever wrote it. Either may be empty.
std::string name_source(std::string words, const std::string& library, const std::string& source);

/// The kernel of one run. Everything is done when it is first needed: nothing is compiled before
/// the case file is known to be right, as far as that does not depend on the kernel.
class UserKernel {
 public:
  /// All of these outlive the object.
  UserKernel(const Options& options, Problems problems, Session& session, Watch& watch);

  /// Problem of the plug-in at --kernel PATH, from a worker that stays for the run. When the source
  /// makes no plug-in, the problem that its text names; empty when it names none or several, and
  /// for a plug-in at which a worker dies or hangs: every case of the run then fails with that.
  /// Throws Error(usage) for a plug-in, not made here, that cannot be loaded, Error(device) when
  /// there is no device.
  std::string problem();

  /// Makes the plug-in when --kernel is a source and that was not done yet. A source that does not
  /// compile is no error: every case of the run fails with it. Throws as problem() does.
  void build();

  /// What is known before the first case of `plan`. The object must outlive it.
  Start start(const Plan& plan) const;

 private:
  bool is_source() const { return !source_.empty(); }
  std::string architecture();
  std::string ask_plugin();

  Options options_;  // of the run; `kernel` becomes the plug-in's path
  Problems problems_;
  Session& session_;
  Watch& watch_;
  std::string source_;  // as the user named it; empty when there is nothing to compile
  bool built_ = false;
  std::string error_;  // why there is no plug-in, once that is known
  std::optional<DeviceInfo> device_;
  std::optional<Hello> greeting_;
};

}  // namespace kbench
