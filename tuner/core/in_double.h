#pragma once

#include "tuner/core/bound_kernel.h"
#include "tuner/core/kernel_template.h"
#include "tuner/core/value.h"

#include <string>
#include <string_view>

// A problem, a kernel and its arguments with every floating type narrower than double made double,
// so that rounding can be told from error. The source is turned by config/double_source.h.

namespace smemtune {

/// Whether a double holds more digits.
bool is_narrow(ScalarType type);

/// `double` for `float` and `__half`, `double4` for `float4`, ...; any other word as it is.
std::string_view type_in_double(std::string_view word);

Problem in_double(const Problem& problem);

/// Types in the default configuration, the entries, the expressions, the symbols and the values of
/// macros. Constraints, which may name types, and static shared memory are not declared any more.
KernelTemplate in_double(const KernelTemplate& kernel);

/// Begins with the contents that it has now, as doubles.
Argument in_double(const Argument& argument);

/// `instance` made of in_double()'s kernel and problem, with the arguments of `narrow`, which it
/// was made from. Dynamic shared memory is at least as much larger as arguments are at most.
KernelInstance in_double(KernelInstance instance, const KernelInstance& narrow);

}  // namespace smemtune
