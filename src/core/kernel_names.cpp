// Reads C++ names as the demangler writes them. Must not know where a name comes from.
#include "core/kernel_names.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <regex>

#include "core/error.h"
#include "core/text.h"

namespace kbench {
namespace {

constexpr std::size_t k_longest = 8192;
constexpr std::size_t k_listed_names = 20, k_listed_bytes = 120;
constexpr std::string_view k_anonymous = "(anonymous namespace)";
constexpr std::string_view k_call_operator = "operator()";

/// Name without parameters; template arguments replaced by `arguments`. The result type, which
/// stands in front of a template's name, is cut off.
std::string qualified_name(std::string_view text, std::string_view arguments) {
  std::string name;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (depth == 0 && rest.starts_with(k_anonymous)) {
      name += k_anonymous;
      i += k_anonymous.size() - 1;
    } else if (depth == 0 && rest.starts_with(k_call_operator)) {
      name += k_call_operator;
      i += k_call_operator.size() - 1;
    } else if (text[i] == '<' || text[i] == '(' || text[i] == '{' || text[i] == '[') {
      if (depth == 0 && text[i] == '(') break;
      if (depth++ == 0) name += text[i] == '<' ? arguments : std::string_view();
    } else if (text[i] == '>' || text[i] == ')' || text[i] == '}' || text[i] == ']') {
      // `->` and a stray bracket of an operator's name close nothing.
      if (depth > 0 && !(text[i] == '>' && i > 0 && text[i - 1] == '-')) --depth;
    } else if (depth == 0) {
      // Behind a blank begins what follows the result type; `(anonymous namespace)` has been taken.
      if (text[i] == ' ') {
        name.clear();
      } else {
        name += text[i];
      }
    }
  }
  return name.empty() ? std::string(text) : name;
}

struct Filter {
  std::string text;
  std::optional<std::regex> expression;

  explicit Filter(std::string given) : text(std::move(given)) {
    try {
      expression.emplace(text, std::regex::ECMAScript | std::regex::optimize);
    } catch (const std::regex_error&) {
      // `gemm<float, (int)` is a piece of a name and no expression.
    }
  }

  bool selects(const std::string& name) const {
    if (name.find(text) != std::string::npos) return true;
    return expression && (std::regex_search(name, *expression) ||
                          std::regex_search(bare_name(name), *expression));
  }
};

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  const std::size_t shown = std::min(names.size(), k_listed_names);
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("{}`{}`", i == 0 ? "" : ", ", shorten(names[i], k_listed_bytes));
  }
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

void require_one(const Filter& filter, const std::vector<std::string>& seen, bool multiple) {
  std::vector<std::string> selected;
  std::copy_if(seen.begin(), seen.end(), std::back_inserter(selected),
               [&](const std::string& name) { return filter.selects(name); });
  if (selected.empty()) {
    throw Error(ExitCode::case_failed,
                fmt::format("`--name {}` selects no kernel (seen: {}); name one of these",
                            filter.text, listed(seen)));
  }
  if (selected.size() > 1 && !multiple) {
    throw Error(ExitCode::case_failed,
                fmt::format("`--name {}` selects {} kernels ({}); name one of them, or add "
                            "`--multiple`",
                            filter.text, selected.size(), listed(selected)));
  }
}

}  // namespace

std::string demangle(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  // Without `_Z` in front a name may still read as a type: `f` as float.
  const bool mangled = std::string_view(name).starts_with("_Z");
  if (!mangled || status != 0 || text == nullptr) return to_valid_utf8(name);
  const std::string_view demangled = text.get();
  return to_valid_utf8(demangled.size() > k_longest ? std::string_view(name) : demangled);
}

std::string bare_name(std::string_view demangled) {
  const std::string name = qualified_name(demangled, "");
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

std::string short_name(std::string_view demangled, std::size_t bytes) {
  return shorten(qualified_name(demangled, "<...>"), bytes);
}

void select_kernels(TraceFigures& figures, const std::vector<std::string>& filters, bool multiple) {
  if (filters.empty()) return;
  std::vector<std::string> seen;
  for (const KernelFigures& kernel : figures.kernels) {
    if (kernel.kind == ActivityKind::kernel) seen.push_back(kernel.name);
  }
  std::vector<Filter> all;
  for (const std::string& text : filters) all.emplace_back(text);
  for (const Filter& filter : all) require_one(filter, seen, multiple);
  std::vector<KernelFigures> kept;
  for (KernelFigures& kernel : figures.kernels) {
    const bool selected = kernel.kind != ActivityKind::kernel ||
                          std::any_of(all.begin(), all.end(),
                                      [&](const Filter& f) { return f.selects(kernel.name); });
    if (selected) {
      kept.push_back(std::move(kernel));
    } else {
      ++figures.other_names;
      figures.other_ns += kernel.total_ns;
    }
  }
  figures.kernels = std::move(kept);
}

}  // namespace kbench
