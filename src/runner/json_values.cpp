// Values of results documents. Knows no document and writes no file.
#include "runner/json_values.h"

#include <cmath>

#include "core/text.h"

namespace kbench {

using Json = nlohmann::ordered_json;

Json json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json json_text(const std::string& value) { return to_valid_utf8(value); }

Json json_text_or_null(const std::string& value) {
  return value.empty() ? Json(nullptr) : json_text(value);
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
