// A kernel source of the user's becomes a plug-in.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runner/toolchain.h"

namespace kbench {

struct CompileRequest {
  std::string source;                    ///< path of a .cu, .cpp, .cc, .cxx or .c file
  std::vector<std::string> extra_flags;  ///< put behind our own; relative paths start at our folder
  std::string architecture;         ///< compute capability such as `9.0`; empty: 9.0. Only for .cu
  std::string cache_folder;         ///< empty: default_cache_folder()
  std::string header_folder;        ///< where kbench_kernel.h lies
  double time_limit_s = 300;        ///< for one compilation; 0: none
  std::function<bool()> cancelled;  ///< asked about 20 times a second; may be empty
};

struct CompileResult {
  bool ok = false;
  bool cached = false;  ///< nothing was compiled: the plug-in was there
  std::string library;  ///< path of the .so when ok
  std::string output;   ///< what the compiler said, whole, valid UTF-8, with the user's paths;
                        ///< of a cached plug-in what it said when it was made
  std::string error;    ///< one line when not ok: `my.cu does not compile (nvcc: exit status 1)...`
  std::string command;  ///< the compiler's command line for people, with the user's paths
  double seconds = 0;   ///< wall time of all of it
};

/// Compiles, or finds the plug-in in the cache. A source that does not compile is a result. Throws
/// Error(usage): no such file or kind of file, no compiler, no header, no cache folder. `cancelled`
/// and the time limit end the compiler with all its processes.
CompileResult compile(const CompileRequest& request);

}  // namespace kbench
