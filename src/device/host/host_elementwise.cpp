// Element-wise operations of the host device: plain loops over whole matrices, one rounding per
// operation (the room is built without contraction). Must not know what the matrices are for.
#include <algorithm>
#include <cstring>

#include "device/host/host_ops.h"
#include "device/host/parallel.h"

namespace kbench::host {
namespace {

constexpr std::int64_t k_tile = 32;  // two tiles of floats stay in the first-level cache

// Calls body(b, matrix b) for every matrix, on several threads when they are large.
template <class Body>
void for_matrices(std::int64_t batch, std::int64_t n, const Body& body) {
  parallel_for(batch, n * n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) body(b);
  });
}

const float* vector_of(Vectors vectors, std::int64_t b) {
  return vectors.data == nullptr ? nullptr : vectors.data + b * vectors.stride;
}

std::size_t matrix_bytes(std::int64_t n) { return static_cast<std::size_t>(n * n) * sizeof(float); }

}  // namespace

void HostOps::scale(float* a, std::int64_t batch, std::int64_t n, Vectors row, Vectors col) {
  parallel_for(batch * n, n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float* rows = vector_of(row, r / n);
      const float* cols = vector_of(col, r / n);
      float* line = a + r * n;
      if (rows != nullptr) {
        for (std::int64_t j = 0; j < n; ++j) line[j] = rows[r % n] * line[j];
      }
      if (cols != nullptr) {
        for (std::int64_t j = 0; j < n; ++j) line[j] = line[j] * cols[j];
      }
    }
  });
}

void HostOps::scale_all(float* a, std::int64_t count, float factor) {
  parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) a[i] *= factor;
  });
}

void HostOps::add_diagonal(float* a, std::int64_t batch, std::int64_t n, Vectors diagonal) {
  for (std::int64_t b = 0; b < batch; ++b) {
    const float* values = vector_of(diagonal, b);
    for (std::int64_t i = 0; i < n; ++i) {
      a[b * n * n + i * n + i] += values == nullptr ? 1.0f : values[i];
    }
  }
}

void HostOps::set_diagonal(float* out, std::int64_t batch, std::int64_t n, Vectors diagonal) {
  for_matrices(batch, n, [&](std::int64_t b) {
    const float* values = vector_of(diagonal, b);
    float* matrix = out + b * n * n;
    std::memset(matrix, 0, matrix_bytes(n));
    for (std::int64_t i = 0; i < n; ++i) {
      matrix[i * n + i] = values == nullptr ? 1.0f : values[i];
    }
  });
}

void HostOps::keep_upper(float* a, std::int64_t batch, std::int64_t n) {
  for_matrices(batch, n, [&](std::int64_t b) {
    for (std::int64_t i = 1; i < n; ++i) std::fill_n(a + b * n * n + i * n, i, 0.0f);
  });
}

void HostOps::keep_band(float* a, std::int64_t batch, std::int64_t n, const std::int64_t* widths) {
  for_matrices(batch, n, [&](std::int64_t b) {
    for (std::int64_t i = 0; i < n; ++i) {
      float* line = a + b * n * n + i * n;
      const std::int64_t below = std::clamp<std::int64_t>(i - widths[b], 0, n);
      const std::int64_t above = std::clamp<std::int64_t>(i + widths[b] + 1, 0, n);
      for (std::int64_t j = 0; j < below; ++j) line[j] *= 0.0f;
      for (std::int64_t j = above; j < n; ++j) line[j] *= 0.0f;
    }
  });
}

void HostOps::zero_columns(float* a, std::int64_t batch, std::int64_t n, std::int64_t first) {
  for_matrices(batch, n, [&](std::int64_t b) {
    for (std::int64_t i = 0; i < n; ++i)
      std::fill_n(a + b * n * n + i * n + first, n - first, 0.0f);
  });
}

void HostOps::repeat_columns(float* a, std::int64_t batch, std::int64_t n, std::int64_t first,
                             const float* noise, float factor) {
  const std::int64_t tail = n - first;
  for_matrices(batch, n, [&](std::int64_t b) {
    for (std::int64_t i = 0; i < n; ++i) {
      float* line = a + b * n * n + i * n;
      const float* line_noise = noise + (b * n + i) * tail;
      for (std::int64_t k = 0; k < tail; ++k) {
        const float shift = factor * line_noise[k];
        line[first + k] = line[k] + shift;
      }
    }
  });
}

void HostOps::near_columns(float* out, std::int64_t batch, std::int64_t n, const float* base,
                           const float* noise, float factor) {
  for_matrices(batch, n, [&](std::int64_t b) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t line = b * n * n + i * n;
      for (std::int64_t j = 0; j < n; ++j) {
        const float shift = factor * noise[line + j];
        out[line + j] = base[b * n + i] + shift;
      }
    }
  });
}

void HostOps::symmetrize(float* a, std::int64_t batch, std::int64_t n) {
  for_matrices(batch, n, [&](std::int64_t b) {
    float* matrix = a + b * n * n;
    for (std::int64_t top = 0; top < n; top += k_tile) {
      for (std::int64_t left = 0; left <= top; left += k_tile) {
        for (std::int64_t i = top; i < std::min(n, top + k_tile); ++i) {
          for (std::int64_t j = left; j < std::min(i + 1, left + k_tile); ++j) {
            const float half = 0.5f * (matrix[i * n + j] + matrix[j * n + i]);
            matrix[i * n + j] = half;
            matrix[j * n + i] = half;
          }
        }
      }
    }
  });
}

void HostOps::gather(const float* in, const std::int64_t* index, std::int64_t batch, std::int64_t n,
                     float* out) {
  for_matrices(batch, n, [&](std::int64_t b) {
    std::memcpy(out + b * n * n, in + index[b] * n * n, matrix_bytes(n));
  });
}

void HostOps::scatter(const float* in, const std::int64_t* index, std::int64_t batch,
                      std::int64_t n, float* out) {
  for_matrices(batch, n, [&](std::int64_t b) {
    std::memcpy(out + index[b] * n * n, in + b * n * n, matrix_bytes(n));
  });
}

void HostOps::rearrange(const float* in, std::int64_t batch, std::int64_t n,
                        const std::int32_t* order, Vectors row, Vectors col, float* out) {
  parallel_for(batch * n, n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t b = r / n, i = r % n;
      const std::int32_t* places = order == nullptr ? nullptr : order + b * n;
      const float* rows = vector_of(row, b);
      const float* cols = vector_of(col, b);
      const float* from = in + (b * n + (places == nullptr ? i : places[i])) * n;
      for (std::int64_t j = 0; j < n; ++j) {
        float value = from[places == nullptr ? j : places[j]];
        if (rows != nullptr) value = rows[i] * value;
        if (cols != nullptr) value = value * cols[j];
        out[r * n + j] = value;
      }
    }
  });
}

void HostOps::transpose(const float* in, std::int64_t batch, std::int64_t n, float* out) {
  for_matrices(batch, n, [&](std::int64_t b) {
    const float* from = in + b * n * n;
    float* to = out + b * n * n;
    for (std::int64_t top = 0; top < n; top += k_tile) {
      for (std::int64_t left = 0; left < n; left += k_tile) {
        for (std::int64_t i = top; i < std::min(n, top + k_tile); ++i) {
          for (std::int64_t j = left; j < std::min(n, left + k_tile); ++j) {
            to[j * n + i] = from[i * n + j];
          }
        }
      }
    }
  });
}

}  // namespace kbench::host
