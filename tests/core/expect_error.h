// Runs something that must throw kbench::Error and gives what it said.
#pragma once

#include <string>

#include "core/error.h"

namespace kbench::test {

struct Said {
  int code = 0;
  std::string text;  ///< `(nothing thrown)` when there was no Error
};

template <class Action>
Said error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return {static_cast<int>(error.code()), error.what()};
  }
  return {0, "(nothing thrown)"};
}

}  // namespace kbench::test
