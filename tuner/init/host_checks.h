#pragma once

#include "tuner/init/syntax.h"
#include "tuner/source/kernel_file.h"

#include <vector>

namespace smemtune {

/// The checks in a function of the host, and the arrays that it compares.
struct HostChecks {
  std::vector<HostCheck> checks;
  ComparedArrays compared;
};

/// Returns what a function of the host expects of the elements of arrays, each as a function that
/// stores it there: the function itself with a store in place of every comparison where it is
/// passed the array, else each loop of it that compares the array's elements or stores to them.
/// `cursor`: the function.
HostChecks checks_in(const ParsedSource& source, CXCursor cursor, const Syntax& body);

}  // namespace smemtune
