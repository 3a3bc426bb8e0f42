// Catch2 v2 (Debian 12) and v3 (Ubuntu 24.04) under one include.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::Equals;
using Catch::Matchers::StartsWith;
#else
#include <catch2/catch.hpp>
using Catch::Matchers::Equals;
using Catch::Matchers::StartsWith;
namespace Catch {
using Detail::Approx;
}
inline auto ContainsSubstring(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif
