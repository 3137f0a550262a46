#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/launcher.h"

#include <functional>
#include <memory>

// The main functions of workers: each serves requests on the descriptor until that closes, and
// returns the exit status. `make` is called first; an exception that it throws is reported to the
// parent.

namespace smemtune {

int compile_worker_main(const std::function<std::unique_ptr<Compiler>()>& make, int descriptor);
int device_worker_main(const std::function<std::unique_ptr<Launcher>()>& make, int descriptor);

}  // namespace smemtune
