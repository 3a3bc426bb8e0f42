// Starts a browser of the Chromium family without a screen. Knows nothing of the page.
#include "browser.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runner/command.h"

namespace kbench::test {
namespace {

constexpr double k_limit_s = 120;  // a machine that builds at the same time is slow

std::string path_of(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

CommandResult start(std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  command.time_limit_s = k_limit_s;
  command.output_limit = std::size_t{64} << 20;
  return run_command(command);
}

/// Some distributions ship a script that only says where to get the browser.
bool starts(const std::string& path) {
  if (path.empty()) return false;
  const CommandResult result =
      start({path, "--headless", "--no-sandbox", "--dump-dom", "data:text/html,<p>alive</p>"});
  return result.succeeded() && result.output.find("<p>alive</p>") != std::string::npos;
}

}  // namespace

Browser Browser::find() {
  std::vector<std::string> candidates;
  const char* named = std::getenv("KBENCH_BROWSER");
  if (named != nullptr) {
    candidates.emplace_back(named);
  } else {
    for (const char* name :
         {"chromium-headless-shell", "chromium", "google-chrome", "chromium-browser"}) {
      candidates.push_back(path_of(name));
    }
  }
  for (const std::string& path : candidates) {
    if (starts(path)) return Browser(path);
  }
  std::puts(
      "SKIPPED: no headless browser (none of the Chromium family starts); install "
      "chromium-headless-shell or name one in KBENCH_BROWSER");
  std::fflush(stdout);
  return Browser("");
}

std::vector<std::string> Browser::arguments(const std::string& file) const {
  // The page is ours; a container seldom lets a browser build its own sandbox.
  return {path_,
          "--headless",
          "--no-sandbox",
          "--disable-gpu",
          "--disable-dev-shm-usage",
          "--hide-scrollbars",
          "file://" + file};
}

Loaded Browser::load(const std::string& file, int width, bool dark) const {
  std::vector<std::string> argv = arguments(file);
  argv.insert(
      argv.begin() + 1,
      {"--dump-dom", "--enable-logging=stderr", "--window-size=" + std::to_string(width) + ",900",
       std::string("--blink-settings=preferredColorScheme=") + (dark ? "0" : "1")});
  const CommandResult result = start(argv);
  Loaded loaded;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    // `[pid:tid:date:INFO:CONSOLE:12] "words", source: ...`; other lines are the browser's own.
    const bool logged = line.rfind("[", 0) == 0 && line.find("CONSOLE") != std::string::npos;
    if (logged) loaded.console.push_back(line);
    if (!logged) loaded.dom += line + '\n';
  }
  return loaded;
}

bool Browser::print(const std::string& file, const std::string& pdf) const {
  std::vector<std::string> argv = arguments(file);
  argv.insert(argv.begin() + 1, "--print-to-pdf=" + pdf);
  start(argv);
  std::ifstream written(pdf, std::ios::binary);
  std::string head(5, '\0');
  written.read(head.data(), 5);
  return head == "%PDF-";
}

}  // namespace kbench::test
