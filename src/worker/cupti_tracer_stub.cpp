// Stands in for cupti_tracer.cpp in a build without CUPTI.
#include "core/error.h"
#include "worker/tracer.h"

namespace kbench {

std::unique_ptr<Tracer> open_cupti_tracer() {
  throw Error(
      ExitCode::case_failed,
      "no tracing (kbench was built without CUPTI); install the CUDA toolkit with CUPTI and "
      "build again");
}

}  // namespace kbench
