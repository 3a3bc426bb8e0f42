#include "core/npy.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "catch.h"
#include "core/expect_error.h"

using namespace kbench;
using kbench::test::error_of;
using kbench::test::Said;

namespace {

/// A folder of its own that goes with the object.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() / ("kbench-npy-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A file of format `major`.0 with this dict and so many bytes of data.
std::string npy(const std::string& dict, std::size_t data_bytes, int major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>(dict.size() >> (8 * i) & 0xFF);
  }
  return bytes + dict + std::string(data_bytes, '\0');
}

}  // namespace

TEST_CASE("an array comes back as it was written") {
  const Folder folder;
  struct Row {
    std::vector<std::int64_t> shape;
    std::size_t count;
  };
  for (const Row& row :
       {Row{{2, 3, 3}, 18}, Row{{5}, 5}, Row{{}, 1}, Row{{0, 4}, 0}, Row{{1, 1, 1, 1, 1, 2}, 2}}) {
    std::vector<float> values(row.count);
    for (std::size_t i = 0; i < row.count; ++i) values[i] = static_cast<float>(i) - 0.5f;
    if (row.count > 1) values[1] = std::numeric_limits<float>::quiet_NaN();
    const std::string path = folder.file("a.npy");
    write_npy(path, row.shape, values.data());
    const NpyHeader header = read_npy_header(path);
    CHECK(header.shape == row.shape);
    CHECK_FALSE(header.fortran_order);
    CHECK(header.data_offset % 64 == 0);
    const std::vector<float> back = read_npy(path, header);
    REQUIRE(back.size() == values.size());
    CHECK(std::memcmp(back.data(), values.data(), row.count * sizeof(float)) == 0);
  }
}

TEST_CASE("a written file is what numpy.save writes") {
  const Folder folder;
  const float value = 1;
  write_npy(folder.file("a.npy"), {1, 1}, &value);
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }";
  const std::string bytes = read_bytes(folder.file("a.npy"));
  const std::string expected = npy(dict + std::string(128 - 10 - dict.size() - 1, ' ') + "\n", 0) +
                               std::string("\x00\x00\x80\x3F", 4);
  CHECK(bytes == expected);
}

TEST_CASE("headers of other writers are read") {
  const Folder folder;
  struct Row {
    const char* dict;
    int major;
    bool fortran_order;
  };
  for (const Row& row : {
           Row{"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n", 1, false},
           Row{"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }   \n", 2, false},
           Row{"{\"shape\":(2,1,),\"fortran_order\":True,\"descr\":\"<f4\"}", 1, true},
           Row{"{ 'shape' : ( 2 , 1 ) , 'descr' : '<f4' , 'fortran_order' : False }", 1, false},
       }) {
    CAPTURE(row.dict);
    const std::string path = folder.file("a.npy");
    write_bytes(path, npy(row.dict, 8, row.major));
    const NpyHeader header = read_npy_header(path);
    CHECK(header.shape == std::vector<std::int64_t>{2, 1});
    CHECK(header.fortran_order == row.fortran_order);
  }
}

TEST_CASE("a file that is no float32 array is refused with the reason") {
  const Folder folder;
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
  struct Row {
    std::string bytes;
    const char* what;
  };
  const auto dict = [](const std::string& descr, const std::string& shape) {
    return npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + "}", 16);
  };
  const std::vector<Row> rows{
      {"", "it ends inside its header"},
      {"\x93NUM", "it ends inside its header"},
      {"PK\x03\x04 and more than that", "it is no .npy file"},
      {npy(good, 16, 3), "its format version is 3.0, known are 1.0 and 2.0"},
      {npy(good, 16).substr(0, 40), "it ends inside its header"},
      {npy(good, 15), "its shape (2, 2) needs 16 bytes, but 15 bytes of data follow the header"},
      {npy(good, 17), "its shape (2, 2) needs 16 bytes, but 17 bytes of data follow the header"},
      {npy(good, 0), "but 0 bytes of data follow the header"},
      {dict("'<f8'", "(2, 2)"), "its dtype is `<f8`, needed is `<f4`"},
      {dict("'>f4'", "(2, 2)"), "its dtype is `>f4`"},
      {dict("'|O'", "(2, 2)"), "its dtype is `|O`"},
      {dict("[('x', '<f4')]", "(2, 2)"), "its dtype is a record"},
      {dict("'<f4", "(2, 2)"), "its dtype is `<f4, `"},
      {dict("'<f4'", "(2, 2"), "where `)` is expected"},
      {dict("'<f4'", "(4)"), "its `shape` is no tuple"},
      {dict("'<f4'", "4"), "where `(` is expected"},
      {dict("'<f4'", "(-2, 2)"), "which is no size"},
      {dict("'<f4'", "(2.0, 2)"), "its `shape` is no tuple"},
      {dict("'<f4'", "(9223372036854775808, 1)"), "which is no size"},
      {dict("'<f4'", "(4611686018427387904, 4611686018427387904)"), "needs more than 2^62 bytes"},
      {dict("'<f4'", "(9223372036854775807, 2)"), "needs more than 2^62 bytes"},
      {dict("'<f4'", "(4294967296, 4294967296, 1)"), "needs more than 2^62 bytes"},
      {dict("'<f4'", "(2, 2), 'descr': '<f4'"), "a key `descr` too many"},
      {dict("'<f4'", "(2, 2), 'x': 1"), "a key `x` too many"},
      {npy("{'descr': '<f4', 'shape': (2, 2)}", 16), "lacks one of"},
      {npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 2)}", 16), "neither True nor False"},
      {npy(good + " x", 16), "does not end with its dict"},
      {npy("", 16), "where `{` is expected"},
      {npy(std::string(60000, '{'), 16), "lacks a quoted word"},
      {std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\x7F", 12), "its header has 2147483647 bytes"},
  };
  const std::string path = folder.file("a.npy");
  for (const Row& row : rows) {
    CAPTURE(row.what);
    write_bytes(path, row.bytes);
    const Said said = error_of([&] { read_npy_header(path); });
    CHECK(said.code == 113);
    CHECK_THAT(said.text, ContainsSubstring("cannot use `" + path + "` ("));
    CHECK_THAT(said.text, ContainsSubstring(row.what));
    CHECK(said.text.size() < path.size() + 300);
  }
}

TEST_CASE("Fortran order is refused when the values are read") {
  const Folder folder;
  const std::string path = folder.file("a.npy");
  write_bytes(path, npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", 16));
  const NpyHeader header = read_npy_header(path);
  const Said said = error_of([&] { read_npy(path, header); });
  CHECK(said.code == 113);
  CHECK_THAT(said.text, ContainsSubstring("it is in Fortran order"));
}

TEST_CASE("a path that is no file is refused") {
  const Folder folder;
  CHECK_THAT(error_of([&] { read_npy_header(folder.file("none")); }).text,
             ContainsSubstring("there is no such file"));
  CHECK_THAT(error_of([&] { read_npy_header(folder.file("")); }).text,
             ContainsSubstring("it is no regular file"));
  CHECK_THAT(error_of([] { read_npy_header("/dev/zero"); }).text,
             ContainsSubstring("it is no regular file"));
}

TEST_CASE("a file that cannot be written is a failed case") {
  const float value = 1;
  for (const char* path : {"/nowhere/a.npy", "/dev/full"}) {
    CAPTURE(path);
    const Said said = error_of([&] { write_npy(path, {1}, &value); });
    CHECK(said.code == 112);
    CHECK_THAT(said.text, ContainsSubstring(std::string("cannot write `") + path + "`"));
  }
}
