// libcupti, found at run time: it comes with the toolkit and not with the driver, and kbench works
// without it.
#pragma once

#include <cupti.h>

#include <string>

namespace kbench {

/// Calls of libcupti, typed by the headers that kbench was built with.
struct CuptiCalls {
  decltype(&cuptiActivityDisable) activity_disable = nullptr;
  decltype(&cuptiActivityEnable) activity_enable = nullptr;
  decltype(&cuptiActivityFlushAll) activity_flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) activity_get_next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) activity_get_num_dropped_records = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) activity_pop_id = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) activity_push_id = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) activity_register_callbacks = nullptr;
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiGetTimestamp) get_timestamp = nullptr;
  decltype(&cuptiGetVersion) get_version = nullptr;
#if CUPTI_API_VERSION >= 130000  // the subscription that names a holder
  decltype(&cuptiSubscribe_v2) subscribe = nullptr;
#else
  decltype(&cuptiSubscribe) subscribe = nullptr;
#endif
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
};

/// The loaded library, or null with `why` set: not found, a call missing, or of another release
/// than the headers, whose records would then be read wrongly. Loaded once, never unloaded.
const CuptiCalls* cupti_calls(std::string* why);

/// `CUPTI_ERROR_UNKNOWN (999)`.
std::string cupti_error(const CuptiCalls& calls, CUptiResult result);

/// A subscription of this process; it ends with the object.
class CuptiSubscription {
 public:
  /// Throws Error(device) with `holder` set when another client has CUPTI, and with it left empty
  /// for any other reason.
  CuptiSubscription(const CuptiCalls& calls, std::string* holder);
  ~CuptiSubscription();
  CuptiSubscription(const CuptiSubscription&) = delete;
  CuptiSubscription& operator=(const CuptiSubscription&) = delete;

 private:
  const CuptiCalls& calls_;
  CUpti_SubscriberHandle handle_ = nullptr;
};

}  // namespace kbench
