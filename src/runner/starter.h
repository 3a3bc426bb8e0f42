// A short first kernel that is right and slow, to start from.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runner/toolchain.h"

namespace kbench {

/// One of examples/simple, as it was when kbench was built.
struct StarterText {
  std::string_view problem;
  SourceLanguage language;
  std::string_view text;
};
std::span<const StarterText> starter_texts();

/// The text for a problem in a language: .cu runs on a GPU, the others on the host through LAPACK.
/// Throws Error(usage) with did-you-mean when the problem has none.
std::string starter_kernel(std::string_view problem, SourceLanguage language);

/// Writes the starting kernel to `path`, in the language of its extension. Throws Error(usage) when
/// something is already there, whatever it is, or the file cannot be written.
void write_starter(std::string_view problem, const std::string& path);

}  // namespace kbench
