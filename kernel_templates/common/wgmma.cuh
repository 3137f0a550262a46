// Products of tiles by a warpgroup (four warps) on the tensor cores of sm_90a: wgmma.mma_async.
//
//   D[64][N] += A[64][k] * B[k][N]      A and B in shared memory, 32 bytes of k (16 or 32 elements);
//                                       D in registers, fp32, int32 of integers
//
// Thread t of the warpgroup holds of D, for each 8 columns, four sums:
//
//              columns 8 j + 2 (t % 4)   + 1
//   row 16 (t / 32) + t % 32 / 4      sum[4 j]     sum[4 j + 1]
//   8 rows below                      sum[4 j + 2] sum[4 j + 3]
//
// An operand's tile lies in shared memory as TMA puts boxes of 128 bytes in x with 128-byte swizzle,
// at a multiple of 1024 bytes. x is either the depth k, or, of elements of 16 bits, the row of A or
// column of B; then boxes of 64 x 64 elements lie one behind the other.

#pragma once

#include "element_types.cuh"

namespace wgmma {

constexpr int kBoxBytes = 64 * 128;  // Of a box of 64 rows.

/// Describes an operand's tile that begins at `address`.
template <bool X_IS_DEPTH>
__device__ __forceinline__ unsigned long long describe(unsigned address) {
  // In units of 16 bytes: from 8 rows to the next 8, and from box to box where x is not the depth.
  constexpr unsigned long long k8Rows = 8 * 128 / 16;
  constexpr unsigned long long kBox = X_IS_DEPTH ? 1 : kBoxBytes / 16;
  constexpr unsigned long long kSwizzle128 = 1;
  return (address & 0x3ffffu) >> 4 | kBox << 16 | k8Rows << 32 | kSwizzle128 << 62;
}

/// What to add to a description for each product along the depth.
template <bool X_IS_DEPTH>
constexpr unsigned long long kDepthStep = (X_IS_DEPTH ? 32 : 16 * 128) / 16;

/// Before the first product, and where sums were touched by other instructions.
__device__ __forceinline__ void begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/// Closes a group of products.
__device__ __forceinline__ void commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits for all but the last LATER groups.
template <int LATER>
__device__ __forceinline__ void wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LATER) : "memory");
}

/// Keeps what is done with a sum behind the wait for its products, which the compiler cannot know.
__device__ __forceinline__ void complete(float& sum) { asm volatile("" : "+f"(sum)::"memory"); }
__device__ __forceinline__ void complete(int& sum) { asm volatile("" : "+r"(sum)::"memory"); }

// R: the constraint of the sums' registers.
#define SMEMTUNE_SUMS_FROM(R, i)                                                        \
  R(sum[i]), R(sum[i + 1]), R(sum[i + 2]), R(sum[i + 3]), R(sum[i + 4]), R(sum[i + 5]), \
      R(sum[i + 6]), R(sum[i + 7])
#define SMEMTUNE_SUMS_8(R) SMEMTUNE_SUMS_FROM(R, 0)
#define SMEMTUNE_SUMS_16(R) SMEMTUNE_SUMS_8(R), SMEMTUNE_SUMS_FROM(R, 8)
#define SMEMTUNE_SUMS_24(R) SMEMTUNE_SUMS_16(R), SMEMTUNE_SUMS_FROM(R, 16)
#define SMEMTUNE_SUMS_32(R) SMEMTUNE_SUMS_24(R), SMEMTUNE_SUMS_FROM(R, 24)
#define SMEMTUNE_SUMS_40(R) SMEMTUNE_SUMS_32(R), SMEMTUNE_SUMS_FROM(R, 32)
#define SMEMTUNE_SUMS_48(R) SMEMTUNE_SUMS_40(R), SMEMTUNE_SUMS_FROM(R, 40)
#define SMEMTUNE_SUMS_56(R) SMEMTUNE_SUMS_48(R), SMEMTUNE_SUMS_FROM(R, 48)
#define SMEMTUNE_SUMS_64(R) SMEMTUNE_SUMS_56(R), SMEMTUNE_SUMS_FROM(R, 56)
#define SMEMTUNE_SUMS_72(R) SMEMTUNE_SUMS_64(R), SMEMTUNE_SUMS_FROM(R, 64)
#define SMEMTUNE_SUMS_80(R) SMEMTUNE_SUMS_72(R), SMEMTUNE_SUMS_FROM(R, 72)
#define SMEMTUNE_SUMS_88(R) SMEMTUNE_SUMS_80(R), SMEMTUNE_SUMS_FROM(R, 80)
#define SMEMTUNE_SUMS_96(R) SMEMTUNE_SUMS_88(R), SMEMTUNE_SUMS_FROM(R, 88)
#define SMEMTUNE_SUMS_104(R) SMEMTUNE_SUMS_96(R), SMEMTUNE_SUMS_FROM(R, 96)
#define SMEMTUNE_SUMS_112(R) SMEMTUNE_SUMS_104(R), SMEMTUNE_SUMS_FROM(R, 104)
#define SMEMTUNE_SUMS_120(R) SMEMTUNE_SUMS_112(R), SMEMTUNE_SUMS_FROM(R, 112)
#define SMEMTUNE_SUMS_128(R) SMEMTUNE_SUMS_120(R), SMEMTUNE_SUMS_FROM(R, 120)

#define SMEMTUNE_NAMES_8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define SMEMTUNE_NAMES_16 SMEMTUNE_NAMES_8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define SMEMTUNE_NAMES_24 SMEMTUNE_NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define SMEMTUNE_NAMES_32 SMEMTUNE_NAMES_24 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define SMEMTUNE_NAMES_40 SMEMTUNE_NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define SMEMTUNE_NAMES_48 SMEMTUNE_NAMES_40 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define SMEMTUNE_NAMES_56 SMEMTUNE_NAMES_48 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define SMEMTUNE_NAMES_64 SMEMTUNE_NAMES_56 ",%56,%57,%58,%59,%60,%61,%62,%63"
#define SMEMTUNE_NAMES_72 SMEMTUNE_NAMES_64 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define SMEMTUNE_NAMES_80 SMEMTUNE_NAMES_72 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define SMEMTUNE_NAMES_88 SMEMTUNE_NAMES_80 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define SMEMTUNE_NAMES_96 SMEMTUNE_NAMES_88 ",%88,%89,%90,%91,%92,%93,%94,%95"
#define SMEMTUNE_NAMES_104 SMEMTUNE_NAMES_96 ",%96,%97,%98,%99,%100,%101,%102,%103"
#define SMEMTUNE_NAMES_112 SMEMTUNE_NAMES_104 ",%104,%105,%106,%107,%108,%109,%110,%111"
#define SMEMTUNE_NAMES_120 SMEMTUNE_NAMES_112 ",%112,%113,%114,%115,%116,%117,%118,%119"
#define SMEMTUNE_NAMES_128 SMEMTUNE_NAMES_120 ",%120,%121,%122,%123,%124,%125,%126,%127"

// TYPES: depth and types of a product. OPTIONS: what stands behind `add`, where XA and XB say whether
// x of an operand is not the depth.
#define SMEMTUNE_WGMMA(N_, TYPES, OPTIONS, NAMES, D, ADD, XA, XB, ...)          \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " ADD                      \
               ", 0;\n"                                                         \
               "wgmma.mma_async.sync.aligned.m64n" #N_ TYPES " {" NAMES "}, " D \
               ", add" OPTIONS(XA, XB) ";\n}"                                   \
               : __VA_ARGS__                                                    \
               : "l"(a), "l"(b), "r"(add), "n"(A_X_IS_DEPTH ? 0 : 1), "n"(B_X_IS_DEPTH ? 0 : 1))
#define SMEMTUNE_SIGNS_AND_LAYOUTS(XA, XB) ", 1, 1, " XA ", " XB
#define SMEMTUNE_SIGNS(XA, XB) ", 1, 1"
#define SMEMTUNE_NO_OPTIONS(XA, XB)

// The operands behind the sums are numbered from N / 2 on.
#define SMEMTUNE_WGMMA_ALL(TYPES, OPTIONS, R)                                                     \
  if constexpr (N == 16) {                                                                        \
    SMEMTUNE_WGMMA(16, TYPES, OPTIONS, SMEMTUNE_NAMES_8, "%8, %9", "%10", "%11", "%12",           \
                   SMEMTUNE_SUMS_8(R));                                                           \
  } else if constexpr (N == 32) {                                                                 \
    SMEMTUNE_WGMMA(32, TYPES, OPTIONS, SMEMTUNE_NAMES_16, "%16, %17", "%18", "%19", "%20",        \
                   SMEMTUNE_SUMS_16(R));                                                          \
  } else if constexpr (N == 48) {                                                                 \
    SMEMTUNE_WGMMA(48, TYPES, OPTIONS, SMEMTUNE_NAMES_24, "%24, %25", "%26", "%27", "%28",        \
                   SMEMTUNE_SUMS_24(R));                                                          \
  } else if constexpr (N == 64) {                                                                 \
    SMEMTUNE_WGMMA(64, TYPES, OPTIONS, SMEMTUNE_NAMES_32, "%32, %33", "%34", "%35", "%36",        \
                   SMEMTUNE_SUMS_32(R));                                                          \
  } else if constexpr (N == 80) {                                                                 \
    SMEMTUNE_WGMMA(80, TYPES, OPTIONS, SMEMTUNE_NAMES_40, "%40, %41", "%42", "%43", "%44",        \
                   SMEMTUNE_SUMS_40(R));                                                          \
  } else if constexpr (N == 96) {                                                                 \
    SMEMTUNE_WGMMA(96, TYPES, OPTIONS, SMEMTUNE_NAMES_48, "%48, %49", "%50", "%51", "%52",        \
                   SMEMTUNE_SUMS_48(R));                                                          \
  } else if constexpr (N == 112) {                                                                \
    SMEMTUNE_WGMMA(112, TYPES, OPTIONS, SMEMTUNE_NAMES_56, "%56, %57", "%58", "%59", "%60",       \
                   SMEMTUNE_SUMS_56(R));                                                          \
  } else if constexpr (N == 128) {                                                                \
    SMEMTUNE_WGMMA(128, TYPES, OPTIONS, SMEMTUNE_NAMES_64, "%64, %65", "%66", "%67", "%68",       \
                   SMEMTUNE_SUMS_64(R));                                                          \
  } else if constexpr (N == 144) {                                                                \
    SMEMTUNE_WGMMA(144, TYPES, OPTIONS, SMEMTUNE_NAMES_72, "%72, %73", "%74", "%75", "%76",       \
                   SMEMTUNE_SUMS_72(R));                                                          \
  } else if constexpr (N == 160) {                                                                \
    SMEMTUNE_WGMMA(160, TYPES, OPTIONS, SMEMTUNE_NAMES_80, "%80, %81", "%82", "%83", "%84",       \
                   SMEMTUNE_SUMS_80(R));                                                          \
  } else if constexpr (N == 176) {                                                                \
    SMEMTUNE_WGMMA(176, TYPES, OPTIONS, SMEMTUNE_NAMES_88, "%88, %89", "%90", "%91", "%92",       \
                   SMEMTUNE_SUMS_88(R));                                                          \
  } else if constexpr (N == 192) {                                                                \
    SMEMTUNE_WGMMA(192, TYPES, OPTIONS, SMEMTUNE_NAMES_96, "%96, %97", "%98", "%99", "%100",      \
                   SMEMTUNE_SUMS_96(R));                                                          \
  } else if constexpr (N == 208) {                                                                \
    SMEMTUNE_WGMMA(208, TYPES, OPTIONS, SMEMTUNE_NAMES_104, "%104, %105", "%106", "%107", "%108", \
                   SMEMTUNE_SUMS_104(R));                                                         \
  } else if constexpr (N == 224) {                                                                \
    SMEMTUNE_WGMMA(224, TYPES, OPTIONS, SMEMTUNE_NAMES_112, "%112, %113", "%114", "%115", "%116", \
                   SMEMTUNE_SUMS_112(R));                                                         \
  } else if constexpr (N == 240) {                                                                \
    SMEMTUNE_WGMMA(240, TYPES, OPTIONS, SMEMTUNE_NAMES_120, "%120, %121", "%122", "%123", "%124", \
                   SMEMTUNE_SUMS_120(R));                                                         \
  } else {                                                                                        \
    static_assert(N == 256,                                                                       \
                  "the products that are written down here have 16 to 256 columns, by 16");       \
    SMEMTUNE_WGMMA(256, TYPES, OPTIONS, SMEMTUNE_NAMES_128, "%128, %129", "%130", "%131", "%132", \
                   SMEMTUNE_SUMS_128(R));                                                         \
  }

/// Starts one product. With `add` 0 the sums begin with it. T is __half, __nv_bfloat16,
/// __nv_fp8_e4m3 or signed char; of 8 bits, x is the depth in both operands.
template <typename T, int N, bool A_X_IS_DEPTH, bool B_X_IS_DEPTH>
__device__ __forceinline__ void multiply(typename SumOf<T>::Type* sum, unsigned long long a,
                                         unsigned long long b, int add) {
  static_assert(sizeof(T) == 2 || (A_X_IS_DEPTH && B_X_IS_DEPTH), "bytes lie along the depth");
  if constexpr (is_same<T, __half>) {
    SMEMTUNE_WGMMA_ALL("k16.f32.f16.f16", SMEMTUNE_SIGNS_AND_LAYOUTS, "+f")
  } else if constexpr (is_same<T, __nv_bfloat16>) {
    SMEMTUNE_WGMMA_ALL("k16.f32.bf16.bf16", SMEMTUNE_SIGNS_AND_LAYOUTS, "+f")
  } else if constexpr (is_same<T, __nv_fp8_e4m3>) {
    SMEMTUNE_WGMMA_ALL("k32.f32.e4m3.e4m3", SMEMTUNE_SIGNS, "+f")
  } else {
    SMEMTUNE_WGMMA_ALL("k32.s32.s8.s8", SMEMTUNE_NO_OPTIONS, "+r")
  }
}

#undef SMEMTUNE_WGMMA_ALL
#undef SMEMTUNE_NO_OPTIONS
#undef SMEMTUNE_SIGNS
#undef SMEMTUNE_SIGNS_AND_LAYOUTS
#undef SMEMTUNE_WGMMA

}  // namespace wgmma
