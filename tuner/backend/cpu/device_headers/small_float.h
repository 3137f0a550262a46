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
