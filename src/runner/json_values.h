// What every document of results writes and reads alike: numbers, texts, a summary of samples.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/stats.h"

namespace kbench {

/// JSON has no NaN and no infinity: they stand as strings.
nlohmann::ordered_json json_number(double value);
/// Its reverse. Throws std::runtime_error for what is neither a number nor such a string.
double read_number(const nlohmann::ordered_json& value);
/// Made valid UTF-8.
nlohmann::ordered_json json_text(const std::string& value);
/// null for an empty text.
nlohmann::ordered_json json_text_or_null(const std::string& value);
/// Its reverse: empty also where the object has no such key.
std::string read_text(const nlohmann::ordered_json& object, const char* key);
/// Null without a summary; same unit as the samples.
nlohmann::ordered_json summary_json(const std::optional<Summary>& summary);

}  // namespace kbench
