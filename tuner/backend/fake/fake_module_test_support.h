#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smemtune::fake {

/// The contents of a fake module's image.
struct FakeModule {
  std::string script;
  std::vector<std::string> options;
};

std::vector<std::uint8_t> to_image(const FakeModule& module);
FakeModule from_image(const std::vector<std::uint8_t>& image);

}  // namespace smemtune::fake
