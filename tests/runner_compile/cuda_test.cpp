// A .cu becomes a plug-in. Needs nvcc, not a GPU: nothing is run.
#include "catch.h"
#include "runner/compile.h"
#include "runner/ptxas.h"
#include "runner/starter.h"
#include "runner_compile/support.h"

using namespace kbench;
using namespace kbench::test;

namespace {

std::string cuda_source(const std::string& extra = "") {
  return "#include \"kbench_kernel.h\"\n" + extra +
         "\n__global__ void fill(float* h) { h[threadIdx.x] = 0; }\n"
         "extern \"C\" void custom_kernel(const float*, float* h, float*, int64_t, int64_t,\n"
         "                              cudaStream_t stream) { fill<<<1, 32, 0, stream>>>(h); }\n"
         "KBENCH_SIMPLE_KERNEL(qr_v2, KBENCH_CUDA, KBENCH_COLUMN_MAJOR)\n";
}

std::size_t pwned(const fs::path& folder) {
  std::size_t count = 0;
  for (const auto& file : fs::recursive_directory_iterator(folder)) {
    if (file.path().filename().string().starts_with("pwn")) ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("every CUDA starter and example compiles without a warning") {
  const TempFolder folder;
  const fs::path examples = fs::path(KBENCH_SOURCE_DIR) / "examples";
  std::vector<std::string> sources = {(examples / "full/qr_v2.cu").string(),
                                      write(folder / "page.cu", page_example("cuda"))};
  for (const char* problem : {"qr_v2", "eigh_py"}) {
    sources.push_back((folder / (std::string(problem) + ".cu")).string());
    write_starter(problem, sources.back());
  }
  for (const std::string& source : sources) {
    CAPTURE(source);
    CompileRequest request = request_for(source, folder / "cache");
    request.extra_flags = {"-Xcompiler=-Wall,-Wextra,-Wshadow", "-Werror=all-warnings"};
    const CompileResult result = compile(request);
    INFO(result.output);
    REQUIRE(result.ok);
    CHECK(without_resource_lines(result.output).empty());
  }
}

TEST_CASE("registers and shared memory of a kernel are told, also from the cache") {
  const TempFolder folder;
  const std::string source =
      write(folder / "k.cu",
            cuda_source("__global__ void shares(float* x) {\n  __shared__ float tile[256];\n"
                        "  tile[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n"
                        "  x[threadIdx.x] = tile[255 - threadIdx.x];\n}\n"));
  CompileRequest request = request_for(source, folder / "cache");
  request.architecture = "8.0";
  for (const bool cached : {false, true}) {
    const CompileResult result = compile(request);
    REQUIRE(result.ok);
    CHECK(result.cached == cached);
    std::vector<KernelResources> kernels = parse_ptxas(result.output);
    REQUIRE(kernels.size() == 2);
    if (kernels[0].name != "shares(float*)") std::swap(kernels[0], kernels[1]);
    CHECK(kernels[0].name == "shares(float*)");
    CHECK(kernels[0].architecture == "sm_80");
    CHECK(kernels[0].shared_bytes == 1024);
    CHECK(kernels[0].registers > 0);
  }
}

TEST_CASE("nvcc's shell meets no name of the user's") {
  for (const std::string& name : {std::string("k$(touch pwn)"), std::string("k`touch pwn` [1] (2)"),
                                  std::string("it's \"q\""), std::string("a\ntouch pwn\nb"),
                                  std::string("a;touch pwn;,x=y"), std::string("j\xc3\xbcr\\g")}) {
    CAPTURE(name);
    const TempFolder folder;
    const fs::path odd = folder / ("dir " + name);
    write(odd / "k$(touch pwn) h.cuh", "#define BESIDE 1\n");
    const std::string source =
        write(odd / (name + ".cu"),
              cuda_source("#include \"k$(touch pwn) h.cuh\"\nstatic_assert(BESIDE == 1);"));
    const fs::path before = fs::current_path();
    fs::current_path(odd);
    const CompileRequest request = request_for(source, odd / ("cache " + name));
    const CompileResult result = compile(request);
    INFO(result.output);
    REQUIRE(result.ok);
    CHECK(compile(request).cached);
    write(odd / "k$(touch pwn) h.cuh", "#define BESIDE 0\n");
    const CompileResult wrong = compile(request);
    CHECK_FALSE(wrong.ok);
    CHECK_THAT(wrong.output, ContainsSubstring(source + "(3): error: static assertion failed"));
    fs::current_path(before);
    CHECK(pwned(folder.path()) == 0);
    CHECK_FALSE(fs::remove("pwn"));
  }
}
