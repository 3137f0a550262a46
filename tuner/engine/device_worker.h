#pragma once

#include "tuner/backend/launcher.h"

#include <functional>
#include <memory>

namespace smemtune {

/// The body of a device worker: serves requests from descriptor `in` on `out` until it closes.
/// `make` is called first; what it throws is told to the parent. Returns the exit status.
int device_worker_main(const std::function<std::unique_ptr<Launcher>()>& make, int in, int out);

}  // namespace smemtune
