#pragma once

#include "tuner/core/kernel_binding.h"
#include "tuner/core/kernel_template.h"
#include "tuner/core/space.h"
#include "tuner/core/value.h"

#include <string_view>

// A problem, a kernel, its arguments and its source with every floating type narrower than double
// made double, so that rounding can be told from error.

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

/// A kernel's source in which every floating type narrower than double is double: `float4` becomes
/// `double4`, `__half2float(x)` becomes `double(x)`, `__expf` becomes `exp`; `0.1f` keeps its
/// value. Lines keep their numbers. Headers of the toolkit are not touched. What the source has for
/// float and for double (specializations, overloads outside classes) is left as that of float. The
/// result need not compile: two members of a class may have become one.
///
/// Throws InputError (FILE:LINE) where a narrow type's bits or bytes are meant: assembly, tensor
/// core fragments, `__float_as_int`, copies of so many bytes.
KernelSource in_double(const KernelSource& source);

}  // namespace smemtune
