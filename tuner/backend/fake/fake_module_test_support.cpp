#include "tuner/backend/fake/fake_module_test_support.h"

#include <sstream>

namespace smemtune::fake {

// An image holds the options, one per line, an empty line, and the script.

std::vector<std::uint8_t> to_image(const FakeModule& module) {
  std::string text;
  for (const std::string& option : module.options) text += option + "\n";
  text += "\n" + module.script;
  return {text.begin(), text.end()};
}

FakeModule from_image(const std::vector<std::uint8_t>& image) {
  FakeModule module;
  std::istringstream stream(std::string(image.begin(), image.end()));
  for (std::string line; std::getline(stream, line) && !line.empty();) {
    module.options.push_back(line);
  }
  module.script.assign(std::istreambuf_iterator<char>(stream), {});
  return module;
}

}  // namespace smemtune::fake
