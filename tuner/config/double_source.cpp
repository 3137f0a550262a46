#include "tuner/config/double_source.h"

#include "tuner/config/cpp_tokens.h"
#include "tuner/config/json_reader.h"
#include "tuner/core/error.h"
#include "tuner/core/in_double.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace smemtune {
namespace {

using Names = std::map<std::string_view, std::string_view>;

// The C library's functions of a float, without their f.
constexpr std::array<std::string_view, 71> kMath = {
    "acos",   "acosh",    "asin",   "asinh",  "atan",      "atan2",    "atanh",     "cbrt",
    "ceil",   "copysign", "cos",    "cosh",   "cospi",     "erf",      "erfc",      "erfcinv",
    "erfcx",  "erfinv",   "exp",    "exp10",  "exp2",      "expm1",    "fabs",      "fdim",
    "floor",  "fma",      "fmax",   "fmin",   "fmod",      "frexp",    "hypot",     "ilogb",
    "j0",     "j1",       "ldexp",  "lgamma", "llrint",    "llround",  "log",       "log10",
    "log1p",  "log2",     "logb",   "lrint",  "lround",    "modf",     "nearbyint", "nextafter",
    "norm3d", "normcdf",  "pow",    "rcbrt",  "remainder", "rhypot",   "rint",      "rnorm3d",
    "round",  "rsqrt",    "scalbn", "sin",    "sincos",    "sincospi", "sinh",      "sinpi",
    "sqrt",   "tan",      "tanh",   "tgamma", "trunc",     "y0",       "y1"};

// Approximations and conversions. What begins with smemtune_ is in kPrelude.
const Names& replacements() {
  static const Names names = {{"__expf", "exp"},
                              {"__exp10f", "exp10"},
                              {"__logf", "log"},
                              {"__log2f", "log2"},
                              {"__log10f", "log10"},
                              {"__sinf", "sin"},
                              {"__cosf", "cos"},
                              {"__tanf", "tan"},
                              {"__tanhf", "tanh"},
                              {"__sincosf", "sincos"},
                              {"__powf", "pow"},
                              {"__frsqrt_rn", "rsqrt"},
                              {"__fdividef", "smemtune_div"},
                              {"__saturatef", "smemtune_saturate"},
                              {"make_float1", "make_double1"},
                              {"make_float2", "make_double2"},
                              {"make_float3", "make_double3"},
                              {"make_float4", "make_double4"},
                              {"make_half2", "make_double2"},
                              {"__half2float", "double"},
                              {"__float2half", "double"},
                              {"__float2half_rn", "double"},
                              {"__double2half", "double"},
                              {"__int2half_rn", "double"},
                              {"__bfloat162float", "double"},
                              {"__float2bfloat16", "double"},
                              {"__float2bfloat16_rn", "double"},
                              {"__double2bfloat16", "double"},
                              {"__double2float_rn", "double"},
                              {"__half22float2", "double2"},
                              {"__float22half2_rn", "double2"},
                              {"__bfloat1622float2", "double2"},
                              {"__float22bfloat162_rn", "double2"},
                              {"__floats2half2_rn", "make_double2"},
                              {"__halves2half2", "make_double2"},
                              {"__floats2bfloat162_rn", "make_double2"},
                              {"__halves2bfloat162", "make_double2"},
                              {"__half2half2", "smemtune_twice"},
                              {"__float2half2_rn", "smemtune_twice"},
                              {"__bfloat162bfloat162", "smemtune_twice"},
                              {"__float2bfloat162_rn", "smemtune_twice"},
                              {"__low2half", "smemtune_low"},
                              {"__low2float", "smemtune_low"},
                              {"__low2bfloat16", "smemtune_low"},
                              {"__high2half", "smemtune_high"},
                              {"__high2float", "smemtune_high"},
                              {"__high2bfloat16", "smemtune_high"},
                              {"__hadd", "smemtune_add"},
                              {"__hsub", "smemtune_sub"},
                              {"__hmul", "smemtune_mul"},
                              {"__hdiv", "smemtune_div"},
                              {"__hfma", "fma"},
                              {"__hneg", "smemtune_neg"},
                              {"__habs", "fabs"},
                              {"__hmax", "fmax"},
                              {"__hmin", "fmin"},
                              {"__hadd2", "smemtune_add"},
                              {"__hsub2", "smemtune_sub"},
                              {"__hmul2", "smemtune_mul"},
                              {"__h2div", "smemtune_div"},
                              {"__hfma2", "smemtune_fma"},
                              {"hexp", "exp"},
                              {"hlog", "log"},
                              {"hsqrt", "sqrt"},
                              {"hrsqrt", "rsqrt"},
                              {"hsin", "sin"},
                              {"hcos", "cos"},
                              {"htanh", "tanh"}};
  return names;
}

constexpr std::string_view kPrelude =
    "static __device__ inline double smemtune_add(double a, double b) { return a + b; } "
    "static __device__ inline double smemtune_sub(double a, double b) { return a - b; } "
    "static __device__ inline double smemtune_mul(double a, double b) { return a * b; } "
    "static __device__ inline double smemtune_div(double a, double b) { return a / b; } "
    "static __device__ inline double smemtune_neg(double a) { return -a; } "
    "static __device__ inline double smemtune_saturate(double a) "
    "{ return a > 0 ? (a < 1 ? a : 1) : 0; } "
    "static __device__ inline double2 smemtune_add(double2 a, double2 b) "
    "{ return make_double2(a.x + b.x, a.y + b.y); } "
    "static __device__ inline double2 smemtune_sub(double2 a, double2 b) "
    "{ return make_double2(a.x - b.x, a.y - b.y); } "
    "static __device__ inline double2 smemtune_mul(double2 a, double2 b) "
    "{ return make_double2(a.x * b.x, a.y * b.y); } "
    "static __device__ inline double2 smemtune_div(double2 a, double2 b) "
    "{ return make_double2(a.x / b.x, a.y / b.y); } "
    "static __device__ inline double2 smemtune_fma(double2 a, double2 b, double2 c) "
    "{ return make_double2(a.x * b.x + c.x, a.y * b.y + c.y); } "
    "static __device__ inline double2 smemtune_twice(double a) { return make_double2(a, a); } "
    "static __device__ inline double smemtune_low(double2 a) { return a.x; } "
    "static __device__ inline double smemtune_high(double2 a) { return a.y; } ";

bool means_bits(std::string_view word) {
  static const std::set<std::string_view> words = {"asm",
                                                   "__asm__",
                                                   "__asm",
                                                   "nvcuda",
                                                   "wmma",
                                                   "memcpy_async",
                                                   "__pipeline_memcpy_async",
                                                   "__float_as_int",
                                                   "__float_as_uint",
                                                   "__int_as_float",
                                                   "__uint_as_float",
                                                   "__half_as_short",
                                                   "__half_as_ushort",
                                                   "__short_as_half",
                                                   "__ushort_as_half",
                                                   "__bfloat16_as_short",
                                                   "__bfloat16_as_ushort",
                                                   "__short_as_bfloat16",
                                                   "__ushort_as_bfloat16",
                                                   "bit_cast",
                                                   "__nv_fp8_e4m3",
                                                   "__nv_fp8_e5m2"};
  return words.contains(word) || word.starts_with("cp_async") || word.starts_with("tex1D") ||
         word.starts_with("tex2D") || word.starts_with("tex3D");
}

std::optional<std::string> intrinsic_in_double(std::string_view word) {
  // __fadd_rn, __fmaf_rz, __fsqrt_ru, ...
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kRounded = {{
      {"__fadd_r", "__dadd_r"},
      {"__fsub_r", "__dsub_r"},
      {"__fmul_r", "__dmul_r"},
      {"__fdiv_r", "__ddiv_r"},
      {"__frcp_r", "__drcp_r"},
      {"__fsqrt_r", "__dsqrt_r"},
      {"__fmaf_r", "__fma_r"},
  }};
  for (const auto& [narrow, wide] : kRounded) {
    if (word.starts_with(narrow) && word.size() == narrow.size() + 1) {
      return std::string(wide) + std::string(word.substr(narrow.size()));
    }
  }
  // __float2int_rd, and __int2float_rn, which a double needs no rounding for.
  if (word.starts_with("__float2") && word.find("_r") != std::string_view::npos) {
    return "__double2" + std::string(word.substr(8));
  }
  if (word.ends_with("2float_rn") && word.starts_with("__")) return "double";
  if (word.size() < 2 || word.back() != 'f') return std::nullopt;
  const std::string_view name = word.substr(0, word.size() - 1);
  if (std::ranges::find(kMath, name) == kMath.end()) return std::nullopt;
  return std::string(name);
}

/// 1.5f, 0x1p-3F; not 0x1f.
bool is_float_literal(std::string_view number) {
  if (number.back() != 'f' && number.back() != 'F') return false;
  const bool is_hexadecimal = number.starts_with("0x") || number.starts_with("0X");
  return !is_hexadecimal || number.find_first_of("pP") != std::string_view::npos;
}

class Promoter {
 public:
  /// `has_half`: without the header, `half` may be any name.
  Promoter(std::string file, bool has_half) : file_(std::move(file)), has_half_(has_half) {}

  bool needs_prelude() const { return needs_prelude_; }

  std::string promoted(std::string_view text, std::size_t first_line) {
    std::string result;
    std::size_t kept = 0;
    const std::vector<CppToken> tokens = cpp_tokens(text);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const CppToken& token = tokens[i];
      const bool is_member = i > 0 && (tokens[i - 1].is(".") || tokens[i - 1].is("->"));
      const std::string instead = in_its_place(token, is_member, first_line + token.line - 1);
      if (instead == token.text) continue;
      result += text.substr(kept, token.begin - kept);
      result += instead;
      kept = token.end();
    }
    return result + std::string(text.substr(kept));
  }

 private:
  std::string in_its_place(const CppToken& token, bool is_member, std::size_t line) {
    const std::string as_it_is(token.text);
    switch (token.kind) {
      case CppToken::Kind::number:
        return is_float_literal(token.text) ? "double(" + as_it_is + ")" : as_it_is;
      case CppToken::Kind::word:
        return is_member ? as_it_is : word(token.text, line);
      case CppToken::Kind::directive:
        return directive(token.text, line);
      default:
        return as_it_is;
    }
  }

  std::string word(std::string_view word, std::size_t line) {
    if (means_bits(word)) {
      throw InputError(file_ + ":" + std::to_string(line) + ": " + quote(word) +
                       " stays what it is when float becomes double, so that the kernel cannot be "
                       "run in double precision");
    }
    const std::string_view type = type_in_double(word);
    const bool is_own_name = !has_half_ && (word == "half" || word == "half2");
    if (type != word && !is_own_name) return std::string(type);
    if (const auto found = replacements().find(word); found != replacements().end()) {
      needs_prelude_ = needs_prelude_ || found->second.starts_with("smemtune_");
      return std::string(found->second);
    }
    return intrinsic_in_double(word).value_or(std::string(word));
  }

  /// Of a macro, what it stands for.
  std::string directive(std::string_view text, std::size_t line) {
    const std::size_t define = text.find("define");
    if (define == std::string_view::npos || text.find_first_not_of(" \t#") != define) {
      return std::string(text);
    }
    const std::size_t body = define + std::string_view("define").size();
    return std::string(text.substr(0, body)) + promoted(text.substr(body), line);
  }

  std::string file_;
  bool has_half_;
  bool needs_prelude_ = false;
};

/// `half` is a type with its header, unless a variable is called so: `int half = n / 2`.
bool is_half_a_type(const KernelSource& source) {
  static const std::set<std::string_view> types = {"int",  "unsigned", "long",    "short",
                                                   "auto", "size_t",   "int32_t", "uint32_t"};
  bool has_header = false;
  for (const KernelSource::File& file : source.files) {
    has_header = has_header || file.text.find("cuda_fp16.h") != std::string::npos;
    const std::vector<CppToken> tokens = cpp_tokens(file.text);
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      if (tokens[i].is("half") && types.contains(tokens[i - 1].text)) return false;
    }
  }
  return has_header;
}

}  // namespace

KernelSource in_double(const KernelSource& source) {
  KernelSource result;
  bool needs_prelude = false;
  const bool has_half = is_half_a_type(source);
  for (const KernelSource::File& file : source.files) {
    Promoter promoter(file.name, has_half);
    result.files.push_back({.name = file.name, .text = promoter.promoted(file.text, 1)});
    needs_prelude = needs_prelude || promoter.needs_prelude();
  }
  if (needs_prelude) {
    std::string& first = result.files.front().text;
    first = std::string(kPrelude) + "\n#line 1\n" + first;
  }
  return result;
}

}  // namespace smemtune
