// Results as JUnit XML for continuous integration: a suite a problem, a test a case. Pure function
// of the record; writes no file.
#include <fmt/core.h>

#include <algorithm>

#include "core/text.h"
#include "runner/figures.h"
#include "runner/report.h"

namespace kbench {
namespace {

/// Text of an attribute. What XML 1.0 cannot hold at all becomes U+FFFD.
std::string attribute(const std::string& text) {
  std::string escaped;
  const std::string line = to_one_line(text);
  for (std::string_view left = line; !left.empty();) {
    const CodePoint c = decode_utf8(left);
    const std::string_view bytes = left.substr(0, c.bytes);
    left.remove_prefix(c.bytes);
    if (c.value == '&')
      escaped += "&amp;";
    else if (c.value == '<')
      escaped += "&lt;";
    else if (c.value == '>')
      escaped += "&gt;";
    else if (c.value == '"')
      escaped += "&quot;";
    else if (c.value == '\t')
      escaped += "&#9;";
    else if (c.value == 0xFFFE || c.value == 0xFFFF)
      escaped += "\xEF\xBF\xBD";
    else
      escaped += bytes;
  }
  return escaped;
}

struct Counts {
  std::size_t tests = 0, failures = 0, skipped = 0;
  double wall_s = 0;
};

Counts count(const RunRecord& record, const std::string& problem) {
  Counts counts;
  for (const CaseRecord& row : record.cases) {
    if (!problem.empty() && row.spec.problem != problem) continue;
    ++counts.tests;
    if (!row.ended) ++counts.skipped;
    if (row.ended && !row.passed) ++counts.failures;
    counts.wall_s += row.wall_s;
  }
  return counts;
}

std::string totals(const Counts& counts) {
  return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{:.6f}\"",
                     counts.tests, counts.failures, counts.skipped, counts.wall_s);
}

std::string property(const std::string& name, const std::string& value) {
  return fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", attribute(name),
                     attribute(value));
}

std::string properties(const RunRecord& record, const CaseRecord& first) {
  std::string text = "    <properties>\n";
  text += property("mode", std::string(record.mode->name));
  text += property("kernel", first.kernel.name);
  if (record.device) text += property("device", record.device->name);
  for (const auto& [key, value] : record.tags) text += property("tag." + key, value);
  return text + "    </properties>\n";
}

std::string test(const CaseRecord& row) {
  std::string text =
      fmt::format("    <testcase classname=\"kbench.{}\" name=\"{}\" time=\"{:.6f}\"",
                  attribute(row.spec.problem), attribute(row.spec.spec), row.wall_s);
  if (!row.ended) return text + "><skipped message=\"not run\"/></testcase>\n";
  if (!row.passed) {
    return text +
           fmt::format("><failure message=\"{}\"/></testcase>\n", attribute(failure_text(row)));
  }
  std::string out = row.reply.message;
  if (row.summary) {
    out += fmt::format("{}median {}, mean {}", out.empty() ? "" : "; ",
                       format_time(row.summary->median),
                       format_mean(row.summary->mean, row.summary->err));
  }
  if (!row.resumed_from.empty()) out += "; resumed, measured in the run of " + row.resumed_from;
  return text + fmt::format("><system-out>{}</system-out></testcase>\n", attribute(out));
}

}  // namespace

std::string junit_document(const RunRecord& record) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format("<testsuites name=\"kbench\" {}>\n", totals(count(record, "")));
  for (const std::string& problem : problem_names(record)) {
    text += fmt::format("  <testsuite name=\"{}\" {} timestamp=\"{}\" hostname=\"{}\">\n",
                        attribute(problem), totals(count(record, problem)),
                        attribute(record.started), attribute(record.machine.hostname));
    const auto first = std::find_if(record.cases.begin(), record.cases.end(),
                                    [&](const auto& row) { return row.spec.problem == problem; });
    text += properties(record, *first);
    for (const CaseRecord& row : record.cases) {
      if (row.spec.problem == problem) text += test(row);
    }
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace kbench
