// The command line and the environment as one plain struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/case_filter.h"
#include "core/message.h"
#include "core/mode.h"
#include "runner/terminal.h"

namespace kbench {

enum class Verb {
  test,
  benchmark,
  leaderboard,
  profile,
  trace,
  generate,
  list,
  new_kernel,
  build,
  completion,
  man,
  profile_command,
  compare,
  report
};

/// --fresh-inputs: `automatic` is on in every mode that measures.
enum class FreshInputs { automatic, on, off };

/// --cupti: `automatic` leaves CUPTI to a tool that is there and is asked who holds it only where
/// something hints at one; `on` fails where kbench cannot have it; `off` never touches it.
enum class CuptiUse { automatic, on, off };

/// What the user asked for, validated as far as that is possible without reading a file.
struct Options {
  Verb verb = Verb::benchmark;
  const Mode* mode = nullptr;  ///< row of the mode table; null for the other verbs
  /// FILE, or the noun of `list`, or the kernel source of `new` and `build`; empty when absent.
  std::string file;
  std::string tool;                ///< `nsys` or `ncu`, of profile-command
  std::vector<std::string> words;  ///< the arguments of a verb that takes any number of them
  std::string problem;
  std::string kernel;
  std::vector<std::string> nvcc_flags;  ///< words for the compiler of a kernel source
  DeviceRequest device;
  std::vector<DeviceRequest> devices;   ///< --devices, one worker each; empty: `device` alone
  bool all_devices = false;             ///< --devices all: every CUDA device
  double rank_timeout_s = 60;           ///< a rank silent for so long is lost
  bool together = false;                ///< every case on all places at the same time
  bool lock = true;                     ///< one measurement at a time on a CUDA device
  std::vector<std::string> case_lines;  ///< --case, with braces, in place of FILE
  std::vector<CaseCondition> filter;    ///< --filter; empty: all
  std::string filter_text;
  std::vector<std::int64_t> only;          ///< ascending, no repeats; empty: all
  std::string resume;                      ///< results to go on from, or empty
  std::string baseline;                    ///< results to compare with, or empty
  bool dry_run = false;                    ///< print what would be run
  std::string json, csv, markdown, junit;  ///< paths of the documents; empty: not written
  std::vector<std::pair<std::string, std::string>> tags;  ///< --tag, in the order given
  std::optional<double> time_limit_s;
  std::optional<std::int64_t> seed;  ///< --seed, KBENCH_SEED or POPCORN_SEED
  std::string save_failing;
  std::string input;
  std::int64_t repeats = 0;  ///< 0: the stop rule decides
  bool no_warmup = false;
  bool hash_inputs = false;
  FreshInputs fresh_inputs = FreshInputs::automatic;
  std::optional<std::uint64_t> nonce;  ///< absent: the run draws one
  Launch launch = Launch::as_called;
  CuptiUse cupti = CuptiUse::automatic;
  bool range = true;
  std::optional<Flush> flush;      ///< absent: the verb's own
  std::vector<std::string> names;  ///< trace: filters of kernel names
  bool multiple = false;           ///< trace: a filter may select several kernels
  std::string chrome_trace;        ///< trace: file to write, or empty
  double call_timeout_s = 0;       ///< 0: the worker's default for its device
  bool in_process = false;
  double same = 0.01;                    ///< --same: relative difference that counts as none
  std::optional<double> fail_if_slower;  ///< --fail-if-slower, as a fraction
  bool force = false;  ///< compare results although they differ in more than the kernel
  std::string out;
  std::string report;             ///< of profile-command; empty: its default
  bool benchmark_inputs = false;  ///< --inputs benchmark
  bool list_json = false;
  std::string shell;   ///< of `completion`
  bool quiet = false;  ///< no progress
  ColorChoice color = ColorChoice::automatic;

  std::vector<std::string> command_line;
};

/// The result of parsing: options, or text that answers the command line by itself.
struct Parsed {
  std::optional<Options> options;
  std::string text;        ///< --help, --version
  bool to_stderr = false;  ///< the text answers a mistake: exit 2
};

/// Parses argv and the environment (`KBENCH_<NAME>` for each flag; a flag wins). `popcorn_seed` is
/// the value of POPCORN_SEED, empty when absent. Throws Error(usage).
Parsed parse_options(int argc, const char* const* argv, std::string_view popcorn_seed);

}  // namespace kbench
