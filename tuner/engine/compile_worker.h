#pragma once

#include "tuner/backend/compiler.h"

#include <functional>
#include <memory>

namespace smemtune {

/// Runs a compile worker: serves requests on the descriptor until that closes. `make` is called
/// first; an exception that it throws is reported to the parent. Returns the exit status.
int compile_worker_main(const std::function<std::unique_ptr<Compiler>()>& make, int descriptor);

}  // namespace smemtune
