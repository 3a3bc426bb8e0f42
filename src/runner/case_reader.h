// A case of a results document turned back into the record that it was written from.
#pragma once

#include <nlohmann/json.hpp>

#include "runner/record.h"

namespace kbench {

/// The case at `json`, an element of `cases` (docs/results.md): written again it is the same, but
/// for its place and its trace, which are left out. Keys that came later than the schema's first
/// version may be missing. Throws std::exception where the text is no such case.
CaseRecord read_case_record(const nlohmann::ordered_json& json);

}  // namespace kbench
