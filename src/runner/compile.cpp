// Turns a source file into a plug-in: makes the cache key, prepares a private folder with harmless
// names, runs the compiler there and translates its messages back. Knows no kernel, device or verb.
#include "runner/compile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/error.h"
#include "core/sha256.h"
#include "core/text.h"
#include "runner/command.h"
#include "runner/compile_cache.h"
#include "runner/depfile.h"

namespace kbench {
namespace {

namespace fs = std::filesystem;
using Replacements = std::vector<std::pair<std::string, std::string>>;

constexpr const char* k_header = "kbench_kernel.h";
// Names in the build folder. A quoted include looks there first, so no user's file has such a name.
constexpr const char* k_copy = "kbench_source";
constexpr const char* k_prelude = "kbench_prelude.h";
constexpr const char* k_source_link = "kbench_source_folder";
constexpr const char* k_header_link = "kbench_header_folder";
constexpr const char* k_library = "kernel.so";
constexpr const char* k_depfile = "kbench_dependencies";
constexpr double k_version_limit_s = 30;

/// Variables that change what a compiler makes of the same arguments.
constexpr const char* k_compiler_variables[] = {
    "CPATH",        "C_INCLUDE_PATH",     "CPLUS_INCLUDE_PATH", "LIBRARY_PATH",
    "NVCC_CCBIN",   "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS",  "GCC_EXEC_PREFIX",
    "COMPILER_PATH"};

struct Source {
  std::string path;    ///< absolute, as messages show it
  std::string folder;  ///< of the path
  std::string bytes;   ///< without a byte order mark
  std::string header_folder;
  std::string header_bytes;
};

std::string absolute_path(const std::string& path) {
  const fs::path absolute = fs::absolute(path);
  const fs::path normal = absolute.lexically_normal();
  // `link/..` is where the link leads to; only the file system knows that.
  const bool climbs = std::find(absolute.begin(), absolute.end(), "..") != absolute.end();
  std::error_code error;
  const fs::path folder =
      climbs ? fs::weakly_canonical(absolute.parent_path(), error) : normal.parent_path();
  return error ? normal.string() : (folder / absolute.filename()).string();
}

Source read_source(const CompileRequest& request) {
  Source source;
  source.path = absolute_path(request.source);
  source.folder = fs::path(source.path).parent_path().string();
  std::optional<std::string> bytes = read_file(source.path);
  if (!bytes) {
    throw Error(ExitCode::usage,
                fmt::format("cannot read the kernel `{}` (no readable file is there); check the "
                            "path, or write one with `kbench new`",
                            to_one_line(request.source)));
  }
  // In front of the copy stands a line of ours, where a mark would be an error.
  if (bytes->starts_with("\xef\xbb\xbf")) bytes->erase(0, 3);
  source.bytes = std::move(*bytes);
  source.header_folder = absolute_path(request.header_folder);
  std::optional<std::string> header = read_file(source.header_folder + '/' + k_header);
  if (!header) {
    throw Error(ExitCode::usage,
                fmt::format("cannot read `{}` (not in `{}`); install kbench with its headers",
                            k_header, to_one_line(source.header_folder)));
  }
  source.header_bytes = std::move(*header);
  return source;
}

std::string compiler_version(const Toolchain& toolchain, const CompileRequest& request) {
  Command command;
  command.argv = toolchain.compiler;
  command.argv.push_back("--version");
  command.time_limit_s = k_version_limit_s;
  command.cancelled = request.cancelled;
  const CommandResult result = run_command(command);
  if (result.end != CommandResult::End::cancelled && !result.succeeded()) {
    throw Error(ExitCode::usage,
                fmt::format("the compiler `{}` does not run ({}: {}); repair it or name another",
                            shell_text(toolchain.compiler), describe_end(result, k_version_limit_s),
                            shorten(to_one_line(result.output), 300)));
  }
  return result.output;
}

/// Hash of everything that is known before compiling and decides what comes out. What the source
/// includes is checked by the cache.
std::string cache_key(const CompileRequest& request, const Toolchain& toolchain,
                      const Source& source, const std::string& version) {
  Sha256 hash;
  const auto add = [&](const std::string& field) {
    const std::string length = fmt::format("{}:", field.size());
    hash.update(length.data(), length.size());
    hash.update(field.data(), field.size());
  };
  const CompilePaths names = {"source", "source_folder", "header_folder",
                              "output", "prelude",       "dependencies"};
  for (const std::string& word :
       compile_argv(toolchain, names, request.architecture, request.extra_flags)) {
    add(word);
  }
  for (const char* name : k_compiler_variables) {
    const char* value = std::getenv(name);
    add(value == nullptr ? std::string() : std::string("=") + value);
  }
  for (const std::string& field :
       {source.path, source.bytes, source.header_folder, source.header_bytes, version}) {
    add(field);
  }
  // Relative paths among the user's flags start at the present folder.
  if (!request.extra_flags.empty()) add(fs::current_path().string());
  return hash.hex();
}

/// True when every tool on the way keeps the name in a #line and in debug information as it is:
/// nvcc writes it unescaped into PTX.
bool fits_line_directive(const std::string& path) {
  return std::all_of(path.begin(), path.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

/// The file's stem as `name` of a kernel in the simple form.
std::string kernel_name(const std::string& path) {
  std::string name = fs::path(path).stem().string();
  for (char& c : name) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '-';
    if (!kept) c = '_';
  }
  return name.empty() ? "custom" : name;
}

void write_build_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    throw Error(ExitCode::usage,
                fmt::format("cannot write `{}` (disk full?); free some space", to_one_line(path)));
  }
}

/// Fills the build folder and says where things are.
CompilePaths prepare(const PrivateFolder& build, const Source& source) {
  const std::string folder = build.path() + '/';
  CompilePaths paths;
  paths.source = folder + k_copy + fs::path(source.path).extension().string();
  paths.source_folder = folder + k_source_link;
  paths.header_folder = folder + k_header_link;
  paths.output = folder + k_library;
  paths.prelude = folder + k_prelude;
  paths.depfile = folder + k_depfile;
  fs::create_directory_symlink(source.folder, paths.source_folder);
  fs::create_directory_symlink(source.header_folder, paths.header_folder);
  write_build_file(paths.prelude,
                   fmt::format("#define KBENCH_KERNEL_NAME \"{}\"\n", kernel_name(source.path)));
  const std::string line = fits_line_directive(source.path)
                               ? fmt::format("#line 1 \"{}\"\n", source.path)
                               : std::string();
  write_build_file(paths.source, line + source.bytes);
  return paths;
}

Replacements to_user_paths(const CompilePaths& paths, const Source& source) {
  return {{paths.source_folder, source.folder},
          {paths.header_folder, source.header_folder},
          {paths.source, source.path}};
}

std::string replace_all(std::string text, const Replacements& replacements) {
  for (const auto& [from, to] : replacements) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

/// Files that the compiler read, as absolute paths, without ours and those of the system, which the
/// compiler's version stands for.
std::vector<std::string> user_inputs(const CompilePaths& paths, const Toolchain& toolchain,
                                     const Source& source) {
  const std::optional<std::string> text = read_file(paths.depfile);
  // Without a list nobody can tell when the plug-in is stale: an input that cannot exist.
  if (!text) return {paths.depfile};
  std::vector<std::string> inputs;
  for (const std::string& name : parse_depfile(*text)) {
    if (name == paths.source || name == paths.prelude) continue;
    const Replacements to_user = to_user_paths(paths, source);
    std::string path = absolute_path(replace_all(name, to_user));
    std::error_code error;
    if (!fs::exists(path, error)) path = replace_all(std::move(path), {{"$$", "$"}});
    if (path == source.path) continue;
    const auto is_below = [&](const std::string& folder) { return path.starts_with(folder + '/'); };
    if (is_below("/usr/include") || is_below("/usr/lib")) continue;
    if (!toolchain.toolkit.empty() &&
        fs::weakly_canonical(path, error).string().starts_with(toolchain.toolkit + '/')) {
      continue;
    }
    inputs.push_back(path);
  }
  return inputs;
}

std::string command_text(const CompileRequest& request, const Toolchain& toolchain,
                         const Source& source) {
  const std::string output = fs::path(source.path).stem().string() + ".so";
  return to_valid_utf8(shell_text(
      compile_argv(toolchain, {source.path, source.folder, source.header_folder, output, "", ""},
                   request.architecture, request.extra_flags)));
}

void build(const CompileRequest& request, const Toolchain& toolchain, const Source& source,
           const CompileCache& cache, const std::string& key, CompileResult& result) {
  const PrivateFolder folder(cache.build_stem());
  const CompilePaths paths = prepare(folder, source);
  Command command;
  command.argv = compile_argv(toolchain, paths, request.architecture, request.extra_flags);
  // Temporary files of the compiler go with the folder, even when the compiler is killed.
  command.environment = {{"TMPDIR", folder.path()}};
  command.time_limit_s = request.time_limit_s;
  command.cancelled = request.cancelled;
  const CommandResult run = run_command(command);
  result.output = to_valid_utf8(replace_all(run.output, to_user_paths(paths, source)));
  if (!run.succeeded() || !fs::is_regular_file(paths.output)) {
    result.error = fmt::format("`{}` does not compile ({}: {}); see the compiler's words",
                               to_one_line(request.source),
                               fs::path(toolchain.compiler[0]).filename().string(),
                               describe_end(run, request.time_limit_s));
    return;
  }
  const std::vector<std::string> inputs = user_inputs(paths, toolchain, source);
  result.library = cache.store(key, paths.output, result.output, inputs).library;
  result.ok = true;
}

}  // namespace

CompileResult compile(const CompileRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  const SourceLanguage language = source_language(request.source);
  const Source source = read_source(request);
  const Toolchain toolchain = find_toolchain(language);
  CompileResult result;
  result.command = command_text(request, toolchain, source);
  const std::string version = compiler_version(toolchain, request);
  const std::string key = cache_key(request, toolchain, source, version);
  const CompileCache cache(request.cache_folder.empty() ? default_cache_folder()
                                                        : request.cache_folder);
  if (std::optional<CacheEntry> entry = cache.find(key)) {
    result.ok = result.cached = true;
    result.library = std::move(entry->library);
    result.output = std::move(entry->output);
  } else {
    build(request, toolchain, source, cache, key, result);
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace kbench
