// Arithmetic of a 16-bit floating type and of its pair, for the header that includes this one and
// says their names. A result is rounded once, from float.

struct alignas(4) SMEMTUNE_SMALL_FLOAT2 {
  SMEMTUNE_SMALL_FLOAT x, y;
};

#define SMEMTUNE_OPERATOR(op, name, name2)                                                        \
  SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT operator op(SMEMTUNE_SMALL_FLOAT a,                        \
                                                   SMEMTUNE_SMALL_FLOAT b) {                      \
    return SMEMTUNE_SMALL_FLOAT(float(a) op float(b));                                            \
  }                                                                                               \
  SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT& operator op##=(SMEMTUNE_SMALL_FLOAT& a,                   \
                                                       SMEMTUNE_SMALL_FLOAT b) {                  \
    return a = a op b;                                                                            \
  }                                                                                               \
  SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT2 operator op(SMEMTUNE_SMALL_FLOAT2 a,                      \
                                                    SMEMTUNE_SMALL_FLOAT2 b) {                    \
    return {a.x op b.x, a.y op b.y};                                                              \
  }                                                                                               \
  SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT name(SMEMTUNE_SMALL_FLOAT a, SMEMTUNE_SMALL_FLOAT b) {     \
    return a op b;                                                                                \
  }                                                                                               \
  SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT2 name2(SMEMTUNE_SMALL_FLOAT2 a, SMEMTUNE_SMALL_FLOAT2 b) { \
    return a op b;                                                                                \
  }
SMEMTUNE_OPERATOR(+, __hadd, __hadd2)
SMEMTUNE_OPERATOR(-, __hsub, __hsub2)
SMEMTUNE_OPERATOR(*, __hmul, __hmul2)
SMEMTUNE_OPERATOR(/, __hdiv, __h2div)
#undef SMEMTUNE_OPERATOR

#define SMEMTUNE_COMPARISON(op, name)                                                \
  SMEMTUNE_INLINE bool operator op(SMEMTUNE_SMALL_FLOAT a, SMEMTUNE_SMALL_FLOAT b) { \
    return float(a) op float(b);                                                     \
  }                                                                                  \
  SMEMTUNE_INLINE bool name(SMEMTUNE_SMALL_FLOAT a, SMEMTUNE_SMALL_FLOAT b) { return a op b; }
SMEMTUNE_COMPARISON(==, __heq)
SMEMTUNE_COMPARISON(!=, __hne)
SMEMTUNE_COMPARISON(<, __hlt)
SMEMTUNE_COMPARISON(>, __hgt)
SMEMTUNE_COMPARISON(<=, __hle)
SMEMTUNE_COMPARISON(>=, __hge)
#undef SMEMTUNE_COMPARISON

SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT operator-(SMEMTUNE_SMALL_FLOAT a) {
  return SMEMTUNE_SMALL_FLOAT(-float(a));
}
SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT __hneg(SMEMTUNE_SMALL_FLOAT a) { return -a; }
SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT __habs(SMEMTUNE_SMALL_FLOAT a) {
  return SMEMTUNE_SMALL_FLOAT(__builtin_fabsf(float(a)));
}
SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT __hfma(SMEMTUNE_SMALL_FLOAT a, SMEMTUNE_SMALL_FLOAT b,
                                            SMEMTUNE_SMALL_FLOAT c) {
  return SMEMTUNE_SMALL_FLOAT(__builtin_fmaf(float(a), float(b), float(c)));
}
SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT2 __hfma2(SMEMTUNE_SMALL_FLOAT2 a, SMEMTUNE_SMALL_FLOAT2 b,
                                              SMEMTUNE_SMALL_FLOAT2 c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT __hmax(SMEMTUNE_SMALL_FLOAT a, SMEMTUNE_SMALL_FLOAT b) {
  return SMEMTUNE_SMALL_FLOAT(__builtin_fmaxf(float(a), float(b)));
}
SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT __hmin(SMEMTUNE_SMALL_FLOAT a, SMEMTUNE_SMALL_FLOAT b) {
  return SMEMTUNE_SMALL_FLOAT(__builtin_fminf(float(a), float(b)));
}

#define SMEMTUNE_EACH(name, name2, expression)                           \
  SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT name(SMEMTUNE_SMALL_FLOAT a) {    \
    const float x = float(a);                                            \
    return SMEMTUNE_SMALL_FLOAT(static_cast<float>(expression));         \
  }                                                                      \
  SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT2 name2(SMEMTUNE_SMALL_FLOAT2 a) { \
    return {name(a.x), name(a.y)};                                       \
  }
SMEMTUNE_EACH(hceil, h2ceil, __builtin_ceilf(x))
SMEMTUNE_EACH(hcos, h2cos, __builtin_cosf(x))
SMEMTUNE_EACH(hexp, h2exp, __builtin_expf(x))
SMEMTUNE_EACH(hexp10, h2exp10, __builtin_powf(10.0f, x))
SMEMTUNE_EACH(hexp2, h2exp2, __builtin_exp2f(x))
SMEMTUNE_EACH(hfloor, h2floor, __builtin_floorf(x))
SMEMTUNE_EACH(hlog, h2log, __builtin_logf(x))
SMEMTUNE_EACH(hlog10, h2log10, __builtin_log10f(x))
SMEMTUNE_EACH(hlog2, h2log2, __builtin_log2f(x))
SMEMTUNE_EACH(hrcp, h2rcp, 1.0f / x)
SMEMTUNE_EACH(hrint, h2rint, __builtin_rintf(x))
SMEMTUNE_EACH(hrsqrt, h2rsqrt, 1.0f / __builtin_sqrtf(x))
SMEMTUNE_EACH(hsin, h2sin, __builtin_sinf(x))
SMEMTUNE_EACH(hsqrt, h2sqrt, __builtin_sqrtf(x))
SMEMTUNE_EACH(htanh, h2tanh, __builtin_tanhf(x))
SMEMTUNE_EACH(htrunc, h2trunc, __builtin_truncf(x))
#undef SMEMTUNE_EACH
SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT2 __hneg2(SMEMTUNE_SMALL_FLOAT2 a) { return {-a.x, -a.y}; }
SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT2 __habs2(SMEMTUNE_SMALL_FLOAT2 a) {
  return {__habs(a.x), __habs(a.y)};
}
SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT2 operator-(SMEMTUNE_SMALL_FLOAT2 a) { return __hneg2(a); }
#define SMEMTUNE_PAIRS(name2, name)                                                               \
  SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT2 name2(SMEMTUNE_SMALL_FLOAT2 a, SMEMTUNE_SMALL_FLOAT2 b) { \
    return {SMEMTUNE_SMALL_FLOAT(name(a.x, b.x)), SMEMTUNE_SMALL_FLOAT(name(a.y, b.y))};          \
  }
SMEMTUNE_PAIRS(__hmax2, __hmax)
SMEMTUNE_PAIRS(__hmin2, __hmin)
#define SMEMTUNE_COMPARED_PAIRS(op)                                                    \
  SMEMTUNE_INLINE SMEMTUNE_SMALL_FLOAT2 __h##op##2(SMEMTUNE_SMALL_FLOAT2 a,            \
                                                   SMEMTUNE_SMALL_FLOAT2 b) {          \
    return {SMEMTUNE_SMALL_FLOAT(__h##op(a.x, b.x) ? 1.0f : 0.0f),                     \
            SMEMTUNE_SMALL_FLOAT(__h##op(a.y, b.y) ? 1.0f : 0.0f)};                    \
  }                                                                                    \
  SMEMTUNE_INLINE bool __hb##op##2(SMEMTUNE_SMALL_FLOAT2 a, SMEMTUNE_SMALL_FLOAT2 b) { \
    return __h##op(a.x, b.x) && __h##op(a.y, b.y);                                     \
  }
SMEMTUNE_COMPARED_PAIRS(eq)
SMEMTUNE_COMPARED_PAIRS(ne)
SMEMTUNE_COMPARED_PAIRS(lt)
SMEMTUNE_COMPARED_PAIRS(gt)
SMEMTUNE_COMPARED_PAIRS(le)
SMEMTUNE_COMPARED_PAIRS(ge)
#undef SMEMTUNE_COMPARED_PAIRS
#undef SMEMTUNE_PAIRS
SMEMTUNE_INLINE bool __hisnan(SMEMTUNE_SMALL_FLOAT a) { return __builtin_isnan(float(a)); }
SMEMTUNE_INLINE int __hisinf(SMEMTUNE_SMALL_FLOAT a) {
  return __builtin_isinf(float(a)) ? (float(a) < 0 ? -1 : 1) : 0;
}
