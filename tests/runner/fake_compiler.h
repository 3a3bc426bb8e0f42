// A compiler that is a shell script: it writes a fake plug-in, or what a test tells it.
#pragma once

#include <filesystem>
#include <string>

#include "kbench_process.h"

/// Writes the script into the tree and returns an environment in which it is every compiler and the
/// cache is in the tree. Variables of the script: FAKE_PLUGIN is the text of the plug-in, FAKE_SAYS
/// a file with its words, FAKE_FAILS its exit status, FAKE_WAITS a fifo that takes its process
/// number, after which it waits to be killed. Each call but `--version` appends its words to the
/// file `compiled`, and below them where the folders of `-I` truly are; FAKE_LOG
/// gets the line `compile`.
inline Environment fake_compiler(const Tree& tree, const std::string& plugin) {
  const std::string script = tree.write("compiler",
                                        R"script(#!/bin/sh
[ "$1" = --version ] && exec echo 'fake compiler 1'
echo "$@" >> "$FAKE_COMPILED"
echo compile >> "$FAKE_LOG"
while [ $# -gt 0 ]; do
  case "$1" in
    -I) echo "folder $(readlink -f "$2")" >> "$FAKE_COMPILED" ;;
    -MF) dependencies=$2 ;;
    -o) output=$2 ;;
  esac
  shift
done
[ -n "$FAKE_SAYS" ] && cat "$FAKE_SAYS"
if [ -n "$FAKE_WAITS" ]; then
  echo $$ > "$FAKE_WAITS"
  kill -STOP $$
fi
[ -n "$FAKE_FAILS" ] && exit "$FAKE_FAILS"
echo 'kernel.so:' > "$dependencies"
printf '%s' "$FAKE_PLUGIN" > "$output"
)script");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  return {{"KBENCH_NVCC", script},
          {"CXX", script},
          {"CC", script},
          {"FAKE_COMPILED", tree.path("compiled")},
          {"FAKE_PLUGIN", plugin},
          {"FAKE_LOG", tree.path("log")},
          {"XDG_CACHE_HOME", tree.path("cache")}};
}
