// The rows of the verb and flag tables and the conversion of each flag's text. Knows nothing of
// argv, of the environment or of what a value is used for.
#include "runner/flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/text.h"
#include "runner/toolchain.h"

namespace kbench {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& source,
                         std::string_view want) {
  throw Error(ExitCode::usage,
              fmt::format("`{}` is no value for `{}`; give {}", to_one_line(text), source, want));
}

std::int64_t parse_integer(const std::string& text, const std::string& source, std::int64_t low,
                           std::int64_t high, std::string_view want) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < low || value > high) {
    refuse(text, source, want);
  }
  return value;
}

double parse_seconds(const std::string& text, const std::string& source) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) || !(value > 0) || value > 1e9) {
    refuse(text, source, "a number of seconds above 0, such as `60`");
  }
  return value;
}

/// `1%` and `1` mean a hundredth.
double parse_percent(const std::string& text, const std::string& source) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool whole = stop == end || (stop + 1 == end && *stop == '%');
  if (error != std::errc() || !whole || !(value >= 0) || value > 1000) {
    refuse(text, source, "a percentage from 0 to 1000, such as `1%`");
  }
  return value / 100;
}

bool parse_switch(const std::string& text, const std::string& source) {
  for (std::string_view yes : {"on", "1", "true"}) {
    if (text == yes) return true;
  }
  for (std::string_view no : {"off", "0", "false"}) {
    if (text == no) return false;
  }
  refuse(text, source, "`on` or `off`");
}

std::vector<std::int64_t> parse_only(const std::string& text, const std::string& source) {
  constexpr std::string_view k_want = "numbers of cases such as `0` or `1,4`, each once";
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || stop != part.data() + part.size() || value < 0) {
      refuse(text, source, k_want);
    }
    numbers.push_back(value);
    at = comma + 1;
  }
  std::sort(numbers.begin(), numbers.end());
  if (std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end()) {
    refuse(text, source, k_want);
  }
  return numbers;
}

void parse_devices(Options& options, const std::string& text, const std::string& source) {
  options.all_devices = text == "all";
  try {
    if (!options.all_devices) options.devices = parse_device_list(text);
  } catch (const Error&) {
    refuse(text, source, "`all`, numbers of CUDA devices such as `0,1`, each once, or `host,host`");
  }
}

FreshInputs parse_fresh_inputs(const std::string& text, const std::string& source) {
  if (text == "auto") return FreshInputs::automatic;
  if (text == "on") return FreshInputs::on;
  if (text == "off") return FreshInputs::off;
  refuse(text, source, "`auto`, `on` or `off`");
}

void add_tag(Options& options, const std::string& text, const std::string& source) {
  const std::size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  const bool sound = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.-").find(c) != std::string_view::npos;
  });
  if (equals == std::string::npos || !sound) {
    refuse(text, source, "KEY=VALUE with a key of letters, digits, `_`, `.` and `-`");
  }
  for (const auto& [known, value] : options.tags) {
    if (known == key) {
      throw Error(ExitCode::usage,
                  fmt::format("`{}` names `{}` twice; give each key once", source, key));
    }
  }
  options.tags.emplace_back(key, text.substr(equals + 1));
}

ColorChoice parse_color(const std::string& text, const std::string& source) {
  if (text == "auto") return ColorChoice::automatic;
  if (text == "always") return ColorChoice::always;
  if (text == "never") return ColorChoice::never;
  refuse(text, source, "`auto`, `always` or `never`");
}

CuptiUse parse_cupti(const std::string& text, const std::string& source) {
  if (text == "auto") return CuptiUse::automatic;
  if (text == "on") return CuptiUse::on;
  if (text == "off") return CuptiUse::off;
  refuse(text, source, "`auto`, `on` or `off`");
}

std::uint64_t parse_nonce(const std::string& text, const std::string& source) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) {
    refuse(text, source, "a whole number from 0 to 18446744073709551615");
  }
  return value;
}

std::vector<std::string> parse_flags(const std::string& text, const std::string& source) {
  try {
    return split_flags(text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("`{}`: {}", source, error.what()));
  }
}

constexpr unsigned bit(Verb verb) { return 1u << static_cast<unsigned>(verb); }
constexpr unsigned k_measuring = bit(Verb::benchmark) | bit(Verb::leaderboard);
constexpr unsigned k_timing = k_measuring | bit(Verb::compare);
constexpr unsigned k_trace = bit(Verb::trace);
constexpr unsigned k_modes = k_measuring | bit(Verb::test) | bit(Verb::profile) | k_trace;
constexpr unsigned k_command = bit(Verb::profile_command);
constexpr unsigned k_kernels = k_modes | bit(Verb::compare);
constexpr unsigned k_work = k_kernels | bit(Verb::generate);
constexpr unsigned k_all = k_work | bit(Verb::list);

constexpr unsigned k_comparing = bit(Verb::compare) | bit(Verb::report);

using Text = const std::string&;

constexpr std::array k_verbs = {
    VerbRow{Verb::test, "test", "FILE", " ", "cases to check",
            "check a kernel on every case of FILE (rows `tests:` of a task file)",
            "kbench test specs/qr_v2.yaml --kernel lapack --device host"},
    VerbRow{Verb::benchmark, "benchmark", "FILE", " ", "cases to time",
            "time a kernel on every case of FILE and check every repeat",
            "kbench benchmark specs/quickstart.txt --json results.json"},
    VerbRow{Verb::leaderboard, "leaderboard", "FILE", " ", "cases to time",
            "as benchmark, with long warm-up; the first failed case ends its problem",
            "kbench leaderboard specs/qr_v2.yaml --time-limit 600"},
    VerbRow{Verb::profile, "profile", "FILE", " ", "the first case is run",
            "run the first case once inside the capture range of a profiler",
            "ncu --profile-from-start off kbench profile specs/quickstart.txt"},
    VerbRow{Verb::trace, "trace", "FILE", " ", "cases to trace",
            "record what each kernel on the GPU does in a call: times, gaps, names",
            "kbench trace specs/quickstart.txt --chrome-trace trace.json"},
    VerbRow{Verb::generate, "generate", "FILE", " ", "cases whose inputs are written",
            "write the inputs of every case as .npy and print their hashes",
            "kbench generate specs/quickstart.txt --out inputs"},
    VerbRow{Verb::list, "list", "WHAT", "problems|cases|kernels|devices",
            "what to list; without: all", "list what this kbench knows", "kbench list kernels"},
    VerbRow{Verb::new_kernel, "new", "PROBLEM", " ", "problem that the kernel solves",
            "write a short kernel that is right and slow, to start from",
            "kbench new qr_v2 my.cu && kbench test --kernel my.cu", "FILE",
            "file to write; .cu is for the GPU, .cpp .cc .cxx .c for the host"},
    VerbRow{Verb::build, "build", "FILE", " ", "kernel source (.cu .cpp .cc .cxx .c)",
            "compile a kernel and show what each of its GPU functions takes",
            "kbench build my.cu --nvcc-flags \"-maxrregcount=64\""},
    VerbRow{Verb::profile_command, "profile-command", "TOOL", "nsys|ncu", "profiler",
            "print the command line that shows one case to a profiler",
            "eval \"$(kbench profile-command nsys shape.txt --kernel my.cu)\"", "FILE",
            "cases; the first one, or that of --only, is shown"},
    VerbRow{Verb::completion, "completion", "SHELL", "bash|zsh", "shell that completes",
            "print the script that completes kbench's words in a shell",
            "kbench completion bash > ~/.local/share/bash-completion/completions/kbench"},
    VerbRow{Verb::man, "man", "", "", "", "print the manual page", "kbench man | man -l -"},
    VerbRow{
        Verb::compare, "compare", "KERNEL", "KERNEL KERNEL ... [FILE] | OLD.json NEW.json",
        "kernels as for --kernel, the first is what the others are compared with; then the cases; "
        "or two files that --json wrote",
        "time kernels in turns on the same inputs, or read two results, and say which is faster",
        "kbench compare lapack my.cpp specs/quickstart.txt --device host", "", "", true},
    VerbRow{Verb::report, "report", "RESULTS", "RESULTS.json ...",
            "files that --json wrote; the first is what the others are compared with",
            "turn results into one page of HTML to look at, or print their tables",
            "kbench report results.json -o report.html", "", "", true},
};

const std::array k_flags = {
    Flag{"problem", "NAME", "take this problem instead of choosing by file and kernel",
         k_all | k_command, [](Options& o, Text text, Text) { o.problem = text; }},
    Flag{"kernel", "NAME|PATH.so|SOURCE",
         "kernel to run: a shipped one, a plug-in, or a .cu .cpp .cc .cxx .c file, which is "
         "compiled; without: the problem's default on the device",
         k_modes | k_command, [](Options& o, Text text, Text) { o.kernel = text; }},
    Flag{"nvcc-flags", "\"FLAGS\"",
         "more words for the compiler of a kernel source: nvcc, or the host's C or C++ compiler",
         k_kernels | bit(Verb::build) | k_command,
         [](Options& o, Text text, Text source) { o.nvcc_flags = parse_flags(text, source); }},
    Flag{"device", "auto|cuda[:N]|host", "where to run, or whose architecture to build for",
         k_work | bit(Verb::build) | k_command,
         [](Options& o, Text text, Text source) {
           try {
             o.device = parse_device(text);
           } catch (const Error&) {
             refuse(text, source, "`auto`, `cuda`, `cuda:N` or `host`");
           }
         }},
    Flag{"devices", "0,1|all|host,host",
         "spread the cases over these CUDA devices (or host workers), one worker each",
         k_measuring | bit(Verb::test),
         [](Options& o, Text text, Text source) { parse_devices(o, text, source); }},
    Flag{"rank-timeout", "SECONDS", "under mpirun: a rank silent for so long is lost (default 60)",
         k_measuring | bit(Verb::test),
         [](Options& o, Text text, Text source) { o.rank_timeout_s = parse_seconds(text, source); }},
    Flag{"together", "",
         "run every case on all devices or ranks at the same time, each repeat started together",
         bit(Verb::benchmark),
         [](Options& o, Text text, Text source) { o.together = parse_switch(text, source); }},
    Flag{"no-lock", "", "use a CUDA device even while another kbench uses it", k_work,
         [](Options& o, Text text, Text source) { o.lock = !parse_switch(text, source); }},
    Flag{"case", "'LINE'",
         "run this case instead of FILE; `{32..512*2}` and `{a,b}` in it stand for several; may be "
         "repeated",
         k_work, [](Options& o, Text text, Text) { o.case_lines.push_back(text); },
         true},
    Flag{"filter", "'CONDITIONS'", "run only the cases for which all hold: `n >= 512; case = mixed`",
         k_work,
         [](Options& o, Text text, Text source) {
           o.filter = parse_case_filter(text, source);
           o.filter_text = text;
         }},
    Flag{"only", "I[,J]", "run only the cases with these numbers, as the table shows them",
         k_work | k_command,
         [](Options& o, Text text, Text source) { o.only = parse_only(text, source); }},
    Flag{"json", "PATH", "write all results to PATH, rewritten after each case", k_kernels,
         [](Options& o, Text text, Text) { o.json = text; }},
    Flag{"json", "", "print JSON", bit(Verb::list),
         [](Options& o, Text text, Text source) { o.list_json = parse_switch(text, source); },
         false, false},
    Flag{"resume", "RESULTS.json",
         "go on from these results: cases that they hold as measured are taken over, not run",
         k_measuring, [](Options& o, Text text, Text) { o.resume = text; }},
    Flag{"baseline", "RESULTS.json",
         "show the ratio of each case, and of the geometric mean, to these results", k_measuring,
         [](Options& o, Text text, Text) { o.baseline = text; }},
    Flag{"dry-run", "", "print cases, memory and time, and run nothing; needs no device",
         k_measuring | bit(Verb::test),
         [](Options& o, Text text, Text source) { o.dry_run = parse_switch(text, source); }},
    Flag{"csv", "PATH", "the same as comma-separated values, one line a case", k_modes,
         [](Options& o, Text text, Text) { o.csv = text; }},
    Flag{"markdown", "PATH", "the same as a Markdown table", k_modes,
         [](Options& o, Text text, Text) { o.markdown = text; }},
    Flag{"junit", "PATH", "the same as JUnit XML, for continuous integration", k_modes,
         [](Options& o, Text text, Text) { o.junit = text; }},
    Flag{"tag", "KEY=VALUE", "word of yours that is kept with the results; may be repeated",
         k_modes, [](Options& o, Text text, Text source) { add_tag(o, text, source); }, true},
    Flag{"time-limit", "SECONDS", "end the run after so long; without: the task file's, if any",
         k_work | bit(Verb::build),
         [](Options& o, Text text, Text source) { o.time_limit_s = parse_seconds(text, source); }},
    Flag{"seed", "N", "combine every case seed with the secret seed N (as POPCORN_SEED)",
         k_work | k_command,
         [](Options& o, Text text, Text source) { o.seed = parse_seed(text, source); }},
    Flag{"save-failing", "DIR", "save input and outputs of a failed case as .npy", k_kernels,
         [](Options& o, Text text, Text) { o.save_failing = text; }},
    Flag{"input", "A.npy", "run on these matrices, [n,n] or [batch,n,n], instead of FILE",
         k_kernels | k_command, [](Options& o, Text text, Text) { o.input = text; }},
    Flag{"repeats", "N", "exactly N timed repeats (marked not comparable), or pairs of them",
         k_timing,
         [](Options& o, Text text, Text source) {
           o.repeats = parse_integer(text, source, 1, 1000000, "a whole number from 1 to 1000000");
         }},
    Flag{"repeat", "N", "traced repeats after the warm-up one (default 10)", k_trace,
         [](Options& o, Text text, Text source) {
           o.repeats = parse_integer(text, source, 1, 10000, "a whole number from 1 to 10000");
         }},
    Flag{"name", "TEXT|REGEX",
         "show only the kernel whose demangled or bare name has this in it; may be repeated",
         k_trace, [](Options& o, Text text, Text) { o.names.push_back(text); }, true},
    Flag{"multiple", "", "a --name may select several kernels", k_trace,
         [](Options& o, Text text, Text source) { o.multiple = parse_switch(text, source); }},
    Flag{"chrome-trace", "PATH", "write the repeats for Perfetto or chrome://tracing", k_trace,
         [](Options& o, Text text, Text) { o.chrome_trace = text; }},
    Flag{"flush", "public|cold|clean|none",
         "cache before the calls: overwritten once a repeat (public), before every call (cold), the "
         "same and written back (clean), or as it is; default public, trace: clean",
         k_measuring | k_trace,
         [](Options& o, Text text, Text source) {
           try {
             o.flush = parse_flush(text);
           } catch (const Error&) {
             refuse(text, source, "`public`, `cold`, `clean` or `none`");
           }
         }},
    Flag{"no-warmup", "", "leave out the warm-up repeats", k_timing,
         [](Options& o, Text text, Text source) { o.no_warmup = parse_switch(text, source); }},
    Flag{"hash-inputs", "", "put the SHA-256 of every listed input into the JSON",
         k_measuring | bit(Verb::test),
         [](Options& o, Text text, Text source) { o.hash_inputs = parse_switch(text, source); }},
    Flag{"fresh-inputs", "auto|on|off",
         "other inputs in each timed repeat after the first (auto: on)", k_timing,
         [](Options& o, Text text, Text source) {
           o.fresh_inputs = parse_fresh_inputs(text, source);
         }},
    Flag{"nonce", "N", "draw the fresh inputs from N, to repeat a run; without: a random number",
         k_timing, [](Options& o, Text text, Text source) { o.nonce = parse_nonce(text, source); }},
    Flag{"cupti", "auto|on|off",
         "CUPTI, which profilers hold too: left to them (auto), demanded (on), never touched (off)",
         k_measuring | bit(Verb::profile) | k_trace,
         [](Options& o, Text text, Text source) { o.cupti = parse_cupti(text, source); }},
    Flag{"launch", "public|queued",
         "queued: times with the launches held back too, beside the public ones", k_measuring,
         [](Options& o, Text text, Text source) {
           if (text != "public" && text != "queued") refuse(text, source, "`public` or `queued`");
           o.launch = text == "queued" ? Launch::queued : Launch::as_called;
         }},
    Flag{"range", "on|off", "profiler capture range around the timed calls (default on)",
         k_modes & ~k_trace,
         [](Options& o, Text text, Text source) { o.range = parse_switch(text, source); }},
    Flag{
        "call-timeout", "SECONDS", "limit of one custom_kernel call (default 60, host 600) and, from 20, of loading a kernel",
        k_kernels,
        [](Options& o, Text text, Text source) { o.call_timeout_s = parse_seconds(text, source); }},
    Flag{"in-process", "", "run the worker inside this process, for debuggers: no isolation",
         k_modes | bit(Verb::generate),
         [](Options& o, Text text, Text source) { o.in_process = parse_switch(text, source); }},
    Flag{"quiet", "", "show no progress", k_kernels,
         [](Options& o, Text text, Text source) { o.quiet = parse_switch(text, source); }},
    Flag{"color", "auto|always|never", "colours (auto: on a terminal, unless NO_COLOR is set)",
         k_kernels | bit(Verb::report), [](Options& o, Text text, Text source) { o.color = parse_color(text, source); }},
    Flag{"same", "PCT", "a difference below PCT per cent counts as none (default 1)",
         k_comparing,
         [](Options& o, Text text, Text source) { o.same = parse_percent(text, source); }},
    Flag{
        "fail-if-slower", "PCT",
        "exit with 112 when a kernel is for certain more than PCT per cent slower than the first",
        bit(Verb::compare),
        [](Options& o, Text text, Text source) { o.fail_if_slower = parse_percent(text, source); }},
    Flag{"force", "", "compare with results although device, driver, flush, clock or inputs differ",
         bit(Verb::compare) | k_measuring,
         [](Options& o, Text text, Text source) { o.force = parse_switch(text, source); }},
    Flag{"out", "PATH", "folder that the inputs are written to, or file of the report (without: tables on stdout)",
         bit(Verb::generate) | bit(Verb::report),
         [](Options& o, Text text, Text) { o.out = text; }, false, true, 'o'},
    Flag{"report", "PATH", "report that the profiler is to write, without its suffix", k_command,
         [](Options& o, Text text, Text) { o.report = text; }},
    Flag{"inputs", "listed|benchmark", "seeds as listed, or those of the measured loop",
         bit(Verb::generate),
         [](Options& o, Text text, Text source) {
           if (text != "listed" && text != "benchmark") {
             refuse(text, source, "`listed` or `benchmark`");
           }
           o.benchmark_inputs = text == "benchmark";
         }},
};

}  // namespace

std::span<const VerbRow> verbs() { return k_verbs; }
std::span<const Flag> flags() { return k_flags; }

std::string environment_name(const Flag& flag) {
  std::string name = "KBENCH_";
  for (char c : flag.name) {
    name += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return name;
}

std::int64_t parse_seed(const std::string& text, const std::string& source) {
  return parse_integer(text, source, 0, (std::int64_t{1} << 31) - 1,
                       "a decimal number from 0 to 2147483647");
}

}  // namespace kbench
