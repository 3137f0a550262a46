// Takes any text as an expression: it compiles and has a value, or throws an ExpressionError that
// says why not.

#include "tuner/core/expression.h"

#include <cstdint>
#include <string>

using namespace smemtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scope scope = [] {
    Scope names;
    names.add_variable("TILE", 0);
    names.add_variable("ROWS", 1);
    names.add_variable("LAYOUT", 2, Scope::Kind::word);
    names.add_constants({{"N", std::int64_t{4096}}, {"T", "float"}});
    return names;
  }();
  try {
    const Expression expression =
        Expression::compile(std::string(reinterpret_cast<const char*>(data), size), scope);
    const std::int64_t large = std::int64_t{1} << 62;
    for (const std::int64_t tile :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{32}, large, -large}) {
      const std::int64_t slots[] = {tile, 7, to_slot(Value("row"))};
      try {
        expression.evaluate(slots);
      } catch (const ExpressionError&) {
      }
    }
  } catch (const ExpressionError&) {
  }
  return 0;
}
