// Recorded words of ptxas become numbers.
#include "runner/ptxas.h"

#include "catch.h"

using namespace kbench;

namespace {

// CUDA 13.0, with a warning of the front end and a note on performance between.
const std::string k_cuda_13 =
    "my.cu(3): warning #177-D: variable \"q\" was declared but never referenced\n"
    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized in function '_Z6factorPKfPfS1_l'\n"
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function '_Z6factorPKfPfS1_l' for 'sm_90a'\n"
    "ptxas info    : Function properties for _Z6factorPKfPfS1_l\n"
    "    144 bytes stack frame, 32 bytes spill stores, 48 bytes spill loads\n"
    "ptxas info    : Used 255 registers, used 1 barriers, 144 bytes cumulative stack size, 4224 "
    "bytes smem\n"
    "ptxas info    : Compile time = 158.656 ms\n";

// CUDA 11: constant banks, a device function that is not inlined, two architectures.
const std::string k_cuda_11 =
    "ptxas info    : 4 bytes gmem, 8 bytes cmem[4]\n"
    "ptxas info    : Compiling entry function 'plain_c' for 'sm_80'\n"
    "ptxas info    : Function properties for plain_c\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Function properties for _Z6helperf\n"
    "    96 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
    "ptxas info    : Used 8 registers, 352 bytes cmem[0]\n"
    "ptxas info    : Compiling entry function 'plain_c' for 'sm_86'\r\n"
    "ptxas info    : Function properties for plain_c\r\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\r\n"
    "ptxas info    : Used 10 registers, 400 bytes smem, 352 bytes cmem[0]\r\n";

}  // namespace

TEST_CASE("registers, shared memory, stack and spills are read with the demangled name") {
  const std::vector<KernelResources> kernels = parse_ptxas(k_cuda_13);
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0].name == "factor(float const*, float*, float*, long)");
  CHECK(kernels[0].mangled == "_Z6factorPKfPfS1_l");
  CHECK(kernels[0].architecture == "sm_90a");
  CHECK(kernels[0].registers == 255);
  CHECK(kernels[0].shared_bytes == 4224);
  CHECK(kernels[0].stack_bytes == 144);
  CHECK(kernels[0].spill_store_bytes == 32);
  CHECK(kernels[0].spill_load_bytes == 48);
}

TEST_CASE("each architecture is one element, and a device function's stack is not the kernel's") {
  const std::vector<KernelResources> kernels = parse_ptxas(k_cuda_11);
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].name == "plain_c");
  CHECK(kernels[0].architecture == "sm_80");
  CHECK(kernels[0].registers == 8);
  CHECK(kernels[0].shared_bytes == 0);
  CHECK(kernels[0].stack_bytes == 0);
  CHECK(kernels[0].spill_store_bytes == 0);
  CHECK(kernels[1].architecture == "sm_86");
  CHECK(kernels[1].registers == 10);
  CHECK(kernels[1].shared_bytes == 400);
}

TEST_CASE("text without kernels gives none, however it is broken off") {
  for (const std::string& text : {std::string(), std::string("ptxas info    : Used 8 registers\n"),
                                  std::string("    0 bytes stack frame, 0 bytes spill stores\n"),
                                  std::string("ptxas info")}) {
    CAPTURE(text);
    CHECK(parse_ptxas(text).empty());
  }
  for (std::size_t size = 0; size <= k_cuda_13.size(); ++size) {
    CHECK(parse_ptxas(k_cuda_13.substr(0, size)).size() <= 1);
  }
}

TEST_CASE("warnings and notes on performance stay when the numbers are taken out") {
  CHECK(without_resource_lines(k_cuda_13) ==
        "my.cu(3): warning #177-D: variable \"q\" was declared but never referenced\n"
        "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
        "serialized in function '_Z6factorPKfPfS1_l'\n");
  CHECK(without_resource_lines(k_cuda_11).empty());
}
