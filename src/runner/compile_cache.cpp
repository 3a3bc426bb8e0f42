// Keeps compiled plug-ins as folders `<cache>/kernels/<key>`: the library, what the compiler said,
// and a sealed list of hashes. Does not know compilers or how a key is made.
#include "runner/compile_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/error.h"
#include "core/sha256.h"
#include "core/text.h"

namespace kbench {
namespace {

namespace fs = std::filesystem;

constexpr const char* k_library = "kernel.so";
constexpr const char* k_output = "output.txt";
constexpr const char* k_seal = "entry";
constexpr std::string_view k_format = "kbench.kernel-cache/1";
constexpr std::string_view k_build_prefix = ".build-";
constexpr std::size_t k_hash_digits = 64;
constexpr std::chrono::hours k_abandoned_after{24};
constexpr std::chrono::minutes k_locked_after{1};  // longer than making a folder and locking it

std::string hash_of(std::string_view bytes) { return sha256_hex(bytes.data(), bytes.size()); }

/// Hash of a file, empty when it cannot be read; no file has that hash.
std::string hash_of_file(const std::string& path) {
  const std::optional<std::string> bytes = read_file(path);
  return bytes ? hash_of(*bytes) : std::string();
}

[[noreturn]] void refuse(const std::string& folder, const std::string& why) {
  throw Error(ExitCode::usage,
              fmt::format("cannot use the cache folder `{}` ({}); make it writable or set "
                          "XDG_CACHE_HOME",
                          to_one_line(folder), why));
}

void write_file(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) refuse(path.parent_path().string(), std::strerror(errno));
}

/// Fields, each with its NUL, then the hash of all that: no part can be lost unnoticed.
std::string seal(const std::vector<std::string>& fields) {
  std::string text;
  for (const std::string& field : fields) text.append(field).push_back('\0');
  return text + hash_of(text);
}

std::optional<std::vector<std::string>> unseal(const std::string& text) {
  if (text.size() < k_hash_digits) return {};
  const std::string_view body = std::string_view(text).substr(0, text.size() - k_hash_digits);
  if (hash_of(body) != std::string_view(text).substr(body.size())) return {};
  std::vector<std::string> fields;
  for (std::size_t begin = 0; begin < body.size();) {
    const std::size_t end = body.find('\0', begin);
    if (end == std::string_view::npos) return {};
    fields.emplace_back(body.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

bool is_plain(const std::string& path) {
  return path.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
             "0123456789_./-") == std::string::npos;
}

/// For builds whose cache has a path that nvcc's shell would misread.
std::string plain_temporary_folder() {
  std::error_code error;
  const char* named = std::getenv("TMPDIR");
  const fs::path folder = fs::canonical(named == nullptr ? "/tmp" : named, error);
  return !error && is_plain(folder.string()) ? folder.string() : "/tmp";
}

Fd lock_folder(const std::string& path) {
  Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return Fd();
  return folder;
}

/// Folders of builds that were killed with their kbench: nobody holds their lock any more. A file
/// system may know no locks: then their age tells.
void remove_abandoned(const std::string& cache) {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const fs::directory_entry& entry : fs::directory_iterator(cache, error)) {
    if (!entry.path().filename().string().starts_with(k_build_prefix)) continue;
    const auto written = entry.last_write_time(error);
    if (error || now - written < k_locked_after) continue;
    if (now - written > k_abandoned_after || lock_folder(entry.path().string())) {
      fs::remove_all(entry.path(), error);
    }
  }
}

/// Puts folder `from` at `to`; whatever was at `to` is at `from` afterwards.
void put_in_place(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return;
  if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) refuse(to, std::strerror(errno));
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return;
  // File systems that cannot exchange: between the two renames there is no entry, and another
  // kbench would only compile once more.
  const PrivateFolder away((fs::path(from).parent_path() / k_build_prefix).string());
  const std::string old = away.path() + "/old";
  if (rename(to.c_str(), old.c_str()) != 0 || rename(from.c_str(), to.c_str()) != 0) {
    refuse(to, std::strerror(errno));
  }
}

/// Moves a file, to another file system as well.
void move_file(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) == 0) return;
  std::error_code error;
  fs::copy_file(from, to, error);
  if (error) refuse(to, error.message());
}

}  // namespace

std::optional<std::string> read_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (file && file.peek() != std::ifstream::traits_type::eof()) bytes << file.rdbuf();
  if (file.bad() || !file.is_open()) return {};
  return std::move(bytes).str();
}

std::string default_cache_folder() {
  // The XDG specification says that a relative path is to be ignored.
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/kbench";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::string(home) + "/.cache/kbench";
  throw Error(
      ExitCode::usage,
      "no folder for compiled kernels (neither XDG_CACHE_HOME nor HOME is set to an absolute "
      "path); set XDG_CACHE_HOME");
}

PrivateFolder::PrivateFolder(const std::string& stem) : path_(stem + "XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) refuse(stem, std::strerror(errno));
  lock_ = lock_folder(path_);
}

PrivateFolder::~PrivateFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

CompileCache::CompileCache(const std::string& folder)
    : folder_((fs::absolute(folder) / "kernels").string()) {
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) refuse(folder_, error.message());
  remove_abandoned(folder_);
}

std::optional<CacheEntry> CompileCache::find(const std::string& key) const {
  const fs::path folder = fs::path(folder_) / key;
  const std::optional<std::string> sealed = read_file(folder / k_seal);
  const auto fields = sealed ? unseal(*sealed) : std::nullopt;
  if (!fields || fields->size() < 4 || fields->size() % 2 != 0) return {};
  if ((*fields)[0] != k_format || (*fields)[1] != key) return {};
  std::optional<std::string> output = read_file(folder / k_output);
  if (!output || hash_of(*output) != (*fields)[3]) return {};
  if (hash_of_file(folder / k_library) != (*fields)[2]) return {};
  for (std::size_t i = 4; i < fields->size(); i += 2) {
    const std::string now = hash_of_file((*fields)[i]);
    if (now.empty() || now != (*fields)[i + 1]) return {};
  }
  return CacheEntry{(folder / k_library).string(), std::move(*output)};
}

std::string CompileCache::build_stem() const {
  // nvcc resolves links and puts the true path of its input on a command line of its own.
  std::error_code error;
  const fs::path folder = fs::canonical(folder_, error);
  if (!error && is_plain(folder.string())) return (folder / k_build_prefix).string();
  return plain_temporary_folder() + "/kbench-build-";
}

CacheEntry CompileCache::store(const std::string& key, const std::string& library,
                               const std::string& output,
                               const std::vector<std::string>& inputs) const {
  const PrivateFolder stage((fs::path(folder_) / k_build_prefix).string());
  const fs::path folder = stage.path();
  move_file(library, (folder / k_library).string());
  std::vector<std::string> fields = {std::string(k_format), key, hash_of_file(folder / k_library),
                                     hash_of(output)};
  for (const std::string& input : inputs) {
    fields.push_back(input);
    fields.push_back(hash_of_file(input));
  }
  write_file(folder / k_output, output);
  write_file(folder / k_seal, seal(fields));
  const std::string place = (fs::path(folder_) / key).string();
  put_in_place(stage.path(), place);
  return {(fs::path(place) / k_library).string(), output};
}

}  // namespace kbench
