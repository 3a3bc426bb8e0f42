// Device memory for the temporaries of the operations, kept from call to call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/device.h"

namespace kbench::cuda {

/// One slot for each use; slots that are used at the same time differ.
enum class Slot {
  panel,             ///< reflectors of one block of form_q
  product,           ///< panel times Q
  scaled_product,    ///< the same times T
  gram,              ///< partial Gram matrices of a panel
  t_factor,          ///< T of the compact WY form
  column_sums,       ///< partial column sums
  matrix_values,     ///< one double a matrix
  flag,              ///< one 64-bit result of a scan
  range,             ///< linspace and logspace
  matrix_pointers,   ///< pointer arrays of cublasSgeqrfBatched
  solver_workspace,  ///< cuSOLVER's workspaces, one a stream
  solver_info,       ///< cuSOLVER's info words, one a stream
  count
};

/// Grow-only buffers: the same sequence of operations allocates on its first run alone.
class Arena {
 public:
  explicit Arena(Device& device) : device_(device) {}

  /// `count` elements of T, 256-byte aligned, contents undefined. Valid until the next take of the
  /// same slot. Growing waits for the device.
  template <class T>
  T* take(Slot slot, std::int64_t count) {
    Buffer<std::byte>& buffer = buffers_[static_cast<std::size_t>(slot)];
    const std::int64_t bytes = count * std::int64_t{sizeof(T)};
    if (buffer.bytes() < bytes) {
      buffer = Buffer<std::byte>();
      buffer = Buffer<std::byte>(device_, bytes);
    }
    return reinterpret_cast<T*>(buffer.get());
  }

 private:
  Device& device_;
  std::array<Buffer<std::byte>, static_cast<std::size_t>(Slot::count)> buffers_;
};

}  // namespace kbench::cuda
