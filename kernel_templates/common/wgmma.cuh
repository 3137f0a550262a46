// Products of tiles by a warpgroup (four warps) on the tensor cores of sm_90a: wgmma.mma_async.
//
//   D[64][N] += A[64][16] * B[16][N]      A and B in shared memory, D in registers, fp32
//
// Thread t of the warpgroup holds of D, for each 8 columns, four sums:
//
//              columns 8 j + 2 (t % 4)   + 1
//   row 16 (t / 32) + t % 32 / 4      sum[4 j]     sum[4 j + 1]
//   8 rows below                      sum[4 j + 2] sum[4 j + 3]
//
// An operand's tile lies in shared memory as TMA puts boxes of 64 elements (128 bytes) in x with
// 128-byte swizzle, at a multiple of 1024 bytes. x is either the depth k, or the row of A or column
// of B; then boxes of 64 x 64 elements lie one behind the other.

#pragma once

#include "half_types.cuh"

namespace wgmma {

constexpr int kBoxWidth = 64;                  // Elements, in x.
constexpr int kBoxBytes = kBoxWidth * 64 * 2;  // Of a box of 64 rows.

/// Describes an operand's tile that begins at `address`.
template <bool X_IS_DEPTH>
__device__ __forceinline__ unsigned long long describe(unsigned address) {
  // In units of 16 bytes: from 8 rows to the next 8, and from box to box where x is not the depth.
  constexpr unsigned long long k8Rows = 8 * 128 / 16;
  constexpr unsigned long long kBox = X_IS_DEPTH ? 1 : kBoxBytes / 16;
  constexpr unsigned long long kSwizzle128 = 1;
  return (address & 0x3ffffu) >> 4 | kBox << 16 | k8Rows << 32 | kSwizzle128 << 62;
}

/// What to add to a description for each step of 16 along the depth.
template <bool X_IS_DEPTH>
constexpr unsigned long long kDepthStep = (X_IS_DEPTH ? 16 * 2 : 16 * 128) / 16;

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

#define SMEMTUNE_SUMS_8(i)                                                              \
  "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), "+f"(sum[i + 4]), \
      "+f"(sum[i + 5]), "+f"(sum[i + 6]), "+f"(sum[i + 7])
#define SMEMTUNE_SUMS_16(i) SMEMTUNE_SUMS_8(i), SMEMTUNE_SUMS_8(i + 8)
#define SMEMTUNE_SUMS_32(i) SMEMTUNE_SUMS_16(i), SMEMTUNE_SUMS_16(i + 16)
#define SMEMTUNE_SUMS_64(i) SMEMTUNE_SUMS_32(i), SMEMTUNE_SUMS_32(i + 32)

#define SMEMTUNE_NAMES_8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define SMEMTUNE_NAMES_16 SMEMTUNE_NAMES_8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define SMEMTUNE_NAMES_32 \
  SMEMTUNE_NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define SMEMTUNE_NAMES_48 \
  SMEMTUNE_NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define SMEMTUNE_NAMES_64 \
  SMEMTUNE_NAMES_48 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define SMEMTUNE_NAMES_80 \
  SMEMTUNE_NAMES_64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define SMEMTUNE_NAMES_96 \
  SMEMTUNE_NAMES_80 ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define SMEMTUNE_NAMES_112 \
  SMEMTUNE_NAMES_96 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111"
#define SMEMTUNE_NAMES_128 \
  SMEMTUNE_NAMES_112       \
  ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

#define SMEMTUNE_WGMMA(N_, TYPE, NAMES, D, ADD, XA, XB, ...)                                       \
  asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " ADD                                         \
               ", 0;\n"                                                                            \
               "wgmma.mma_async.sync.aligned.m64n" #N_ "k16.f32." TYPE "." TYPE " {" NAMES "}, " D \
               ", add, 1, 1, " XA ", " XB ";\n}"                                                   \
               : __VA_ARGS__                                                                       \
               : "l"(a), "l"(b), "r"(add), "n"(A_X_IS_DEPTH ? 0 : 1), "n"(B_X_IS_DEPTH ? 0 : 1))

// The operands behind the sums are numbered from N / 2 on.
#define SMEMTUNE_WGMMA_ALL(TYPE)                                                                   \
  if constexpr (N == 16) {                                                                         \
    SMEMTUNE_WGMMA(16, TYPE, SMEMTUNE_NAMES_8, "%8, %9", "%10", "%11", "%12", SMEMTUNE_SUMS_8(0)); \
  } else if constexpr (N == 32) {                                                                  \
    SMEMTUNE_WGMMA(32, TYPE, SMEMTUNE_NAMES_16, "%16, %17", "%18", "%19", "%20",                   \
                   SMEMTUNE_SUMS_16(0));                                                           \
  } else if constexpr (N == 64) {                                                                  \
    SMEMTUNE_WGMMA(64, TYPE, SMEMTUNE_NAMES_32, "%32, %33", "%34", "%35", "%36",                   \
                   SMEMTUNE_SUMS_32(0));                                                           \
  } else if constexpr (N == 96) {                                                                  \
    SMEMTUNE_WGMMA(96, TYPE, SMEMTUNE_NAMES_48, "%48, %49", "%50", "%51", "%52",                   \
                   SMEMTUNE_SUMS_32(0), SMEMTUNE_SUMS_16(32));                                     \
  } else if constexpr (N == 128) {                                                                 \
    SMEMTUNE_WGMMA(128, TYPE, SMEMTUNE_NAMES_64, "%64, %65", "%66", "%67", "%68",                  \
                   SMEMTUNE_SUMS_64(0));                                                           \
  } else if constexpr (N == 160) {                                                                 \
    SMEMTUNE_WGMMA(160, TYPE, SMEMTUNE_NAMES_80, "%80, %81", "%82", "%83", "%84",                  \
                   SMEMTUNE_SUMS_64(0), SMEMTUNE_SUMS_16(64));                                     \
  } else if constexpr (N == 192) {                                                                 \
    SMEMTUNE_WGMMA(192, TYPE, SMEMTUNE_NAMES_96, "%96, %97", "%98", "%99", "%100",                 \
                   SMEMTUNE_SUMS_64(0), SMEMTUNE_SUMS_32(64));                                     \
  } else if constexpr (N == 224) {                                                                 \
    SMEMTUNE_WGMMA(224, TYPE, SMEMTUNE_NAMES_112, "%112, %113", "%114", "%115", "%116",            \
                   SMEMTUNE_SUMS_64(0), SMEMTUNE_SUMS_32(64), SMEMTUNE_SUMS_16(96));               \
  } else {                                                                                         \
    static_assert(N == 256,                                                                        \
                  "the products that are written down here have 16, or 32 to 256 by 32,"           \
                  " columns");                                                                     \
    SMEMTUNE_WGMMA(256, TYPE, SMEMTUNE_NAMES_128, "%128, %129", "%130", "%131", "%132",            \
                   SMEMTUNE_SUMS_64(0), SMEMTUNE_SUMS_64(64));                                     \
  }

/// Starts one product. With `add` 0 the sums begin with it. T is __half or __nv_bfloat16.
template <typename T, int N, bool A_X_IS_DEPTH, bool B_X_IS_DEPTH>
__device__ __forceinline__ void multiply(float* sum, unsigned long long a, unsigned long long b,
                                         int add) {
  if constexpr (is_half<T>) {
    SMEMTUNE_WGMMA_ALL("f16")
  } else {
    SMEMTUNE_WGMMA_ALL("bf16")
  }
}

#undef SMEMTUNE_WGMMA_ALL
#undef SMEMTUNE_WGMMA

}  // namespace wgmma
