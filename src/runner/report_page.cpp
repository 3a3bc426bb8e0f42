// The report as one page of HTML: a pure function of results documents. Every figure that is shown
// rounded also stands in full in a `data-` attribute. Reads no file and runs nothing.
#include "runner/report_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/distribution.h"
#include "runner/compare_files.h"
#include "runner/figures.h"
#include "runner/report_charts.h"
#include "runner/svg.h"

namespace kbench {
namespace {

using Problems = std::span<const ProblemInfo* const>;

/// No script, no address: what a name or a message brings along is never loaded or run.
constexpr std::string_view k_policy = "default-src 'none'; style-src 'unsafe-inline'";

struct Counts {
  double flops = 0, bytes = 0;
};

Counts nominal(const ResultCase& row, Problems problems) {
  Counts counts{row.flops, row.bytes};
  for (const ProblemInfo* problem : problems) {
    if (problem->name != row.spec.problem || problem->nominal_flops == nullptr) continue;
    if (!(counts.flops > 0)) counts.flops = problem->nominal_flops(row.spec.batch, row.spec.n);
    if (!(counts.bytes > 0)) counts.bytes = problem->nominal_bytes(row.spec.batch, row.spec.n);
  }
  return counts;
}

std::string cell(const std::string& words, std::string_view css_class = "") {
  return fmt::format("<td class=\"{}\">{}</td>", css_class, words);
}

/// A figure: what a reader sees, and the whole of it.
std::string figure_cell(std::string_view name, std::optional<double> value,
                        const std::string& words) {
  if (!value) return cell("", "number");
  return fmt::format("<td class=\"number\" data-{}=\"{}\">{}</td>", name, *value,
                     html_escape(words));
}

std::string entry(std::string_view name, const std::string& words) {
  if (words.empty()) return "";
  return fmt::format("<dt>{}</dt><dd>{}</dd>", name, html_escape(words));
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string device_words(const DeviceInfo& device) {
  return fmt::format(
      "{} ({}){}{}", device.name,
      device.kind == DeviceKind::cuda ? fmt::format("cuda:{}", device.index) : "host",
      device.driver.empty() ? "" : ", driver " + device.driver,
      device.runtime.empty() ? "" : ", runtime " + device.runtime);
}

std::string file_card(const ResultsFile& file, std::size_t k) {
  std::string text = fmt::format("<div class=\"card\" data-file=\"{}\"><h3>{} {}</h3><dl>", k,
                                 kernel_letter(k), html_escape(file.path));
  text += entry("started", file.started) + entry("mode", file.mode);
  text += fmt::format("<dt>verdict</dt><dd class=\"{0}\">{0}</dd>",
                      file.finished ? html_escape(file.verdict) : "not finished");
  text += fmt::format("<dt>command</dt><dd><code>{}</code></dd>",
                      html_escape(joined(file.command_line)));
  for (const auto& [name, value] : file.tags) text += entry("tag", name + "=" + value);
  if (file.device) {
    text += entry("device", device_words(*file.device));
    text += entry("clock", file.device->clock);
    text += entry("flush", fmt::format("{} bytes", file.device->flush_bytes));
  }
  text += entry("profiler", file.profiler) + entry("baseline", file.baseline);
  const MachineInfo& machine = file.machine;
  text += entry("machine",
                fmt::format("{}, {}, {} cores, {:.3g} GiB", machine.hostname, machine.cpu,
                            machine.cores, static_cast<double>(machine.memory_bytes) / (1 << 30)));
  text += entry("system", fmt::format("{}, Linux {}", machine.os, machine.kernel));
  return text + entry("kbench", file.kbench_version) + "</dl></div>";
}

std::string interval_cell(const ResultCase& row) {
  const auto interval = row.median_ns ? median_interval(row.samples_ns) : std::nullopt;
  if (!interval) return cell(row.median_ns ? "too few repeats" : "", "number");
  return fmt::format("<td class=\"number\" data-low-ns=\"{}\" data-high-ns=\"{}\">{} to {}</td>",
                     interval->low, interval->high, format_time(interval->low),
                     format_time(interval->high));
}

std::string table_row_of(const ResultCase& row, std::size_t k, Problems problems) {
  const Counts counts = nominal(row, problems);
  const auto rate = [&](double amount) -> std::optional<double> {
    return row.median_ns && amount > 0 ? std::optional(amount / *row.median_ns) : std::nullopt;
  };
  const auto tflops = rate(counts.flops * 1e-3), gbytes = rate(counts.bytes);
  const auto time = [](std::optional<double> ns) { return ns ? format_time(*ns) : ""; };
  std::string text = fmt::format("<tr data-file=\"{}\" data-index=\"{}\">", k, row.index);
  text += cell(fmt::format("<a href=\"#case-{0}-{1}\">{0}{1}</a>", kernel_letter(k), row.index));
  text += cell(html_escape(row.spec.spec), "long") + cell(html_escape(row.spec.problem));
  text += cell(html_escape(row.kernel));
  text += cell(html_escape(row.status), row.status == "pass" ? "pass" : "fail");
  text += figure_cell("median-ns", row.median_ns, time(row.median_ns)) + interval_cell(row);
  text += figure_cell("mean-ns", row.mean_ns,
                      row.mean_ns ? format_mean(*row.mean_ns, row.err_ns.value_or(0)) : "");
  text += figure_cell("best-ns", row.best_ns, time(row.best_ns));
  text += row.samples_ns.empty()
              ? cell("", "number")
              : figure_cell("repeats", static_cast<double>(row.samples_ns.size()),
                            fmt::format("{} ({})", row.samples_ns.size(), row.stop));
  text += figure_cell("tflops", tflops, tflops ? fmt::format("{:.3g}", *tflops) : "");
  text += figure_cell("gbytes", gbytes, gbytes ? fmt::format("{:.4g}", *gbytes) : "");
  const bool checked = !row.worst_gate.empty();
  text += figure_cell("worst-of-gate", checked ? std::optional(row.worst_of_gate) : std::nullopt,
                      fmt::format("{:.3g}", row.worst_of_gate));
  return text + "</tr>\n";
}

std::string table_of(const std::vector<ResultsFile>& files, Problems problems) {
  std::string text =
      "<h2>Results</h2><div class=\"scroll\"><table id=\"results\"><thead><tr><th>#</th>"
      "<th>case</th><th>problem</th><th>kernel</th><th>status</th>";
  for (const char* name : {"median", "its 95 % interval", "mean ± err", "best", "repeats (stop)",
                           "Tflop/s", "GB/s", "residual/gate"}) {
    text += fmt::format("<th class=\"number\">{}</th>", name);
  }
  text += "</tr></thead><tbody>\n";
  for (std::size_t k = 0; k < files.size(); ++k) {
    for (const ResultCase& row : files[k].cases) text += table_row_of(row, k, problems);
  }
  return text + "</tbody></table></div>\n";
}

std::string ratio_row_text(const std::string& label, const ComparedRatio& compared) {
  const Ratio& ratio = compared.ratio;
  std::string interval = cell("too few repeats", "number");
  if (ratio.interval) {
    interval = fmt::format(
        "<td class=\"number\" data-low=\"{}\" data-high=\"{}\">{:.4g} to {:.4g}</td>",
        ratio.interval->low, ratio.interval->high, ratio.interval->low, ratio.interval->high);
  }
  return fmt::format("<tr>{}{}{}{}</tr>", cell(html_escape(label), "long"),
                     figure_cell("ratio", ratio.value, fmt::format("{:.4g}", ratio.value)),
                     interval, cell(verdict_text(compared), to_string(compared.verdict)));
}

/// Each file against the first.
std::string comparison_of(const ResultsFile& first, const ResultsFile& other, std::size_t k,
                          double same) {
  const ComparisonRecord record = compare_results(first, other, same);
  const std::string letter = kernel_letter(k);
  std::string text = fmt::format("<h2>{} over A</h2>", letter);
  for (const std::string& difference : differences(first, other)) {
    text +=
        fmt::format("<p class=\"warning\">not the same in both: {}</p>", html_escape(difference));
  }
  text += fmt::format(
      "<p class=\"note\">Ratio of the medians, time of {} over time of A: below 1 is faster. All "
      "intervals hold together with {:g} %; the band is within {:g} %. The runs were not made in "
      "turns: what changed between them is in the ratios.</p>",
      letter, 100 * k_run_level, 100 * same);
  text += "<div class=\"cards\"><figure>" + ratios_chart(record) + "</figure>";
  text += fmt::format(
      "<div class=\"scroll\"><table class=\"ratios\" data-file=\"{}\"><thead><tr><th>case</th><th "
      "class=\"number\">ratio</th><th class=\"number\">interval</th><th>verdict</th></tr></thead>"
      "<tbody>",
      k);
  for (const ComparedCase& row : record.cases) {
    if (row.ratios.empty()) {
      text += "<tr>" + cell(html_escape(row.spec.spec), "long") + cell("") + cell("") +
              cell("not compared", "fail") + "</tr>";
    } else {
      text += ratio_row_text(row.spec.spec, row.ratios.front());
    }
  }
  for (const ComparedMean& mean : record.means) {
    text += ratio_row_text("geometric mean of " + mean.problem, mean.ratios.front());
  }
  return text + "</tbody></table></div></div>\n";
}

std::string roofline_of(const std::vector<ResultsFile>& files, Problems problems) {
  std::vector<RooflinePoint> points;
  Roof roof;
  for (std::size_t k = 0; k < files.size(); ++k) {
    for (const ResultCase& row : files[k].cases) {
      roof.bytes_per_s = std::max(roof.bytes_per_s, row.copy_bytes_per_s);
      roof.flops_per_s = std::max(roof.flops_per_s, row.tensor_flops_per_s);
      const Counts counts = nominal(row, problems);
      if (!row.median_ns || !(counts.flops > 0) || !(counts.bytes > 0)) continue;
      const double rate = 1e9 * counts.flops / *row.median_ns;
      points.push_back({fmt::format("{}{}", files.size() > 1 ? kernel_letter(k) : "", row.index),
                        fmt::format("{}: {:.3g} Tflop/s", row.spec.spec, rate * 1e-12),
                        counts.flops / counts.bytes, rate, k == 0});
    }
  }
  if (points.empty()) return "";
  std::string words =
      "Points: nominal operations over the median, at nominal operations per byte of "
      "input and output. ";
  if (roof.bytes_per_s > 0) {
    words += fmt::format("Slope: {:.4g} GB/s, measured by a large copy. ", roof.bytes_per_s * 1e-9);
  } else {
    words += "The rate of a copy is not in these results. ";
  }
  if (roof.flops_per_s > 0) {
    words += fmt::format(
        "Top: {:.4g} Tflop/s, the highest tensor rate of the device, which FP32 "
        "accuracy cannot reach.",
        roof.flops_per_s * 1e-12);
  } else {
    words += "The highest rate of the device is not in these results.";
  }
  return fmt::format(
      "<h2>Roofline</h2><figure id=\"roofline\">{}<figcaption>{}</figcaption>"
      "</figure>\n",
      roofline_chart(points, roof), words);
}

std::string warnings_of_files(const std::vector<ResultsFile>& files) {
  std::string items;
  for (std::size_t k = 0; k < files.size(); ++k) {
    for (const ResultCase& row : files[k].cases) {
      for (const std::string& warning : row.warnings) {
        items += fmt::format("<li><a href=\"#case-{0}-{1}\">{0}{1}</a> {2}</li>", kernel_letter(k),
                             row.index, html_escape(warning));
      }
      if (!row.not_comparable.empty()) {
        items += fmt::format("<li>{}{} is no ranking: {}</li>", kernel_letter(k), row.index,
                             html_escape(row.not_comparable));
      }
    }
  }
  if (items.empty()) return "";
  return "<h2>Warnings</h2><ul id=\"warnings\" class=\"warning\">" + items + "</ul>\n";
}

std::string samples_figure(const ResultCase& row) {
  const std::string chart = samples_chart(row);
  if (chart.empty()) return "";
  std::string samples;
  for (const double sample : row.samples_ns) {
    samples += fmt::format("{}{}", samples.empty() ? "" : " ", sample);
  }
  return fmt::format(
      "<figure data-samples-ns=\"{}\">{}<figcaption>Every repeat; dashed: the median, band: its 95 "
      "% "
      "interval.</figcaption></figure>",
      samples, chart);
}

std::string case_section(const ResultCase& row, std::size_t k) {
  std::string text = fmt::format(
      "<section class=\"case\" id=\"case-{0}-{1}\" data-file=\"{2}\" data-index=\"{1}\"><h3>{0}{1} "
      "{3}: {4}</h3><p>kernel {5}, <span class=\"{7}\">{6}</span></p>",
      kernel_letter(k), row.index, k, html_escape(row.spec.problem), html_escape(row.spec.spec),
      html_escape(row.kernel), html_escape(row.status), row.status == "pass" ? "pass" : "fail");
  if (!row.error.empty()) text += "<p class=\"fail\">" + html_escape(row.error) + "</p>";
  for (const std::string& warning : row.warnings) {
    text += "<p class=\"warning\">" + html_escape(warning) + "</p>";
  }
  text += "<div class=\"cards\">" + samples_figure(row);
  const std::string residuals = residuals_chart(row);
  if (!residuals.empty()) {
    text += fmt::format(
        "<figure>{}<figcaption>Worst residuals as fractions of their gates: 1 would "
        "just pass.</figcaption></figure>",
        residuals);
  }
  text += "<dl>";
  for (const Figure& figure : row.residuals) {
    text += fmt::format("<dt>{}</dt><dd data-residual=\"{}\" data-value=\"{}\">{:.4g}{}</dd>",
                        html_escape(figure.name), html_escape(figure.name), figure.value,
                        figure.value, figure.gate > 0 ? fmt::format(" of {:g}", figure.gate) : "");
  }
  if (row.floor_ns > 0) {
    text += entry("floor", fmt::format("{} ({})", format_time(row.floor_ns), row.floor_reason));
  }
  if (row.over_baseline) {
    text += fmt::format("<dt>over baseline</dt><dd data-over-baseline=\"{}\">{}</dd>",
                        row.over_baseline->value, ratio_text(*row.over_baseline));
  }
  text += entry("fresh inputs", row.fresh_inputs);
  if (row.calls_per_repeat > 0) {
    text += entry("calls a repeat", fmt::format("{}", row.calls_per_repeat));
  }
  return text + "</dl></div></section>\n";
}

}  // namespace

std::string report_page(const std::vector<ResultsFile>& files, Problems problems, double same) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta "
      "http-equiv=\"Content-Security-Policy\" "
      "content=\"{}\">\n<title>kbench report: {}</title>\n<style>{}</style></head>\n<body>\n"
      "<h1>kbench report</h1>\n<div class=\"cards\">",
      k_policy, html_escape(files.front().path), report_style());
  for (std::size_t k = 0; k < files.size(); ++k) text += file_card(files[k], k);
  text += "</div>\n" + table_of(files, problems);
  for (std::size_t k = 1; k < files.size(); ++k) {
    text += comparison_of(files.front(), files[k], k, same);
  }
  text += warnings_of_files(files) + roofline_of(files, problems) + "<h2>Cases</h2>\n";
  for (std::size_t k = 0; k < files.size(); ++k) {
    for (const ResultCase& row : files[k].cases) text += case_section(row, k);
  }
  return text + "</body></html>\n";
}

}  // namespace kbench
