#pragma once

#include "tuner/core/device.h"
#include "tuner/core/progress.h"
#include "tuner/core/result.h"

#include <functional>
#include <string>

namespace smemtune {

/// Callbacks for the events of a run. They are called from the thread that called tune().
struct Observer {
  std::function<void(const Progress&)> progress = [](const Progress&) {};
  std::function<void(const Result&, bool known)> result = [](const Result&, bool) {};
  std::function<void(const std::string&)> note = [](const std::string&) {};  ///< A line for people.
  /// Asked before devices are first given work, and again until it returns true; compilers work
  /// meanwhile.
  std::function<bool()> may_use_devices = [] { return true; };
  /// Called when the finals of a problem begin on this device.
  std::function<void(const Device&)> before_finals = [](const Device&) {};
};

}  // namespace smemtune
