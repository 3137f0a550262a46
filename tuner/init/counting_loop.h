#pragma once

#include "tuner/init/syntax.h"
#include "tuner/source/launch_site.h"

#include <set>
#include <string>

namespace smemtune {

/// Reads the header of a loop, and what its body swaps. CountingLoop::counter is empty if the loop
/// does not count in a way that is understood.
CountingLoop read_counting_loop(const ParsedSource& source, const Syntax& loop);

/// Returns the variables that a part of a function gives other values, or may give them.
std::set<std::string> assigned_in(const Syntax& part);

}  // namespace smemtune
