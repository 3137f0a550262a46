#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace smemtune {

/// An expression of device code and its value according to CUDA's documentation. Tests compute each
/// case on the CPU device and on a GPU.
struct IntrinsicCase {
  const char* expression = "";
  double value = 0;
  double relative = 0;  ///< Largest relative error that is allowed; 0: exact.
};

inline constexpr double kDoubleNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kDoubleInfinity = std::numeric_limits<double>::infinity();

inline constexpr auto kIntrinsicCases = std::to_array<IntrinsicCase>({
    // Integers.
    {"umin(3u, 0xffffffffu)", 3},
    {"umax(3u, 0xffffffffu)", 4294967295.0},
    {"llmin(-5ll, 4ll)", -5},
    {"llmax(-5ll, 4ll)", 4},
    {"ullmin(1ull << 40, 7ull)", 7},
    {"ullmax(1ull << 40, 7ull)", 1099511627776.0},
    {"__sad(-5, 7, 1u)", 13},
    {"__usad(5u, 0xffffffffu, 2u)", 4294967292.0},
    {"__hadd(-3, 2)", -1},
    {"__rhadd(-3, 2)", 0},
    {"__uhadd(0xffffffffu, 0xffffffffu)", 4294967295.0},
    {"__urhadd(1u, 2u)", 2},
    {"__mul24(-3, 5)", -15},
    {"__umulhi(0x80000000u, 6u)", 3},
    {"__mul64hi(-1ll, 2ll)", -1},
    {"__umul64hi(1ull << 63, 6ull)", 3},
    {"__brevll(1ull) == 1ull << 63", 1},
    {"__funnelshift_lc(1u, 2u, 40u)", 1},
    {"__funnelshift_rc(1u, 2u, 40u)", 2},
    {"__funnelshift_lc(0x80000000u, 1u, 1u)", 3},
    {"__fns(0x00f0u, 0u, 2)", 5},
    {"__fns(0x00f0u, 31u, -1)", 7},
    {"__fns(0x00f0u, 4u, 0)", 4},
    {"__fns(0x00f0u, 3u, 0)", 4294967295.0},
    {"__dp4a(0x01020304u, 0x01010101u, 5u)", 15},
    {"__dp4a(0x010203ff, 0x01010101, 5)", 10},
    {"__dp2a_lo(0x0002ffff, 0x09090403, 1)", 6},
    {"__dp2a_hi(0x0002ffff, 0x04030909, 1)", 6},
    {"__dp2a_lo(0x0002ffffu, 0x09090403u, 1u)", 196614},
    // Two halves or four bytes at a time.
    {"__vadd4(0xff010203u, 0x01010101u)", 0x00020304},
    {"__vadd2(0xffff0001u, 0x00010001u)", 0x00000002},
    {"__vsub4(0x00050505u, 0x01010101u)", 4278453252.0},
    {"__vaddus4(0xff010203u, 0x01010101u)", 4278321924.0},
    {"__vaddss4(0x7f800000u, 0x01ff0000u)", 0x7f800000},
    {"__vsubus2(0x00010005u, 0x00020001u)", 4},
    {"__vsubss2(0x80000000u, 0x00010000u)", 2147483648.0},
    {"__vabs4(0x80ff0102u)", 2147549442.0},
    {"__vabsss4(0x80ff0102u)", 0x7f010102},
    {"__vneg2(0x80000001u)", 2147549183.0},
    {"__vnegss2(0x80000001u)", 0x7fffffff},
    {"__vabsdiffs4(0x80000000u, 0x7f010000u)", 4278255616.0},
    {"__vabsdiffu4(0x80000000u, 0x7f010000u)", 0x01010000},
    {"__vsads4(0x80000000u, 0x7f010000u)", 256},
    {"__vsadu2(0x00010005u, 0x00040001u)", 7},
    {"__vavgs4(0xff000102u, 0x00000203u)", 4278190595.0},
    {"__vavgu4(0xff000102u, 0x00000203u)", 2147484163.0},
    {"__vhaddu4(0xff000102u, 0x00000203u)", 0x7f000102},
    {"__vmaxs4(0xff010203u, 0x00000404u)", 0x00010404},
    {"__vmaxu4(0xff010203u, 0x00000404u)", 4278256644.0},
    {"__vmins2(0xffff0003u, 0x00000004u)", 4294901763.0},
    {"__vminu2(0xffff0003u, 0x00000004u)", 3},
    {"__vcmpeq4(0x01020304u, 0x01000300u)", 4278255360.0},
    {"__vcmpgts4(0xff010203u, 0x00000404u)", 0x00ff0000},
    {"__vcmpgtu4(0xff010203u, 0x00000404u)", 4294901760.0},
    {"__vsetles2(0xffff0003u, 0x00000004u)", 0x00010001},
    {"__vsetltu2(0xffff0003u, 0x00000004u)", 1},
    {"__vsetne4(0x01020304u, 0x01000300u)", 0x00010001},
    // Dynamic programming.
    {"__viaddmax_s32(1, 2, 5)", 5},
    {"__viaddmax_s32_relu(-9, 2, -5)", 0},
    {"__viaddmin_u32(0xffffffffu, 2u, 5u)", 1},
    {"__vimax3_u32(1u, 0xffffffffu, 5u)", 4294967295.0},
    {"__vimin3_s32(1, -7, 5)", -7},
    {"__vimax_s32_relu(-1, -2)", 0},
    {"__viaddmax_s16x2(0x7fff0001u, 0x00010001u, 0x00000001u)", 2},
    {"__viaddmax_u16x2(0x7fff0001u, 0x00010001u, 0x00000001u)", 2147483650.0},
    {"__vimax3_s16x2(0xffff0001u, 0x00000002u, 0x00010000u)", 0x00010002},
    {"__vimin_s16x2_relu(0xffff0004u, 0x00010002u)", 2},
    // Conversions.
    {"__float2uint_rn(2.5f)", 2},
    {"__float2uint_rn(-3.0f)", 0},
    {"__float2uint_ru(2.1f)", 3},
    {"__double2uint_rz(3.9)", 3},
    {"__double2uint_rz(1e20)", 4294967295.0},
    {"__float2int_rz(-3e9f)", -2147483648.0},
    {"__float2int_rd(-0.5f)", -1},
    {"__float2int_rn(__int_as_float(0x7fc00000))", 0},
    {"__double2int_ru(-0.5)", 0},
    {"__float2ll_rn(1e10f)", 1e10},
    {"__double2ull_rz(1.8446744073709552e19) == 0xffffffffffffffffull", 1},
    {"__int2float_rd(16777217)", 16777216},
    {"__int2float_ru(16777217)", 16777218},
    {"__uint2float_rz(0xffffffffu)", 4294967040.0},
    {"__ll2double_rd((1ll << 53) + 1)", 9007199254740992.0},
    {"__ll2double_ru((1ll << 53) + 1)", 9007199254740994.0},
    {"__ull2float_ru(0xffffffffffffffffull)", 18446744073709551616.0},
    {"__double2float_rd(0.1)", 0.0999999940395355224609375},
    {"__double2float_ru(0.1)", 0.100000001490116119384765625},
    {"__double2float_rz(1e300)", 3.4028234663852886e38},
    {"__double2hiint(1.0)", 0x3ff00000},
    {"__double2loint(__hiloint2double(0x3ff00000, 7))", 7},
    // Directions of rounding.
    {"__fadd_rd(1.0f, 1e-10f)", 1},
    {"__fadd_ru(1.0f, 1e-10f)", 1.00000011920928955078125},
    {"__fadd_rz(-1.0f, 1e-10f)", -0.999999940395355224609375},
    {"__fsub_rd(1.0f, 1e-10f)", 0.999999940395355224609375},
    {"1.0f / __fadd_rd(1.0f, -1.0f)", -kDoubleInfinity},
    {"__fmul_ru(1.00000011920928955078125f, 1.00000011920928955078125f)",
     1.000000357627868652343750},
    {"__fmul_rz(3e38f, 10.0f)", 3.4028234663852886e38},
    {"__fmul_ru(3e38f, 10.0f)", kDoubleInfinity},
    {"__fdiv_rd(1.0f, 3.0f)", 0.333333313465118408203125},
    {"__fdiv_ru(1.0f, 3.0f)", 0.3333333432674407958984375},
    {"__frcp_rz(-3.0f)", -0.333333313465118408203125},
    {"__fsqrt_rd(2.0f)", 1.41421353816986083984375},
    {"__fsqrt_ru(2.0f)", 1.414213657379150390625},
    {"__fmaf_ru(1.0f, 1.0f, 1e-10f)", 1.00000011920928955078125},
    {"__dadd_ru(1.0, 1e-20)", 1.0000000000000002},
    {"__ddiv_rd(1.0, 3.0)", 0.33333333333333331},
    {"__ddiv_ru(1.0, 3.0)", 0.33333333333333337},
    {"__dmul_rd(0.1, 0.1)", 0.01},
    {"__dsqrt_ru(2.0)", 1.4142135623730951},
    {"__fma_rd(1.0, 1.0, -1e-20)", 0.99999999999999989},
    // Mathematics.
    {"exp10f(2.0f)", 100, 1e-6},
    {"exp10(-3.0)", 1e-3, 1e-14},
    {"normcdff(0.0f)", 0.5, 1e-6},
    {"normcdf(1.96)", 0.9750021048517795, 1e-13},
    {"normcdfinv(0.975)", 1.9599639845400545, 1e-13},
    {"erfcinvf(0.5f)", 0.47693627620446987, 1e-6},
    {"erfcinv(1e-200)", 21.374783049026256, 1e-13},
    {"erfinv(0.3)", 0.27246271472675435, 1e-13},
    {"erfinv(-1.0)", -kDoubleInfinity},
    {"erfcx(30.0)", 0.018795888861416751, 1e-13},
    {"sinpif(0.5f)", 1},
    {"sinpi(3.0)", 0},
    {"sinpi(0.25)", 0.70710678118654752, 1e-15},
    {"cospi(1.0)", -1},
    {"cospif(0.5f)", 0},
    {"fdividef(6.0f, 3.0f)", 2, 1e-6},
    {"rcbrt(8.0)", 0.5, 1e-14},
    {"rhypot(3.0, 4.0)", 0.2, 1e-14},
    {"norm3df(2.0f, 3.0f, 6.0f)", 7, 1e-6},
    {"rnorm4d(1.0, 1.0, 1.0, 1.0)", 0.5, 1e-14},
    {"cyl_bessel_i0f(1.0f)", 1.2660658777520084, 1e-6},
    {"cyl_bessel_i1(2.0)", 1.5906368546373291, 1e-13},
    {"lgamma(10.0)", 12.801827480081469, 1e-13},
    {"tgammaf(5.0f)", 24, 1e-6},
    {"j0(1.0)", 0.76519768655796655, 1e-13},
    {"asinhf(1.0f)", 0.88137358701954303, 1e-6},
    {"nextafterf(1.0f, 2.0f)", 1.00000011920928955078125},
    {"llroundf(-2.5f)", -3},
    {"lrint(2.5)", 2},
    {"ilogbf(10.0f)", 3},
    {"scalbnf(3.0f, 4)", 48},
    {"signbit(-0.0f)", 1},
    // Others.
    {"clock64() >= 0", 1},
    {"clock() == clock() + 1", 0},
    {"(__nanosleep(10), 1)", 1},
    {"__isGlobal(out)", 1},
    {"__isShared(out)", 0},
    {"__isLocal(&local)", 1},
    {"(*counter = 2, atomicAdd_block(counter, 5))", 2},
    {"atomicCAS_system(counter, 7, 9)", 7},
    {"*counter", 9},
    {"CUDART_PI_F", 3.1415927410125732},
    {"make_float4(1, 2, 3, 4).w", 4},
});

/// Returns a kernel that writes the values of all cases: `values(double* out, int* counter)`.
inline std::string intrinsics_kernel() {
  std::string text =
      "#include <math_constants.h>\n#include <vector_functions.h>\n"
      "extern \"C\" __global__ void values(double* out, int* counter) {\n  int local = 0;\n";
  for (std::size_t i = 0; i < kIntrinsicCases.size(); ++i) {
    text += "  out[" + std::to_string(i) + "] = static_cast<double>(" +
            kIntrinsicCases[i].expression + ");\n";
  }
  return text + "}\n";
}

/// Returns true if `value` is the value of the case.
inline bool agrees(const IntrinsicCase& one, double value) {
  if (value == one.value) return true;
  return std::abs(value - one.value) <= one.relative * std::abs(one.value);
}

}  // namespace smemtune
