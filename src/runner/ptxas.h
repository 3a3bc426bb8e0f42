// What ptxas says about each kernel under `-Xptxas -v`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kbench {

/// Resources of one kernel on one architecture; bytes are per thread, shared memory per block.
struct KernelResources {
  std::string name;          ///< demangled: `factor(float const*, float*, int)`
  std::string mangled;       ///< as in the object
  std::string architecture;  ///< `sm_90a`
  std::int64_t registers = 0;
  std::int64_t shared_bytes = 0;  ///< static; dynamic shared memory is chosen by the launch
  std::int64_t stack_bytes = 0;
  std::int64_t spill_store_bytes = 0;
  std::int64_t spill_load_bytes = 0;
};

/// One element per kernel (entry function) and architecture, in the order of `text`. Other lines
/// are passed over.
std::vector<KernelResources> parse_ptxas(std::string_view text);

/// `text` without the lines that parse_ptxas reads: what a person still has to see, such as
/// warnings and the notes of ptxas on performance.
std::string without_resource_lines(std::string_view text);

}  // namespace kbench
