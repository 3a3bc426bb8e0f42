// A headless browser for the tests of pages.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace kbench::test {

/// What a browser made of a page.
struct Loaded {
  std::string dom;                   ///< as HTML, after all has run
  std::vector<std::string> console;  ///< everything that came to the console
};

class Browser {
 public:
  /// KBENCH_BROWSER, else the first of the usual names that starts. Says on stdout, in words that
  /// CTest takes for a skipped test, when there is none.
  static Browser find();

  explicit operator bool() const { return !path_.empty(); }

  /// `width` in CSS pixels.
  Loaded load(const std::string& file, int width, bool dark = false) const;
  /// Writes the printed page. False when no PDF came out.
  bool print(const std::string& file, const std::string& pdf) const;

 private:
  explicit Browser(std::string path) : path_(std::move(path)) {}
  std::vector<std::string> arguments(const std::string& file) const;

  std::string path_;
};

}  // namespace kbench::test
