// Calls that take longer where nothing of them can be known before.
#include "worker/audit_times.h"

#include "catch.h"
#include "core/error.h"

using namespace kbench;

TEST_CASE("the fastest audit counts, without its copies") {
  AuditTimes times(DeviceKind::cuda);
  CHECK_FALSE(times.call_ns());
  times.add(90e3);
  CHECK(times.call_ns() == 0.0);  // what the copies take is not known yet
  times.set_copies(20e3);
  CHECK(times.call_ns() == 70e3);
  times.add(50e3);
  times.add(60e3);
  CHECK(times.count() == 3);
  CHECK(times.call_ns() == 30e3);
}

TEST_CASE(
    "twice the time of a timed call and a few microseconds tell that work is done elsewhere") {
  AuditTimes times(DeviceKind::cuda);
  times.set_copies(10e3);
  CHECK_FALSE(times.tells_apart(1e3));
  times.add(40e3);
  CHECK(times.tells_apart(12.4e3));
  CHECK_FALSE(times.tells_apart(12.6e3));
  CHECK_NOTHROW(times.require_same_work(12.6e3));
  try {
    times.require_same_work(5.7e3);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::case_failed);
    CHECK_THAT(
        error.what(),
        ContainsSubstring("a call takes 5.70 us in timed repeats and at least 30.00 us in 1 "));
  }
}

TEST_CASE("copies that took longer than an audit accuse nobody") {
  AuditTimes times(DeviceKind::cuda);
  times.set_copies(50e3);
  times.add(40e3);
  CHECK(times.call_ns() == 0.0);
  CHECK_FALSE(times.tells_apart(0));
}

TEST_CASE("on the host a call may take longer after a copy") {
  AuditTimes times(DeviceKind::host);
  times.set_copies(0);
  times.add(140e3);
  CHECK_FALSE(times.tells_apart(20e3));
  CHECK(times.tells_apart(19e3));
}
