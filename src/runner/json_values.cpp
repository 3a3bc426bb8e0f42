// Values of results documents. Knows no document, opens no file.
#include "runner/json_values.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/text.h"

namespace kbench {

using Json = nlohmann::ordered_json;

Json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

double read_number(const Json& value) {
  constexpr double k_inf = std::numeric_limits<double>::infinity();
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return k_inf;
  if (value == "-inf") return -k_inf;
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  throw std::runtime_error("a number is missing");
}

Json json_text(const std::string& value) { return to_valid_utf8(value); }

Json json_text_or_null(const std::string& value) {
  return value.empty() ? Json(nullptr) : json_text(value);
}

std::string read_text(const Json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? "" : found->get<std::string>();
}

Json summary_json(const std::optional<Summary>& summary) {
  if (!summary) return nullptr;
  return {{"runs", summary->runs},
          {"mean", json_number(summary->mean)},
          {"std", json_number(summary->std)},
          {"err", json_number(summary->err)},
          {"best", json_number(summary->best)},
          {"worst", json_number(summary->worst)},
          {"median", json_number(summary->median)}};
}

}  // namespace kbench
