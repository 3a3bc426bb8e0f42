// The HTML report in a real browser: it loads without a word on the console, shows every case with
// the figures of the JSON, fits a phone, has two colour schemes, and prints.
#include "browser.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "../runner/result_files.h"
#include "catch.h"
#include "runner/report_page.h"

using namespace kbench;
using namespace kbench::test;

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

RunRecord one_run(double factor) {
  std::vector<CaseRecord> cases;
  for (int i = 0; i < 6; ++i) {
    cases.push_back(measured_case(32 << i, samples_around(factor * 1234.5 * std::pow(17.0, i))));
  }
  cases.push_back(failed_case(4096, "factor: matrix 3 of 20: 7 > 2 <b>bold</b>"));
  return some_run(std::move(cases));
}

/// The page of two runs, the documents it was made from, and the page with a script at its end.
struct Page {
  fs::path folder = fs::temp_directory_path() / ("kbench-report-" + std::to_string(getpid()));
  std::vector<Json> documents;
  std::string html;

  Page() {
    fs::create_directories(folder);
    std::vector<ResultsFile> files;
    for (const double factor : {1.0, 0.5}) {
      const std::string text = json_document(one_run(factor));
      documents.push_back(Json::parse(text));
      files.push_back(parse_results(text, "run" + std::to_string(files.size()) + ".json"));
    }
    html = report_page(files, {}, 0.01);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  ~Page() {
    std::error_code error;
    fs::remove_all(folder, error);
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  /// The page itself lets no script run, so its policy goes for this.
  std::string with_script(const std::string& script) const {
    std::string page = std::regex_replace(
        html, std::regex("<meta http-equiv=\"Content-Security-Policy\"[^>]*>"), "");
    page.replace(page.find("</body>"), 7, "<script>" + script + "</script></body>");
    return write("scripted.html", page);
  }
};

std::string attribute(const std::string& text, const std::string& name) {
  std::smatch match;
  const std::regex pattern("\\s" + name + "=\"([^\"]*)\"");
  return std::regex_search(text, match, pattern) ? match[1].str() : "(none)";
}

std::vector<std::string> elements(const std::string& dom, const std::string& open,
                                  const std::string& close) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = dom.find(open, at)) != std::string::npos; ++at) {
    found.push_back(dom.substr(at, dom.find(close, at) - at));
  }
  return found;
}

/// `2.748 us` in nanoseconds.
double shown_ns(const std::string& words) {
  char* unit = nullptr;
  const double value = std::strtod(words.c_str(), &unit);
  const std::string name(unit);
  if (name.rfind(" ns", 0) == 0) return value;
  if (name.rfind(" us", 0) == 0) return value * 1e3;
  if (name.rfind(" ms", 0) == 0) return value * 1e6;
  return value * 1e9;
}

/// What stands in the cell with that attribute.
std::string cell_words(const std::string& row, const std::string& name) {
  std::smatch match;
  const std::regex pattern("\\sdata-" + name + "=\"[^\"]*\"[^>]*>([^<]*)<");
  return std::regex_search(row, match, pattern) ? match[1].str() : "(none)";
}

void expect_figures(const std::string& row, const Json& json) {
  const Json& summary = json["summary_ns"];
  if (summary.is_null()) {
    CHECK(attribute(row, "data-median-ns") == "(none)");
    CHECK(row.find(">fail<") != std::string::npos);
    return;
  }
  for (const auto& [name, key] :
       {std::pair{"median-ns", "median"}, {"mean-ns", "mean"}, {"best-ns", "best"}}) {
    const double value = summary[key].get<double>();
    CAPTURE(name);
    CHECK(std::strtod(attribute(row, std::string("data-") + name).c_str(), nullptr) == value);
    CHECK(std::abs(shown_ns(cell_words(row, name)) / value - 1) < 6e-4);
  }
  CHECK(attribute(row, "data-repeats") == std::to_string(json["samples_ns"].size()));
  const double gate = json["worst_of_gate"].get<double>();
  CHECK(std::strtod(attribute(row, "data-worst-of-gate").c_str(), nullptr) == gate);
  CHECK(std::abs(std::strtod(cell_words(row, "worst-of-gate").c_str(), nullptr) / gate - 1) < 6e-3);
}

void expect_section(const std::string& section, const Json& json) {
  std::istringstream samples(attribute(section, "data-samples-ns"));
  std::vector<double> shown;
  for (double sample = 0; samples >> sample;) shown.push_back(sample);
  const auto wanted = json["samples_ns"].get<std::vector<double>>();
  CHECK(shown == wanted);
  // Each sample is one point of the path.
  const std::string path =
      attribute(section.substr(std::min(section.size(), section.find("dots"))), "d");
  CHECK(static_cast<std::size_t>(std::count(path.begin(), path.end(), 'M')) == wanted.size());
  for (const auto& [name, value] : json["residuals"].items()) {
    const std::regex pattern("data-residual=\"" + name + "\" data-value=\"([^\"]*)\"");
    std::smatch match;
    REQUIRE(std::regex_search(section, match, pattern));
    CHECK(std::strtod(match[1].str().c_str(), nullptr) == value.get<double>());
  }
}

}  // namespace

TEST_CASE("the report loads without a word on the console and its figures equal the JSON") {
  const Browser browser = Browser::find();
  if (!browser) return;
  const Page page;
  const Loaded loaded = browser.load(page.write("report.html", page.html), 1200);
  CHECK(loaded.console == std::vector<std::string>{});
  const auto rows = elements(loaded.dom, "<tr data-file=", "</tr>");
  const auto sections = elements(loaded.dom, "<section class=\"case\"", "</section>");
  REQUIRE(rows.size() == 14);
  REQUIRE(sections.size() == 14);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json& json = page.documents[i / 7]["cases"][i % 7];
    CAPTURE(i);
    CHECK(attribute(rows[i], "data-index") == std::to_string(i % 7));
    CHECK(rows[i].find(json["spec"].get<std::string>()) != std::string::npos);
    expect_figures(rows[i], json);
    if (json["status"] == "pass") expect_section(sections[i], json);
  }
  CHECK(loaded.dom.find("7 &gt; 2 &lt;b&gt;bold&lt;/b&gt;") != std::string::npos);
}

TEST_CASE("the browser tells of an error on the console, so that its silence means something") {
  const Browser browser = Browser::find();
  if (!browser) return;
  const Page page;
  CHECK(browser.load(page.with_script("no_such_function()"), 1200).console.size() == 1);
  // Left alone, the page's policy refuses the same script, and the browser says so.
  std::string policed = page.html;
  policed.replace(policed.find("</body>"), 7, "<script>document.title = 'ran'</script></body>");
  const Loaded loaded = browser.load(page.write("policed.html", policed), 1200);
  CHECK(!loaded.console.empty());
  CHECK(loaded.dom.find("<title>ran</title>") == std::string::npos);
}

TEST_CASE("every case and chart is visible, on a desk and on a phone, and nothing sticks out") {
  const Browser browser = Browser::find();
  if (!browser) return;
  const Page page;
  const std::string file = page.with_script(
      "const shown = q => [...document.querySelectorAll(q)].filter(e => {"
      "  const r = e.getBoundingClientRect();"
      "  return r.width > 40 && r.height > 10 && r.left >= 0 && r.right <= innerWidth + 1;"
      "}).length;"
      "const root = document.documentElement;"
      "root.dataset.sections = shown('section.case');"
      "root.dataset.charts = shown('svg');"
      "root.dataset.excess = root.scrollWidth - innerWidth;"
      "root.dataset.width = innerWidth;");
  for (const int width : {1200, 500, 360}) {
    CAPTURE(width);
    const Loaded loaded = browser.load(file, width);
    CHECK(loaded.console == std::vector<std::string>{});
    // Two runs of six measured cases with two charts each, the ratios, the roofline.
    CHECK(attribute(loaded.dom, "data-sections") == "14");
    CHECK(attribute(loaded.dom, "data-charts") == "26");
    CHECK(std::atoi(attribute(loaded.dom, "data-excess").c_str()) <= 0);
    CHECK(std::atoi(attribute(loaded.dom, "data-width").c_str()) <= std::max(width, 500));
  }
}

TEST_CASE("both colour schemes give the words enough contrast") {
  const Browser browser = Browser::find();
  if (!browser) return;
  const Page page;
  // Contrast as WCAG 2 defines it, of every kind of text against what it stands on.
  const std::string file = page.with_script(
      "const light = c => { const v = c.match(/[0-9.]+/g).slice(0, 3).map(x => x / 255)"
      "  .map(x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);"
      "  return .2126 * v[0] + .7152 * v[1] + .0722 * v[2]; };"
      "const paper = light(getComputedStyle(document.body).backgroundColor);"
      "const card = light(getComputedStyle(document.querySelector('.card')).backgroundColor);"
      "let least = 99;"
      "for (const q of ['body', '.note', '.pass', '.fail', 'a', 'dt', '.faster', 'figcaption']) {"
      "  const ink = light(getComputedStyle(document.querySelector(q)).color);"
      "  for (const ground of [paper, card]) {"
      "    const [a, b] = ink > ground ? [ink, ground] : [ground, ink];"
      "    least = Math.min(least, (a + .05) / (b + .05)); } }"
      "document.documentElement.dataset.contrast = least;"
      "document.documentElement.dataset.paper = paper;");
  for (const bool dark : {false, true}) {
    CAPTURE(dark);
    const Loaded loaded = browser.load(file, 1200, dark);
    const double paper = std::strtod(attribute(loaded.dom, "data-paper").c_str(), nullptr);
    CHECK((dark ? paper < 0.05 : paper > 0.95));
    CHECK(std::strtod(attribute(loaded.dom, "data-contrast").c_str(), nullptr) >= 4.5);
  }
}

TEST_CASE("the report prints") {
  const Browser browser = Browser::find();
  if (!browser) return;
  const Page page;
  CHECK(browser.print(page.write("report.html", page.html), (page.folder / "report.pdf").string()));
}
