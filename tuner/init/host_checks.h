#pragma once

#include "tuner/init/syntax.h"
#include "tuner/source/kernel_file.h"

namespace smemtune {

/// Adds what a function of the host expects of the elements of arrays, each as a function that
/// stores it there: the function itself with a store in place of every comparison where it is
/// passed the array, else each loop of it that compares the array's elements or stores to them.
/// Adds the arrays that it compares as well. `cursor`: the function.
void add_checks(const ParsedSource& source, CXCursor cursor, const Syntax& body, HostPart& host);

/// Adds to the arrays that each function compares those that its callees compare, and to the calls
/// one of each check: where its function has it, or where that is called.
void follow_calls(HostPart& host);

}  // namespace smemtune
