// Plain structs to JSON objects and back, strictly. Private to message.cpp.
//
// A struct names its fields once, in a function `fields(visit, struct)` found in namespace kbench;
// both directions use that list. Reading wants every field, of its type, and no other field.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/text.h"

namespace kbench {

using Json = nlohmann::json;

/// T or const T: one list of fields serves the writer and the reader.
template <class T, class Plain>
concept Is = std::same_as<std::remove_const_t<T>, Plain>;

/// Names of an enum's values in order, overloaded for each enum that travels.
template <class Enum>
std::span<const std::string_view> enum_names();

struct JsonWriter {
  Json& object;
  template <class T>
  void operator()(const char* name, const T& value) {
    object[name] = encode(value);
  }

  static Json encode(const std::string& text) { return to_valid_utf8(text); }
  static Json encode(bool value) { return value; }
  static Json encode(std::int64_t value) { return value; }
  static Json encode(std::uint64_t value) { return value; }
  static Json encode(int value) { return value; }
  static Json encode(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  }
  static Json encode(const std::pair<std::string, std::string>& pair) {
    return Json::array({encode(pair.first), encode(pair.second)});
  }
  template <class T>
  static Json encode(const std::optional<T>& value) {
    return value ? encode(*value) : Json(nullptr);
  }
  template <class T>
  static Json encode(const std::vector<T>& values) {
    Json list = Json::array();
    for (const T& value : values) list.push_back(encode(value));
    return list;
  }
  template <class T>
  static Json encode(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return enum_names<T>()[static_cast<std::size_t>(value)];
    } else {
      Json object = Json::object();
      JsonWriter writer{object};
      fields(writer, value);
      return object;
    }
  }
};

class JsonReader {
 public:
  explicit JsonReader(const Json& object) : object_(object) {
    if (!object.is_object()) throw std::runtime_error("an object is missing");
  }

  template <class T>
  void operator()(const char* name, T& value) {
    const auto found = object_.find(name);
    if (found == object_.end())
      throw std::runtime_error(fmt::format("field `{}` is missing", name));
    ++seen_;
    if (!decode(*found, value)) {
      throw std::runtime_error(fmt::format("field `{}` has a wrong value", name));
    }
  }

  /// Call after all fields: throws when the object holds one that was not asked for.
  void finish() const {
    if (seen_ != object_.size()) throw std::runtime_error("an unknown field");
  }

 private:
  static bool decode(const Json& json, std::string& text) {
    return take(json.is_string(), json, text);
  }
  static bool decode(const Json& json, bool& value) { return take(json.is_boolean(), json, value); }
  static bool decode(const Json& json, std::int64_t& value) {
    const bool fits = !json.is_number_unsigned() ||
                      json.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max();
    return take(json.is_number_integer() && fits, json, value);
  }
  static bool decode(const Json& json, std::uint64_t& value) {
    const bool fits =
        json.is_number_unsigned() || (json.is_number_integer() && json.get<std::int64_t>() >= 0);
    return take(fits, json, value);
  }
  static bool decode(const Json& json, int& value) {
    std::int64_t wide = 0;
    if (!decode(json, wide) || !std::in_range<int>(wide)) return false;
    value = static_cast<int>(wide);
    return true;
  }
  static bool decode(const Json& json, double& value) {
    if (json.is_number()) return take(true, json, value);
    constexpr double k_inf = std::numeric_limits<double>::infinity();
    if (json == "nan")
      value = std::numeric_limits<double>::quiet_NaN();
    else if (json == "inf")
      value = k_inf;
    else if (json == "-inf")
      value = -k_inf;
    else
      return false;
    return true;
  }
  static bool decode(const Json& json, std::pair<std::string, std::string>& pair) {
    return json.is_array() && json.size() == 2 && decode(json[0], pair.first) &&
           decode(json[1], pair.second);
  }
  template <class T>
  static bool decode(const Json& json, std::optional<T>& value) {
    value.reset();
    return json.is_null() || decode(json, value.emplace());
  }
  template <class T>
  static bool decode(const Json& json, std::vector<T>& values) {
    if (!json.is_array()) return false;
    values.clear();
    for (const Json& element : json) {
      if (!decode(element, values.emplace_back())) return false;
    }
    return true;
  }
  template <class T>
  static bool decode(const Json& json, T& value) {
    if constexpr (std::is_enum_v<T>) {
      const auto names = enum_names<T>();
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (json == names[i]) {
          value = static_cast<T>(i);
          return true;
        }
      }
      return false;
    } else {
      JsonReader reader(json);
      fields(reader, value);
      reader.finish();
      return true;
    }
  }
  template <class T>
  static bool take(bool fits, const Json& json, T& value) {
    if (fits) json.get_to(value);
    return fits;
  }

  const Json& object_;
  std::size_t seen_ = 0;
};

}  // namespace kbench
