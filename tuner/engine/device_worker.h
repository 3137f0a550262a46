#pragma once

#include "tuner/backend/launcher.h"

#include <functional>
#include <memory>

namespace smemtune {

/// Runs a device worker: serves requests on the descriptor until that closes. `make` is called
/// first; an exception that it throws is reported to the parent. Returns the exit status.
int device_worker_main(const std::function<std::unique_ptr<Launcher>()>& make, int descriptor);

}  // namespace smemtune
