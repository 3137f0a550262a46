#pragma once

#include "tuner/init/syntax.h"
#include "tuner/source/kernel_file.h"

#include <string>
#include <vector>

namespace smemtune {

/// Returns what a function of the host expects of the elements of arrays, each as a function that
/// stores it there: the function itself with a store in place of every comparison where it is
/// passed the array, else each loop of it that compares the array's elements or stores to them.
/// `cursor`: the function.
std::vector<HostCheck> checks_in(const ParsedSource& source, CXCursor cursor, const Syntax& body);

}  // namespace smemtune
