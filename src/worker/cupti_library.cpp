// Finds libcupti and checks that it is the release whose records this program can read. Must not
// know what is traced.
#include "worker/cupti_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "core/error.h"

namespace kbench {
namespace {

constexpr const char* k_name = KBENCH_CUPTI_NAME;  // `libcupti.so.13`
#if CUPTI_API_VERSION >= 130000
constexpr const char* k_subscribe = "cuptiSubscribe_v2";
#else
constexpr const char* k_subscribe = "cuptiSubscribe";
#endif

// Releases are told apart by all but the last two digits (update within a release) from CUDA 13 on,
// by the whole number before.
constexpr std::uint32_t release(std::uint32_t version) {
  return version >= 100000 ? version / 100 : version;
}

/// A copy that something has loaded already (libtorch brings one) is the one that counts: two in a
/// process would be two clients. Otherwise the loader's own search, then the toolkit's folders.
void* open_library() {
  if (void* loaded = dlopen(k_name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)) return loaded;
  const std::vector<std::string> folders = {"", KBENCH_CUPTI_FOLDERS};
  for (const std::string& folder : folders) {
    const std::string path = folder.empty() ? k_name : folder + "/" + k_name;
    if (void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

/// Fills calls; the name of the first that the library lacks, or empty.
std::string find_calls(void* library, CuptiCalls& calls) {
  std::string missing;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && missing.empty()) missing = name;
  };
  find("cuptiActivityDisable", calls.activity_disable);
  find("cuptiActivityEnable", calls.activity_enable);
  find("cuptiActivityFlushAll", calls.activity_flush_all);
  find("cuptiActivityGetNextRecord", calls.activity_get_next_record);
  find("cuptiActivityGetNumDroppedRecords", calls.activity_get_num_dropped_records);
  find("cuptiActivityPopExternalCorrelationId", calls.activity_pop_id);
  find("cuptiActivityPushExternalCorrelationId", calls.activity_push_id);
  find("cuptiActivityRegisterCallbacks", calls.activity_register_callbacks);
  find("cuptiGetResultString", calls.get_result_string);
  find("cuptiGetTimestamp", calls.get_timestamp);
  find("cuptiGetVersion", calls.get_version);
  find(k_subscribe, calls.subscribe);
  find("cuptiUnsubscribe", calls.unsubscribe);
  return missing;
}

struct Loaded {
  CuptiCalls calls;
  std::string why;  // not usable, when not empty
};

Loaded load() {
  Loaded loaded;
  void* library = open_library();
  if (library == nullptr) {
    loaded.why = fmt::format(
        "`{}` was not found; install the toolkit's package cuda-cupti or add its folder to "
        "LD_LIBRARY_PATH",
        k_name);
    return loaded;
  }
  const std::string missing = find_calls(library, loaded.calls);
  if (!missing.empty()) {
    loaded.why = fmt::format(
        "`{}` has no `{}`; install that of the toolkit that kbench was built "
        "with",
        k_name, missing);
    return loaded;
  }
  std::uint32_t version = 0;
  if (loaded.calls.get_version(&version) != CUPTI_SUCCESS ||
      release(version) != release(CUPTI_API_VERSION)) {
    loaded.why = fmt::format(
        "`{}` is version {}, kbench was built with {}; build kbench again with "
        "the toolkit that is installed",
        k_name, version, CUPTI_API_VERSION);
  }
  return loaded;
}

void ignore_callbacks(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

CUptiResult subscribe(const CuptiCalls& calls, CUpti_SubscriberHandle* handle,
                      std::string* holder) {
#if CUPTI_API_VERSION >= 130000
  std::array<char, 2 * CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> name{};
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "kbench";
  params.oldSubscriberName = name.data();
  params.oldSubscriberSize = name.size() - 1;
  const CUptiResult result = calls.subscribe(handle, &ignore_callbacks, nullptr, &params);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && name[0] != '\0')
    *holder = name.data();
#else
  const CUptiResult result = calls.subscribe(handle, &ignore_callbacks, nullptr);
#endif
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && holder->empty()) {
    *holder = "another tool";
  }
  return result;
}

}  // namespace

const CuptiCalls* cupti_calls(std::string* why) {
  static const Loaded loaded = load();
  if (loaded.why.empty()) return &loaded.calls;
  if (why != nullptr) *why = loaded.why;
  return nullptr;
}

std::string cupti_error(const CuptiCalls& calls, CUptiResult result) {
  const char* text = nullptr;
  if (calls.get_result_string(result, &text) != CUPTI_SUCCESS || text == nullptr) {
    text = "unknown error";
  }
  return fmt::format("{} ({})", text, static_cast<int>(result));
}

CuptiSubscription::CuptiSubscription(const CuptiCalls& calls, std::string* holder) : calls_(calls) {
  const CUptiResult result = subscribe(calls, &handle_, holder);
  if (result != CUPTI_SUCCESS) {
    throw Error(ExitCode::device,
                fmt::format("subscribing to CUPTI failed ({})", cupti_error(calls, result)));
  }
}

CuptiSubscription::~CuptiSubscription() { calls_.unsubscribe(handle_); }

}  // namespace kbench
