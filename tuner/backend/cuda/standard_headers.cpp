#include "tuner/backend/cuda/standard_headers.h"

#include <array>

namespace smemtune::cuda {
namespace {

constexpr const char* kIntegerTypes = R"(#pragma once
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
#define INT8_MAX 127
#define INT8_MIN (-128)
#define UINT8_MAX 255
#define INT16_MAX 32767
#define INT16_MIN (-32768)
#define UINT16_MAX 65535
#define INT32_MAX 2147483647
#define INT32_MIN (-2147483647 - 1)
#define UINT32_MAX 4294967295u
#define INT64_MAX 9223372036854775807ll
#define INT64_MIN (-9223372036854775807ll - 1)
#define UINT64_MAX 18446744073709551615ull
namespace std {
using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t;
using ::int32_t; using ::uint32_t; using ::int64_t; using ::uint64_t;
using ::intptr_t; using ::uintptr_t;
}
)";

constexpr const char* kIntegerLimits = R"(#pragma once
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define CHAR_MAX 127
#define CHAR_MIN (-128)
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LONG_MAX __LONG_MAX__
#define LONG_MIN (-__LONG_MAX__ - 1)
#define ULONG_MAX (__LONG_MAX__ * 2ul + 1)
#define LLONG_MAX 9223372036854775807ll
#define LLONG_MIN (-9223372036854775807ll - 1)
#define ULLONG_MAX 18446744073709551615ull
)";

constexpr const char* kFloatLimits = R"(#pragma once
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_EPSILON 1.19209290e-7f
#define FLT_MIN 1.17549435e-38f
#define FLT_MAX 3.40282347e+38f
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
)";

constexpr const char* kMathematics = R"(#pragma once
namespace smemtune_std {
template <class T> struct DoubleOfWhole {};
template <> struct DoubleOfWhole<char> { typedef double type; };
template <> struct DoubleOfWhole<signed char> { typedef double type; };
template <> struct DoubleOfWhole<unsigned char> { typedef double type; };
template <> struct DoubleOfWhole<short> { typedef double type; };
template <> struct DoubleOfWhole<unsigned short> { typedef double type; };
template <> struct DoubleOfWhole<int> { typedef double type; };
template <> struct DoubleOfWhole<unsigned> { typedef double type; };
template <> struct DoubleOfWhole<long> { typedef double type; };
template <> struct DoubleOfWhole<unsigned long> { typedef double type; };
template <> struct DoubleOfWhole<long long> { typedef double type; };
template <> struct DoubleOfWhole<unsigned long long> { typedef double type; };
}
namespace std {
#define SMEMTUNE_STD(name) using ::name; using ::name##f;
#define SMEMTUNE_STD1(name) SMEMTUNE_STD(name) template <class T> __device__ inline typename smemtune_std::DoubleOfWhole<T>::type name(T x) { return ::name(static_cast<double>(x)); }
SMEMTUNE_STD1(acos) SMEMTUNE_STD1(acosh) SMEMTUNE_STD1(asin) SMEMTUNE_STD1(asinh)
SMEMTUNE_STD1(atan) SMEMTUNE_STD1(atanh) SMEMTUNE_STD1(cbrt) SMEMTUNE_STD1(ceil)
SMEMTUNE_STD1(cos) SMEMTUNE_STD1(cosh) SMEMTUNE_STD1(erf) SMEMTUNE_STD1(erfc)
SMEMTUNE_STD1(exp) SMEMTUNE_STD1(exp2) SMEMTUNE_STD1(expm1) SMEMTUNE_STD1(fabs)
SMEMTUNE_STD1(floor) SMEMTUNE_STD1(lgamma) SMEMTUNE_STD1(log) SMEMTUNE_STD1(log10)
SMEMTUNE_STD1(log1p) SMEMTUNE_STD1(log2) SMEMTUNE_STD1(logb) SMEMTUNE_STD1(nearbyint)
SMEMTUNE_STD1(rint) SMEMTUNE_STD1(round) SMEMTUNE_STD1(sin) SMEMTUNE_STD1(sinh)
SMEMTUNE_STD1(sqrt) SMEMTUNE_STD1(tan) SMEMTUNE_STD1(tanh) SMEMTUNE_STD1(tgamma)
SMEMTUNE_STD1(trunc)
SMEMTUNE_STD(atan2) SMEMTUNE_STD(copysign) SMEMTUNE_STD(fdim) SMEMTUNE_STD(fma)
SMEMTUNE_STD(fmax) SMEMTUNE_STD(fmin) SMEMTUNE_STD(fmod) SMEMTUNE_STD(frexp)
SMEMTUNE_STD(hypot) SMEMTUNE_STD(ilogb) SMEMTUNE_STD(ldexp) SMEMTUNE_STD(llrint)
SMEMTUNE_STD(llround) SMEMTUNE_STD(lrint) SMEMTUNE_STD(lround) SMEMTUNE_STD(modf)
SMEMTUNE_STD(nan) SMEMTUNE_STD(nextafter) SMEMTUNE_STD(pow) SMEMTUNE_STD(remainder)
SMEMTUNE_STD(remquo) SMEMTUNE_STD(scalbln) SMEMTUNE_STD(scalbn)
#undef SMEMTUNE_STD1
#undef SMEMTUNE_STD
using ::abs; using ::isnan; using ::isinf; using ::isfinite; using ::signbit;
}
)";

constexpr const char* kDefinitions = R"(#pragma once
typedef long ptrdiff_t;
namespace std {
using ::size_t; using ::ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
}
)";

constexpr const char* kLibrary = R"(#pragma once
namespace std { using ::size_t; using ::abs; using ::labs; using ::llabs; }
)";

constexpr const char* kStrings = R"(#pragma once
namespace std { using ::size_t; using ::memcpy; using ::memset; }
)";

// libcu++ of toolkit 13 has no such header.
constexpr const char* kAlgorithms = R"(#pragma once
namespace std {
template <class T> __device__ constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> __device__ constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> __device__ constexpr const T& clamp(const T& x, const T& low, const T& high) { return x < low ? low : high < x ? high : x; }
template <class T, class U> __device__ constexpr void fill(T first, T last, const U& x) { for (; first != last; ++first) *first = x; }
template <class T, class U> __device__ constexpr U copy(T first, T last, U to) { for (; first != last; ++first, ++to) *to = *first; return to; }
}
)";

// A header that brings names from the toolkit's C++ library into std; names that NVRTC declares in
// std itself, such as move, take precedence.
#define SMEMTUNE_FROM_LIBRARY(name) \
  "#pragma once\n#include <cuda/std/" name ">\nnamespace std { using namespace cuda::std; }\n"

/// Returns a header that the toolkit's C++ library has under the same name.
constexpr StandardHeader of_library(const char* name, const char* text) {
  return {.name = name, .text = text, .only_where_named = true};
}

constexpr auto kStandardHeaders = std::to_array<StandardHeader>({
    {"assert.h", ""},
    {"cassert", ""},
    {"cfloat", kFloatLimits},
    {"climits", kIntegerLimits},
    {"cmath", kMathematics},
    {"cstddef", kDefinitions},
    {"cstdint", kIntegerTypes},
    {"cstdio", ""},
    {"cstdlib", kLibrary},
    {"cstring", kStrings},
    {"ctime", ""},
    {"float.h", kFloatLimits},
    {"limits", SMEMTUNE_FROM_LIBRARY("limits")},
    {"limits.h", kIntegerLimits},
    {"math.h", ""},
    {"new", ""},
    {"stddef.h", ""},
    {"stdint.h", kIntegerTypes},
    {"stdio.h", ""},
    {"stdlib.h", ""},
    {"string.h", ""},
    {"time.h", ""},
    {"type_traits", SMEMTUNE_FROM_LIBRARY("type_traits")},
    of_library("algorithm", kAlgorithms),
    of_library("array", SMEMTUNE_FROM_LIBRARY("array")),
    of_library("atomic", SMEMTUNE_FROM_LIBRARY("atomic")),
    of_library("bit", SMEMTUNE_FROM_LIBRARY("bit")),
    of_library("complex", SMEMTUNE_FROM_LIBRARY("complex")),
    of_library("concepts", SMEMTUNE_FROM_LIBRARY("concepts")),
    of_library("functional", SMEMTUNE_FROM_LIBRARY("functional")),
    of_library("initializer_list", SMEMTUNE_FROM_LIBRARY("initializer_list")),
    of_library("iterator", SMEMTUNE_FROM_LIBRARY("iterator")),
    of_library("numbers", SMEMTUNE_FROM_LIBRARY("numbers")),
    of_library("numeric", SMEMTUNE_FROM_LIBRARY("numeric")),
    of_library("optional", SMEMTUNE_FROM_LIBRARY("optional")),
    of_library("ratio", SMEMTUNE_FROM_LIBRARY("ratio")),
    of_library("span", SMEMTUNE_FROM_LIBRARY("span")),
    of_library("tuple", SMEMTUNE_FROM_LIBRARY("tuple")),
    of_library("utility", SMEMTUNE_FROM_LIBRARY("utility")),
    of_library("variant", SMEMTUNE_FROM_LIBRARY("variant")),
});
#undef SMEMTUNE_FROM_LIBRARY

}  // namespace

std::span<const StandardHeader> standard_headers() { return kStandardHeaders; }

}  // namespace smemtune::cuda
