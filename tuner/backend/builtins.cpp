#include "tuner/backend/builtins.h"

#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace smemtune {
namespace {

struct Builtin {
  std::string_view name;
  std::string_view meaning;
};

// Floating-point values are given by their bits: NVRTC has no builtins for them, and they must be
// constants.
constexpr auto kMacros = std::to_array<Builtin>({
    {"NULL", "0"},
    {"INFINITY", "__builtin_bit_cast(float, 0x7f800000)"},
    {"NAN", "__builtin_bit_cast(float, 0x7fffffff)"},
    {"HUGE_VALF", "__builtin_bit_cast(float, 0x7f800000)"},
    {"HUGE_VAL", "__builtin_bit_cast(double, 0x7ff0000000000000ll)"},
    {"M_E", "2.7182818284590452354"},
    {"M_LOG2E", "1.4426950408889634074"},
    {"M_LOG10E", "0.43429448190325182765"},
    {"M_LN2", "0.69314718055994530942"},
    {"M_LN10", "2.30258509299404568402"},
    {"M_PI", "3.14159265358979323846"},
    {"M_PI_2", "1.57079632679489661923"},
    {"M_PI_4", "0.78539816339744830962"},
    {"M_1_PI", "0.31830988618379067154"},
    {"M_2_PI", "0.63661977236758134308"},
    {"M_2_SQRTPI", "1.12837916709551257390"},
    {"M_SQRT2", "1.41421356237309504880"},
    {"M_SQRT1_2", "0.70710678118654752440"},
});

constexpr auto kTypes = std::to_array<Builtin>({
    {"int8_t", "signed char"},
    {"uint8_t", "unsigned char"},
    {"int16_t", "short"},
    {"uint16_t", "unsigned short"},
    {"int32_t", "int"},
    {"uint32_t", "unsigned int"},
    {"int64_t", "long long"},
    {"uint64_t", "unsigned long long"},
    // Types of <sys/types.h>, which nvcc includes by itself.
    {"uint", "unsigned int"},
    {"ushort", "unsigned short"},
    {"ulong", "unsigned long"},
});

bool has_word(std::string_view text, std::string_view word) {
  const auto continues = [&](std::size_t at) {
    return at < text.size() && (is_letter(text[at]) || is_digit(text[at]));
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    if ((at == 0 || !continues(at - 1)) && !continues(at + word.size())) return true;
  }
  return false;
}

bool any_file(const KernelSource& source, const auto& holds) {
  return std::ranges::any_of(source.files,
                             [&](const KernelSource::File& file) { return holds(file.text); });
}

bool uses(const KernelSource& source, std::string_view name) {
  return any_file(source, [&](std::string_view text) { return has_word(text, name); });
}

bool says(const KernelSource& source, const std::string& words) {
  return any_file(source, [&](std::string_view text) { return text.find(words) != text.npos; });
}

}  // namespace

std::string builtins_for(const KernelSource& source) {
  std::string text;
  for (const auto& [name, meaning] : kMacros) {
    if (!uses(source, name)) continue;
    const std::string word(name);
    text += "#ifndef " + word + "\n#define " + word + " " + std::string(meaning) + "\n#endif\n";
  }
  const bool has_header =
      says(source, "<cstdint>") || says(source, "<stdint.h>") || says(source, "<cuda/std/");
  for (const auto& [name, meaning] : kTypes) {
    const std::string word(name);
    if (has_header || !uses(source, name)) continue;
    // The source declares it itself.
    if (says(source, word + ";") || says(source, "using " + word)) continue;
    text += "typedef " + std::string(meaning) + " " + word + ";\n";
  }
  return text;
}

}  // namespace smemtune
