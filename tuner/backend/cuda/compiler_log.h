#pragma once

#include "tuner/core/limits.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace smemtune::cuda {

/// Returns the resources that ptxas reports for each entry (by lowered name) in a log written with
/// `--ptxas-options=-v`: registers, static shared memory, stack, spills, barriers and serialized
/// wgmma. The shared bytes do not contain the kilobyte that the system reserves from sm_90 on (the
/// module's .nv.shared section does). Constant bytes and launch bounds are not in the log: see
/// cubin.h.
std::map<std::string, Resources, std::less<>> ptxas_report(std::string_view log);

/// Returns a compiler's log as it may be stored and printed: printable_lines() in which a NUL is a
/// newline, at most `max_bytes` long. If text was cut off, a last line says so.
std::string readable_text(std::string_view text, std::size_t max_bytes = std::size_t{64} * 1024);

}  // namespace smemtune::cuda
