// The command line and the environment: what is accepted, what is refused and in which words.
#include "runner/options.h"

#include <cstdlib>
#include <map>

#include "catch.h"
#include "core/error.h"

using namespace kbench;

namespace {

using Values = std::map<std::string, std::string>;

/// Variables that are set while the object lives.
class Variables {
 public:
  explicit Variables(Values values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) setenv(name.c_str(), value.c_str(), 1);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;
  ~Variables() {
    for (const auto& [name, value] : values_) unsetenv(name.c_str());
  }

 private:
  Values values_;
};

Parsed parse(const std::vector<std::string>& words, const std::string& popcorn_seed = "") {
  std::vector<const char*> argv = {"kbench"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  return parse_options(static_cast<int>(argv.size()), argv.data(), popcorn_seed);
}

Options options(const std::vector<std::string>& words, const std::string& popcorn_seed = "") {
  return parse(words, popcorn_seed).options.value();
}

/// Message of the usage error, empty when there is none.
std::string refusal(const std::vector<std::string>& words, const std::string& popcorn_seed = "") {
  try {
    parse(words, popcorn_seed);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options stand before or after the verb, with a blank or an equals sign") {
  const std::vector<std::vector<std::string>> lines = {
      {"--device", "host", "benchmark", "f.txt", "--repeats", "3", "--no-warmup"},
      {"benchmark", "f.txt", "--device", "host", "--repeats=3", "--no-warmup"},
      {"--device=host", "--no-warmup", "benchmark", "--repeats", "3", "f.txt"},
      {"--repeats", "3", "benchmark", "--no-warmup", "f.txt", "--device=host"},
  };
  for (const auto& line : lines) {
    CAPTURE(line);
    const Options parsed = options(line);
    CHECK(parsed.verb == Verb::benchmark);
    REQUIRE(parsed.mode != nullptr);
    CHECK(parsed.mode->id == ModeId::benchmark);
    CHECK(parsed.file == "f.txt");
    CHECK(parsed.device.kind == DeviceRequest::Kind::host);
    CHECK(parsed.repeats == 3);
    CHECK(parsed.no_warmup);
  }
}

TEST_CASE("the flags of a compiler may begin with a dash, and stand on both sides of the verb") {
  const std::vector<std::vector<std::string>> lines = {
      {"--nvcc-flags", "-DA=1 -I 'a b'", "benchmark", "f.txt"},
      {"benchmark", "--nvcc-flags", "-DA=1 -I 'a b'", "f.txt"},
      {"benchmark", "f.txt", "--nvcc-flags=-DA=1 -I 'a b'"},
      {"build", "f.txt", "--nvcc-flags", "-DA=1 -I 'a b'"},
  };
  for (const auto& line : lines) {
    CAPTURE(line);
    const Options parsed = options(line);
    CHECK(parsed.nvcc_flags == std::vector<std::string>{"-DA=1", "-I", "a b"});
    CHECK(parsed.file == "f.txt");
  }
  CHECK_THAT(refusal({"build", "k.cu", "--nvcc-flags", "-D'x"}),
             StartsWith("`--nvcc-flags`: a quote ' is not closed"));
}

TEST_CASE("fresh inputs and the nonce arrive in their fields, before and after the verb") {
  struct Row {
    std::string text;
    FreshInputs fresh;
  };
  for (const Row& row :
       {Row{"auto", FreshInputs::automatic}, {"on", FreshInputs::on}, {"off", FreshInputs::off}}) {
    CAPTURE(row.text);
    CHECK(options({"benchmark", "--fresh-inputs", row.text}).fresh_inputs == row.fresh);
    CHECK(options({"--fresh-inputs=" + row.text, "leaderboard"}).fresh_inputs == row.fresh);
    const Variables set(Values{{"KBENCH_FRESH_INPUTS", row.text}});
    CHECK(options({"benchmark"}).fresh_inputs == row.fresh);
  }
  CHECK_FALSE(options({"benchmark"}).nonce);
  for (const std::string text : {"0", "18446744073709551615"}) {
    CHECK(options({"benchmark", "--nonce", text}).nonce == std::stoull(text));
    CHECK(options({"--nonce=" + text, "leaderboard"}).nonce == std::stoull(text));
    const Variables set(Values{{"KBENCH_NONCE", text}});
    CHECK(options({"leaderboard"}).nonce == std::stoull(text));
    CHECK(options({"leaderboard", "--nonce", "4"}).nonce == 4u);
  }
}

TEST_CASE("new takes a problem and a file, build a file") {
  const Options made = options({"new", "qr_v2", "my.cu"});
  CHECK(made.verb == Verb::new_kernel);
  CHECK(made.problem == "qr_v2");
  CHECK(made.file == "my.cu");
  CHECK(made.mode == nullptr);
  const Variables set(Values{{"KBENCH_NVCC_FLAGS", "-O1"}, {"KBENCH_DEVICE", "cuda:1"}});
  const Options built = options({"build", "--time-limit", "5", "my.cu"});
  CHECK(built.verb == Verb::build);
  CHECK(built.file == "my.cu");
  CHECK(built.nvcc_flags == std::vector<std::string>{"-O1"});
  CHECK(built.device.index == 1);
  CHECK(built.time_limit_s == 5);
}

TEST_CASE("a value that is named like a verb is no verb") {
  CHECK(options({"--problem", "test", "profile", "f.txt"}).verb == Verb::profile);
}

TEST_CASE("every option of a mode arrives in its field") {
  const Options all =
      options({"leaderboard", "--problem",      "qr_v2", "--kernel",       "k", "--device",
               "cuda:2",      "--only",         "4,1",   "--json",         "j", "--time-limit",
               "2.5",         "--seed",         "7",     "--save-failing", "d", "--range",
               "off",         "--call-timeout", "9",     "--in-process"});
  CHECK(all.problem == "qr_v2");
  CHECK(all.kernel == "k");
  CHECK(all.device.kind == DeviceRequest::Kind::cuda);
  CHECK(all.device.index == 2);
  CHECK(all.only == std::vector<std::int64_t>{1, 4});
  CHECK(all.json == "j");
  CHECK(all.time_limit_s == 2.5);
  CHECK(all.seed == 7);
  CHECK(all.save_failing == "d");
  CHECK_FALSE(all.range);
  CHECK(all.call_timeout_s == 9);
  CHECK(all.in_process);
  const Options generate = options({"generate", "--out", "d", "--inputs", "benchmark"});
  CHECK(generate.mode == nullptr);
  CHECK(generate.out == "d");
  CHECK(generate.benchmark_inputs);
  CHECK(options({"test", "--input", "a.npy"}).input == "a.npy");
}

TEST_CASE("without options the defaults hold") {
  const Options parsed = options({"test"});
  CHECK(parsed.file.empty());
  CHECK(parsed.range);
  CHECK_FALSE(parsed.time_limit_s);
  CHECK_FALSE(parsed.seed);
  CHECK(parsed.repeats == 0);
  CHECK(parsed.device.kind == DeviceRequest::Kind::automatic);
}

TEST_CASE("an option is read from its variable and the flag wins") {
  const Variables set(Values{{"KBENCH_REPEATS", "5"},
                             {"KBENCH_NO_WARMUP", "1"},
                             {"KBENCH_CALL_TIMEOUT", "12"},
                             {"KBENCH_DEVICE", ""},
                             {"KBENCH_OUT", "not for this verb"}});
  const Options parsed = options({"benchmark", "--call-timeout", "3"});
  CHECK(parsed.repeats == 5);
  CHECK(parsed.no_warmup);
  CHECK(parsed.call_timeout_s == 3);
  CHECK(parsed.out.empty());
}

TEST_CASE("a switch is switched off by its variable") {
  const Variables set(Values{{"KBENCH_NO_WARMUP", "0"}, {"KBENCH_IN_PROCESS", "off"}});
  CHECK_FALSE(options({"benchmark"}).no_warmup);
  CHECK_FALSE(options({"benchmark"}).in_process);
}

TEST_CASE("a bad value in the environment names the variable") {
  const std::vector<std::array<std::string, 2>> rows = {
      {"KBENCH_REPEATS", "x"},
      {"KBENCH_NO_WARMUP", "maybe"},
      {"KBENCH_TIME_LIMIT", "-1"},
      {"KBENCH_DEVICE", "tpu"},
      {"KBENCH_SEED", "2147483648"},
      {"KBENCH_ONLY", "1,,2"},
      {"KBENCH_NONCE", "1.5"},
      {"KBENCH_FRESH_INPUTS", "yes"},
      {"KBENCH_RANGE", "half"},
      {"KBENCH_CALL_TIMEOUT", "nan"},
      {"KBENCH_IN_PROCESS", "yes please"},
  };
  for (const auto& [name, value] : rows) {
    CAPTURE(name);
    const Variables set(Values{{name, value}});
    CHECK_THAT(refusal({"benchmark"}),
               ContainsSubstring("`" + value + "` is no value for `" + name));
  }
}

TEST_CASE("the secret seed comes from the flag, its variable or POPCORN_SEED, in this order") {
  CHECK(options({"test"}, "11").seed == 11);
  CHECK(options({"test"}, "0").seed == 0);
  CHECK_FALSE(options({"test"}, "").seed);
  CHECK(options({"test", "--seed", "12"}, "11").seed == 12);
  const Variables set(Values{{"KBENCH_SEED", "13"}});
  CHECK(options({"test"}, "11").seed == 13);
  CHECK(options({"test", "--seed", "12"}, "11").seed == 12);
  for (const std::string bad : {"2147483648", "-1", "1e3", "0x10", " 5", "5 ", "five"}) {
    CAPTURE(bad);
    CHECK_THAT(refusal({"test"}, bad), ContainsSubstring("`POPCORN_SEED`"));
  }
  CHECK(options({"test", "--seed", "2147483647"}).seed == 2147483647);
}

TEST_CASE("a mistake on the command line is named with what to do") {
  struct Row {
    std::vector<std::string> words;
    std::string message;
  };
  const std::vector<Row> rows = {
      {{"benchmrk"}, "unknown verb `benchmrk`; did you mean `benchmark`? see `kbench --help`"},
      {{"benchmark", "--devise", "host"}, "unknown option `--devise`; did you mean `--device`?"},
      {{"--kernle=x", "test"}, "unknown option `--kernle`; did you mean `--kernel`?"},
      {{"test", "-x"}, "unknown option `-x`"},
      {{"list", "--csv", "x"}, "`--csv` is not an option of `kbench list`"},
      {{"test", "--repeats", "3"}, "`--repeats` is not an option of `kbench test`"},
      {{"test", "a.txt", "b.txt"}, "unexpected argument `b.txt` (after `a.txt`)"},
      {{"test", ""}, "[FILE] is an empty word"},
      {{"test", "--json"}, "--json"},
      {{"test", "--json="}, "json"},
      {{"test", "--only", "2,2"}, "`2,2` is no value for `--only`"},
      {{"test", "--only", "-1"}, "`-1` is no value for `--only`"},
      {{"benchmark", "--repeats", "0"}, "`0` is no value for `--repeats`"},
      {{"benchmark", "--repeats", "2.5"}, "`2.5` is no value for `--repeats`"},
      {{"benchmark", "--time-limit", "0"}, "`0` is no value for `--time-limit`"},
      {{"benchmark", "--time-limit", "inf"}, "`inf` is no value for `--time-limit`"},
      {{"benchmark", "--device", "gpu"}, "`gpu` is no value for `--device`"},
      {{"benchmark", "--fresh-inputs", "maybe"}, "`maybe` is no value for `--fresh-inputs`; give "},
      {{"benchmark", "--nonce", "-1"}, "`-1` is no value for `--nonce`"},
      {{"benchmark", "--nonce", "18446744073709551616"},
       "is no value for `--nonce`; give a whole "},
      {{"test", "--nonce", "1"}, "`--nonce` is not an option of `kbench test`"},
      {{"profile", "--fresh-inputs", "on"}, "is not an option of `kbench profile`"},
      {{"generate", "--out", "d", "--nonce", "1"}, "is not an option of `kbench generate`"},
      {{"new"}, "`kbench new` needs a problem and a file to write; give both"},
      {{"new", "qr_v2"}, "`kbench new` needs a problem and a file to write; give both"},
      {{"new", "qr_v2", ""}, "[FILE] is an empty word"},
      {{"new", "", "my.cu"}, "[PROBLEM] is an empty word"},
      {{"new", "a", "b", "c"}, "unexpected argument `c` (after `b`); see `kbench new --help`"},
      {{"new", "a", "b", "--problem", "c"}, "`--problem` is not an option of `kbench new`"},
      {{"build"}, "`kbench build` needs a kernel source; name it"},
      {{"build", "a.cu", "--kernel", "b.cu"}, "`--kernel` is not an option of `kbench build`"},
      {{"biuld", "a.cu"}, "did you mean `build`?"},
      {{"generate", "f.txt"}, "add `--out DIR`"},
      {{"generate", "--out", "d", "--inputs", "both"}, "`both` is no value for `--inputs`"},
      {{"list", "kernls"}, "nothing to list named `kernls`; did you mean `kernels`?"},
      {{"test", "f.txt", "--input", "a.npy"}, "exclude each other"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.words);
    CHECK_THAT(refusal(row.words), ContainsSubstring(row.message));
  }
}

TEST_CASE("help and version answer by themselves") {
  CHECK_THAT(parse({"--version"}).text, StartsWith("kbench "));
  CHECK_THAT(parse({"test", "--version"}).text, StartsWith("kbench "));
  CHECK_FALSE(parse({"--help"}).to_stderr);
  CHECK(parse({}).to_stderr);
  CHECK(parse({}).text == parse({"--help"}).text);
  CHECK(parse({"--device", "host"}).to_stderr);
}

TEST_CASE("the help of a verb shows its options, their variables and an example") {
  struct Row {
    std::string verb;
    std::vector<std::string> has, lacks;
  };
  const std::vector<Row> rows = {
      {"test",
       {"--save-failing", "KBENCH_SAVE_FAILING", "kbench test", "KBENCH_NVCC_FLAGS"},
       {"--repeats", "--out", "--nonce", "--fresh-inputs"}},
      {"benchmark", {"--repeats", "KBENCH_NO_WARMUP", "Example: kbench benchmark"}, {"--out"}},
      {"leaderboard", {"--no-warmup", "--range", "on|off"}, {"--inputs"}},
      {"profile", {"--call-timeout", "ncu"}, {"--repeats"}},
      {"generate", {"--out", "KBENCH_INPUTS", "listed|benchmark"}, {"--json", "--kernel"}},
      {"benchmark",
       {"KBENCH_FRESH_INPUTS", "auto|on|off", "KBENCH_NONCE", "NAME|PATH.so|SOURCE"},
       {}},
      {"new", {"PROBLEM", "FILE", "Example: kbench new qr_v2 my.cu"}, {"--device", "KBENCH_"}},
      {"build", {"--nvcc-flags", "KBENCH_DEVICE", "Example: kbench build my.cu"}, {"--json"}},
      {"list", {"problems|cases|kernels|devices", "KBENCH_PROBLEM"}, {"--device"}},
  };
  for (const Row& row : rows) {
    for (const auto& words : {std::vector<std::string>{row.verb, "--help"}, {"-h", row.verb}}) {
      const Parsed parsed = parse(words);
      CHECK_FALSE(parsed.options);
      CHECK_FALSE(parsed.to_stderr);
      for (const std::string& text : row.has) CHECK_THAT(parsed.text, ContainsSubstring(text));
      for (const std::string& text : row.lacks) {
        CHECK_THAT(parsed.text, !ContainsSubstring(text));
      }
    }
  }
}

TEST_CASE("a switch takes a value behind an equals sign, and no other") {
  const auto in_process = [](const std::vector<std::string>& words) {
    std::vector<std::string> line = {"test", "f.txt"};
    line.insert(line.end(), words.begin(), words.end());
    return options(line).in_process;
  };
  CHECK(in_process({"--in-process"}));
  CHECK(in_process({"--in-process=on"}));
  CHECK_FALSE(in_process({"--in-process=off"}));
  CHECK_FALSE(in_process({"--in-process", "--in-process=off"}));
  CHECK(in_process({"--in-process=off", "--in-process"}));
  CHECK_FALSE(options({"--in-process=false", "test", "f.txt"}).in_process);
  CHECK(options({"test", "f.txt", "--no-lock=off"}).lock);
  CHECK(refusal({"test", "f.txt", "--no-lock=maybe"}) ==
        "`maybe` is no value for `--no-lock`; give `on` or `off`");
  const Variables variables(Values{{"KBENCH_IN_PROCESS", "on"}});
  CHECK_FALSE(in_process({"--in-process=off"}));
}

TEST_CASE("help is a verb as well, and a missing shell is not one without a name") {
  CHECK(parse({"help"}).text == parse({"--help"}).text);
  CHECK_FALSE(parse({"help"}).to_stderr);
  CHECK(parse({"help", "test"}).text == parse({"test", "--help"}).text);
  CHECK_THAT(refusal({"help", "tset"}), StartsWith("unknown verb `tset`; did you mean `test`?"));
  CHECK(refusal({"completion"}) ==
        "`kbench completion` needs a shell; give bash or zsh, as in `kbench completion bash`");
}
