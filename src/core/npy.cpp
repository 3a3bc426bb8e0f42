// Float32 arrays in NumPy's file format. Strict, because a user's own matrices come this way; must
// not know what shape a problem wants.
#include "core/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/text.h"

namespace kbench {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie");

constexpr std::string_view k_magic = "\x93NUMPY";
constexpr std::size_t k_longest_header = std::size_t{1} << 20;
constexpr std::string_view k_dtype = "<f4";

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ExitCode::case_file, fmt::format("cannot use `{}` ({}); save it with numpy.save as a "
                                               "C-order array of dtype float32",
                                               to_one_line(path), what));
}

/// Reads the header's Python dict: the three keys in any order, each once, nothing else.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !has_descr) {
        has_descr = true;
        dtype();
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        header.fortran_order = boolean();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        header.shape = shape();
      } else {
        fail(path_, fmt::format("its header has a key `{}` too many", show(key)));
      }
      if (take('}')) break;
      expect(',');
    }
    skip_blanks();
    if (!text_.empty()) fail(path_, "its header does not end with its dict");
    if (!has_descr || !has_order || !has_shape) {
      fail(path_, "its header lacks one of `descr`, `fortran_order` and `shape`");
    }
    return header;
  }

 private:
  static std::string show(std::string_view text) { return to_one_line(shorten(text, 40)); }

  void skip_blanks() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) {
      text_.remove_prefix(1);
    }
  }

  bool take(char c) {
    skip_blanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!take(c)) {
      fail(path_, fmt::format("its header has `{}` where `{}` is expected", show(text_), c));
    }
  }

  std::string_view string() {
    skip_blanks();
    const char quote = text_.empty() ? '\0' : text_.front();
    if (quote != '\'' && quote != '"') fail(path_, "its header lacks a quoted word");
    const std::size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) fail(path_, "its header has an open quote");
    const std::string_view result = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return result;
  }

  void dtype() {
    skip_blanks();
    // A list here is a structured dtype.
    if (!text_.empty() && text_.front() == '[') fail(path_, "its dtype is a record");
    const std::string_view found = string();
    if (found != k_dtype) {
      fail(path_, fmt::format("its dtype is `{}`, needed is `{}`", show(found), k_dtype));
    }
  }

  bool boolean() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(0, word.size()) == word) {
        text_.remove_prefix(word.size());
        return value;
      }
    }
    fail(path_, "its `fortran_order` is neither True nor False");
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!take(')')) {
      sizes.push_back(size());
      const bool comma = take(',');
      if (!comma && sizes.size() == 1) fail(path_, "its `shape` is no tuple");
      if (!comma) {
        expect(')');
        break;
      }
    }
    return sizes;
  }

  std::int64_t size() {
    skip_blanks();
    std::int64_t value = 0;
    const char* end = text_.data() + text_.size();
    const auto parsed = std::from_chars(text_.data(), end, value);
    if (parsed.ec != std::errc() || value < 0) {
      fail(path_, fmt::format("its `shape` holds `{}`, which is no size", show(text_)));
    }
    text_.remove_prefix(static_cast<std::size_t>(parsed.ptr - text_.data()));
    return value;
  }

  std::string_view text_;
  const std::string& path_;
};

/// Elements of `shape`, or -1 where their bytes do not fit 63 bits.
std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t k_most = std::numeric_limits<std::int64_t>::max() / 8;
  std::int64_t count = 1;
  bool too_large = false;
  for (const std::int64_t size : shape) {
    if (size == 0) return 0;
    too_large = too_large || count > k_most / size;
    if (!too_large) count *= size;
  }
  return too_large ? -1 : count;
}

std::string read_bytes(std::ifstream& file, std::size_t bytes, const std::string& path) {
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  if (!file) fail(path, "it ends inside its header");
  return text;
}

std::int64_t size_of_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) fail(path, "there is no such file");
  if (!std::filesystem::is_regular_file(path, error)) fail(path, "it is no regular file");
  const auto bytes = std::filesystem::file_size(path, error);
  if (error) fail(path, error.message());
  return static_cast<std::int64_t>(bytes);
}

/// Length of the dict's text from the fixed part of the header: 2 bytes in format 1, 4 in format 2.
std::size_t header_length(std::ifstream& file, const std::string& path) {
  const std::string fixed = read_bytes(file, 8, path);
  if (fixed.substr(0, 6) != k_magic) fail(path, "it is no .npy file");
  const int major = static_cast<unsigned char>(fixed[6]);
  const int minor = static_cast<unsigned char>(fixed[7]);
  if ((major != 1 && major != 2) || minor != 0) {
    fail(path, fmt::format("its format version is {}.{}, known are 1.0 and 2.0", major, minor));
  }
  const std::string text = read_bytes(file, major == 1 ? 2 : 4, path);
  std::size_t length = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(text[i]);
  }
  if (length > k_longest_header) fail(path, fmt::format("its header has {} bytes", length));
  return length;
}

}  // namespace

NpyHeader read_npy_header(const std::string& path) {
  const std::int64_t file_bytes = size_of_file(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path, "it cannot be opened");
  const std::string text = read_bytes(file, header_length(file, path), path);
  NpyHeader header = HeaderParser(text, path).parse();
  header.data_offset = static_cast<std::int64_t>(file.tellg());
  const std::int64_t count = element_count(header.shape);
  const std::int64_t data_bytes = file_bytes - header.data_offset;
  if (count < 0 || count * std::int64_t{sizeof(float)} != data_bytes) {
    fail(path, fmt::format("its shape ({}) {}, but {} bytes of data follow the header",
                           fmt::join(header.shape, ", "),
                           count < 0 ? std::string("needs more than 2^62 bytes")
                                     : fmt::format("needs {} bytes", count * 4),
                           data_bytes));
  }
  return header;
}

std::vector<float> read_npy(const std::string& path, const NpyHeader& header) {
  if (header.fortran_order) fail(path, "it is in Fortran order");
  const std::int64_t count = element_count(header.shape);
  KBENCH_ASSERT(count >= 0);
  std::vector<float> values(static_cast<std::size_t>(count));
  std::ifstream file(path, std::ios::binary);
  file.seekg(header.data_offset);
  const auto bytes = static_cast<std::streamsize>(values.size() * sizeof(float));
  file.read(reinterpret_cast<char*>(values.data()), bytes);
  if (!file) fail(path, "it changed while it was read");
  return values;
}

void write_npy(const std::string& path, const std::vector<std::int64_t>& shape, const float* data) {
  const std::int64_t count = element_count(shape);
  KBENCH_ASSERT(count >= 0);
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                                 k_dtype, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // The format pads the header with blanks so that the data start at a multiple of 64.
  constexpr std::size_t k_fixed = 10, k_align = 64;
  dict.append(k_align - 1 - (k_fixed + dict.size()) % k_align, ' ');
  dict += '\n';
  KBENCH_ASSERT(dict.size() <= 0xFFFF);
  std::string head(k_magic);
  for (const std::size_t byte :
       {std::size_t{1}, std::size_t{0}, dict.size() & 0xFF, dict.size() >> 8}) {
    head += static_cast<char>(byte);
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << head << dict;
  file.write(reinterpret_cast<const char*>(data),
             static_cast<std::streamsize>(count * std::int64_t{sizeof(float)}));
  file.flush();
  if (!file) {
    throw Error(
        ExitCode::case_failed,
        fmt::format("cannot write `{}` ({} bytes); check the folder, its permissions and the "
                    "free space",
                    to_one_line(path), count * std::int64_t{sizeof(float)}));
  }
}

}  // namespace kbench
