#pragma once

#include "tuner/core/kernel_binding.h"
#include "tuner/core/kernel_template.h"
#include "tuner/core/space.h"
#include "tuner/core/value.h"

#include <string_view>

// Versions of a problem, a kernel, its arguments and its source in which every floating-point type
// narrower than double is double, so that rounding can be told from error.

namespace smemtune {

/// Returns true if a double has more digits than the type.
bool is_narrow(ScalarType type);

/// Returns `double` for `float` and `__half`, `double4` for `float4`, ...; any other word
/// unchanged.
std::string_view type_in_double(std::string_view word);

Problem in_double(const Problem& problem);

/// Replaces types in the default configuration, the entries, the expressions, the symbols and the
/// values of macros. Constraints, which may name types, and static shared memory are no longer
/// declared.
KernelTemplate in_double(const KernelTemplate& kernel);

/// The argument begins with the contents that it has now, as doubles.
Argument in_double(const Argument& argument);

/// Completes `instance`, which was made from in_double()'s kernel and problem, with the arguments
/// of `narrow`, the instance that it corresponds to. Its dynamic shared memory is at least as much
/// larger than that of `narrow` as the arguments are at most.
KernelInstance in_double(KernelInstance instance, const KernelInstance& narrow);

/// Returns a kernel's source in which every floating-point type narrower than double is double:
/// `float4` becomes `double4`, `__half2float(x)` becomes `double(x)`, `__expf` becomes `exp`;
/// `0.1f` keeps its value. Lines keep their numbers. Headers of the toolkit are not touched. If the
/// source defines something both for float and for double (specializations, overloads outside
/// classes), only the definition for float is kept. The result need not compile: two members of a
/// class may have become one.
///
/// Throws InputError (FILE:LINE) where the bits or bytes of a narrow type matter: assembly, tensor
/// core fragments, `__float_as_int`, copies of a number of bytes.
KernelSource in_double(const KernelSource& source);

}  // namespace smemtune
