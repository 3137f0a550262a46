#pragma once

#include "tuner/init/host_calls.h"
#include "tuner/source/kernel_file.h"

namespace smemtune {

/// Adds the totals that functions of the host work out and compare with a result, or with the total
/// of an array, or print beside it: each as a check (HostCheck::is_total).
void add_totals(const ParsedSource& source, const HostDeclarations& declared, HostPart& host);

}  // namespace smemtune
