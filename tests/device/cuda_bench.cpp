// Times the operations of the CUDA device through the public interface and prints a table: what
// inputs and rechecks cost, and that repeats allocate nothing. Not a test: it judges nothing.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <vector>

#include "device/device.h"
#include "device/ops.h"

namespace {

using kbench::Buffer;
using kbench::Layout;
using kbench::Part;
using kbench::Subtrahend;
using kbench::Transpose;
using kbench::Vectors;

struct Shape {
  std::int64_t batch, n;
};

// Median of 5 wall times in milliseconds, the device idle before and after; `prepare` is not timed.
double median_ms(kbench::Device& device, const std::function<void()>& prepare,
                 const std::function<void()>& work) {
  std::vector<double> times;
  for (int k = 0; k < 6; ++k) {
    prepare();
    device.synchronize();
    const auto begin = std::chrono::steady_clock::now();
    work();
    device.synchronize();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  times.erase(times.begin());
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

class Bench {
 public:
  Bench(kbench::Device& device, Shape shape)
      : device_(device),
        ops_(device.ops()),
        batch_(shape.batch),
        n_(shape.n),
        count_(shape.batch * shape.n * shape.n),
        a_(device, count_),
        h_(device, count_),
        q_(device, count_),
        tau_(device, shape.batch * shape.n),
        wide_a_(device, count_),
        wide_q_(device, count_),
        product_(device, count_) {}

  void run() {
    std::printf("%lld x %lld\n", static_cast<long long>(batch_), static_cast<long long>(n_));
    generation();
    const std::int64_t before = factors();
    residuals();
    row("flush_cache", [this] { device_.flush_cache(); });
    factors();
    std::printf("  free memory now %.0f MiB\n",
                static_cast<double>(device_.free_bytes()) / (1 << 20));
    std::printf("  free memory after the first pass minus after the second: %lld bytes\n",
                static_cast<long long>(before - device_.free_bytes()));
  }

 private:
  void row(const char* name, const std::function<void()>& work) {
    row(
        name, [] {}, work);
  }
  void row(const char* name, const std::function<void()>& prepare,
           const std::function<void()>& work) {
    std::printf("  %-34s %10.3f ms\n", name, median_ms(device_, prepare, work));
    std::fflush(stdout);
  }

  void generation() {
    row("normal", [this] { ops_.normal(1029, 0, count_, a_.get()); });
    row("uniform", [this] { ops_.uniform(1029, 0, count_, h_.get()); });
    row("transpose", [this] { ops_.transpose(a_.get(), batch_, n_, h_.get()); });
    // Places far apart from one to the next, as a random order has them.
    std::vector<std::int32_t> order;
    for (std::int64_t k = 0; k < batch_ * n_; ++k) {
      order.push_back(static_cast<std::int32_t>((k % n_ * 389) % n_));
    }
    const auto on_device = kbench::to_device<std::int32_t>(device_, order);
    row("rearrange", [&] {
      ops_.rearrange(a_.get(), batch_, n_, on_device.get(), Vectors{a_.get(), n_},
                     Vectors{a_.get(), n_}, h_.get());
    });
    row("symmetrize", [this] { ops_.symmetrize(h_.get(), batch_, n_); });
    row("scale by columns", [this] {
      ops_.scale(h_.get(), batch_, n_, Vectors{}, Vectors{a_.get(), n_});
    });
  }

  // Returns the free memory once all handles and temporaries exist.
  std::int64_t factors() {
    row(
        "geqrf", [this] { ops_.transpose(a_.get(), batch_, n_, h_.get()); },
        [this] { ops_.geqrf(h_.get(), batch_, n_, tau_.get()); });
    row("form_q, column-major",
        [this] { ops_.form_q(h_.get(), Layout::column_major, tau_.get(), batch_, n_, q_.get()); });
    row("form_q, row-major",
        [this] { ops_.form_q(h_.get(), Layout::row_major, tau_.get(), batch_, n_, q_.get()); });
    ops_.form_q(h_.get(), Layout::column_major, tau_.get(), batch_, n_, q_.get());
    row("widen, row-major",
        [this] { ops_.widen(q_.get(), Layout::row_major, Vectors{}, batch_, n_, wide_q_.get()); });
    row("widen, column-major, scaled", [this] {
      ops_.widen(q_.get(), Layout::column_major, Vectors{tau_.get(), n_}, batch_, n_,
                 product_.get());
    });
    ops_.widen(a_.get(), Layout::row_major, Vectors{}, batch_, n_, wide_a_.get());
    row("multiply, FP32", [this] {
      ops_.multiply(q_.get(), Transpose::yes, a_.get(), Transpose::no, batch_, n_,
                    reinterpret_cast<float*>(product_.get()));
    });
    return device_.free_bytes();
  }

  void residuals() {
    row("multiply, FP64, Q^T A", [this] {
      ops_.multiply(wide_q_.get(), Transpose::yes, wide_a_.get(), Transpose::no, batch_, n_,
                    product_.get());
    });
    norm1("norm1(Q^T A - R)", product_.get(), Part::all,
          Subtrahend{h_.get(), Layout::column_major, Part::upper, {}, false});
    norm1("norm1(P - Y diag(s)), row-major", product_.get(), Part::all,
          Subtrahend{a_.get(), Layout::row_major, Part::all, Vectors{tau_.get(), n_}, false});
    norm1("norm1(strict_lower(Q^T A))", product_.get(), Part::strict_lower, Subtrahend{});
    row("multiply, FP64, Q^T Q", [this] {
      ops_.multiply(wide_q_.get(), Transpose::yes, wide_q_.get(), Transpose::no, batch_, n_,
                    product_.get());
    });
    Subtrahend identity;
    identity.identity = true;
    norm1("norm1(Q^T Q - I)", product_.get(), Part::all, identity);
    norm1("norm1(A), from FP32", nullptr, Part::all,
          Subtrahend{a_.get(), Layout::row_major, Part::all, {}, false});
    row("first_non_finite", [this] { keep(ops_.first_non_finite(a_.get(), count_)); });
    row("equal", [this] { keep(device_.equal(a_.get(), a_.get(), a_.bytes())); });
    row("recheck of qr_v2, all steps", [this] { recheck_qr(); });
  }

  void norm1(const char* name, const double* p, Part part, const Subtrahend& subtrahend) {
    std::vector<double> norms;
    row(name, [&] { norms = ops_.residual_norm1(p, part, subtrahend, batch_, n_); });
    std::printf("  %-34s %10.3g\n", "  largest", *std::max_element(norms.begin(), norms.end()));
  }

  void recheck_qr() {
    keep(ops_.first_non_finite(h_.get(), count_));
    keep(ops_.first_non_finite(tau_.get(), tau_.count()));
    ops_.form_q(h_.get(), Layout::column_major, tau_.get(), batch_, n_, q_.get());
    ops_.widen(q_.get(), Layout::row_major, Vectors{}, batch_, n_, wide_q_.get());
    ops_.widen(a_.get(), Layout::row_major, Vectors{}, batch_, n_, wide_a_.get());
    ops_.multiply(wide_q_.get(), Transpose::yes, wide_a_.get(), Transpose::no, batch_, n_,
                  product_.get());
    const Subtrahend r{h_.get(), Layout::column_major, Part::upper, {}, false};
    keep(ops_.residual_norm1(product_.get(), Part::all, r, batch_, n_).front());
    ops_.multiply(wide_q_.get(), Transpose::yes, wide_q_.get(), Transpose::no, batch_, n_,
                  product_.get());
    Subtrahend identity;
    identity.identity = true;
    keep(ops_.residual_norm1(product_.get(), Part::all, identity, batch_, n_).front());
  }

  template <class T>
  void keep(T value) {
    kept_ += static_cast<double>(value);
  }

  kbench::Device& device_;
  kbench::Ops& ops_;
  std::int64_t batch_, n_, count_;
  Buffer<float> a_, h_, q_, tau_;
  Buffer<double> wide_a_, wide_q_, product_;
  double kept_ = 0;
};

}  // namespace

int main() {
  try {
    const auto device = kbench::open_device({kbench::DeviceRequest::Kind::cuda, 0}, nullptr);
    const kbench::DeviceInfo& info = device->info();
    std::printf("%s, %s, driver %s, runtime %s, flush %.0f MiB\n", info.name.c_str(),
                info.uuid.c_str(), info.driver.c_str(), info.runtime.c_str(),
                static_cast<double>(info.flush_bytes) / (1 << 20));
    std::printf("free memory %.0f MiB\n", static_cast<double>(info.free_bytes) / (1 << 20));
    for (const Shape shape : {Shape{640, 512}, {60, 1024}, {2, 4096}, {8, 2048}, {20, 32}}) {
      Bench(*device, shape).run();
    }
    return 0;
  } catch (const kbench::Error& error) {
    std::fprintf(stderr, "kbench_cuda_bench: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "kbench_cuda_bench: %s\n", error.what());
    return 1;
  }
}
