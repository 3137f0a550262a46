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

// From the toolkit's C++ library; what NVRTC declares in std itself, such as move, goes before it.
constexpr const char* kLimits = R"(#pragma once
#include <cuda/std/limits>
namespace std { using namespace cuda::std; }
)";

constexpr const char* kTypeTraits = R"(#pragma once
#include <cuda/std/type_traits>
namespace std { using namespace cuda::std; }
)";

constexpr std::array<StandardHeader, 22> kStandardHeaders = {{{"assert.h", ""},
                                                              {"cassert", ""},
                                                              {"cfloat", kFloatLimits},
                                                              {"climits", kIntegerLimits},
                                                              {"cmath", ""},
                                                              {"cstddef", ""},
                                                              {"cstdint", kIntegerTypes},
                                                              {"cstdio", ""},
                                                              {"cstdlib", ""},
                                                              {"cstring", ""},
                                                              {"ctime", ""},
                                                              {"float.h", kFloatLimits},
                                                              {"limits", kLimits},
                                                              {"limits.h", kIntegerLimits},
                                                              {"math.h", ""},
                                                              {"stddef.h", ""},
                                                              {"stdint.h", kIntegerTypes},
                                                              {"stdio.h", ""},
                                                              {"stdlib.h", ""},
                                                              {"string.h", ""},
                                                              {"time.h", ""},
                                                              {"type_traits", kTypeTraits}}};

}  // namespace

std::span<const StandardHeader> standard_headers() { return kStandardHeaders; }

}  // namespace smemtune::cuda
