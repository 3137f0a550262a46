#pragma once

#include "tuner/core/space.h"

namespace smemtune {

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
