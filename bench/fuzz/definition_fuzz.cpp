// Takes any text as a definition: it compiles and gives an array, or throws an ExpressionError that
// says why not.

#include "tuner/core/definition.h"

#include <cstdint>
#include <string>

using namespace smemtune;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const Definition definition =
        Definition::compile(text, {{"N", std::int64_t{4}}, {"K", std::int64_t{3}}},
                            {{"A", 2}, {"B", 2}, {"C", 2}, {"in", 1}, {"out", 1}}, {"alpha"});
    const HostArray matrix = {{4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
    const HostArray vector = {{4}, {1, -2, 0, 4}};
    definition.evaluate(
        {{"A", matrix}, {"B", matrix}, {"C", matrix}, {"in", vector}, {"out", vector}},
        {{"alpha", 0.5}}, /*max_operations=*/100'000);
  } catch (const ExpressionError&) {
  }
  return 0;
}
