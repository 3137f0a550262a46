#pragma once

#include "tuner/core/limits.h"

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

}  // namespace smemtune::cuda
