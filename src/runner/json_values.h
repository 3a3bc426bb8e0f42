// What every document of results writes alike: numbers, texts, a summary of samples.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/stats.h"

namespace kbench {

/// JSON has no NaN and no infinity: they stand as strings.
nlohmann::ordered_json json_number(double value);
/// Made valid UTF-8.
nlohmann::ordered_json json_text(const std::string& value);
/// null for an empty text.
nlohmann::ordered_json json_text_or_null(const std::string& value);
/// Null without a summary; same unit as the samples.
nlohmann::ordered_json summary_json(const std::optional<Summary>& summary);

}  // namespace kbench
