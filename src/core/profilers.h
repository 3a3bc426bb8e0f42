// Which tools from outside may hold the process's profiling interface, by the traces that they
// leave in the environment.
#pragma once

#include <functional>
#include <string>

namespace kbench {

/// A tool that its variable gives away. All empty: no tool does.
struct Profiler {
  std::string tool;      ///< as results name it: `ncu`
  std::string name;      ///< as people name it: `Nsight Compute`
  std::string variable;  ///< what gave it away
};

/// Value of an environment variable, null when it is not set; `std::getenv` is one.
using VariableLookup = std::function<const char*(const char*)>;

/// The first tool of the table whose variable is set and not empty. Variables that name a library
/// to inject prove nothing, since any library may be meant, and are not looked at.
Profiler find_profiler(const VariableLookup& variables);

/// Name of the first variable that tools set, or that makes the driver load one, and that proves
/// nothing by itself: reason enough to ask CUPTI who holds it. Empty when none is set.
std::string find_hint(const VariableLookup& variables);

/// What results call the tool that CUPTI names as its holder: `ncu` for `Nsight Compute`; the name
/// itself where it is none of the table.
std::string tool_of_holder(const std::string& name);

/// Whether kbench may use CUPTI, the CUDA driver's profiling interface.
struct CuptiState {
  enum class Kind {
    available,  ///< kbench may subscribe
    held,       ///< a tool has it: kbench leaves it alone
    missing     ///< there is none: no CUDA, no library, or one of another version
  } kind = Kind::missing;
  std::string holder;  ///< when held: `Nsight Compute`, as the tool or CUPTI names it
  std::string reason;  ///< when not available: how that is known, in words
};

}  // namespace kbench
