// One measurement at a time on one device: a lock by the device's UUID, for all users of a machine.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runner/fd.h"

namespace kbench {

/// Held as long as the object lives; the system releases it when the process dies, however it dies.
class DeviceLock {
 public:
  /// Takes the lock of device `uuid` without waiting, or says in words who has it or why it cannot
  /// be taken. Locks of two objects exclude each other in one process too. `folder` holds the lock
  /// files: one that all users of the machine share.
  static std::variant<DeviceLock, std::string> take(const std::string& uuid,
                                                    const std::string& folder = "/tmp");

  const std::string& uuid() const { return uuid_; }

 private:
  DeviceLock(Fd fd, std::string uuid) : fd_(std::move(fd)), uuid_(std::move(uuid)) {}

  Fd fd_;
  std::string uuid_;
};

/// The locks of this process: a device is locked once however many workers it has here.
class DeviceLocks {
 public:
  /// Words when another process has the device. The lock is kept to the end of the object.
  std::optional<std::string> take(const std::string& uuid);

 private:
  std::vector<DeviceLock> held_;
};

}  // namespace kbench
