#include "tuner/core/option_template.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <array>

namespace smemtune {
namespace {

bool is_switch(std::string_view option) {
  if (option.starts_with("--")) option.remove_prefix(1);
  constexpr std::array<std::string_view, 4> kSwitches = {
      "-fmad=", "-ftz=", "-prec-div=", "-prec-sqrt="};
  return std::ranges::any_of(kSwitches,
                             [&](std::string_view name) { return option.starts_with(name); });
}

}  // namespace

std::optional<std::string> name_in_option(std::string_view option) {
  const std::size_t begin = option.find("${");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = option.find('}', begin);
  const std::string_view name = option.substr(begin + 2, end - begin - 2);
  if (end == std::string_view::npos || !is_name(name)) {
    throw InputError(in_quotes(option) + " has no name between ${ and }");
  }
  if (option.find("${", end) != std::string_view::npos) {
    throw InputError(in_quotes(option) + " takes more than one value");
  }
  return std::string(name);
}

std::string bind_option(const std::string& option, const Value& value) {
  const std::size_t begin = option.find("${");
  if (begin == std::string::npos) return option;
  std::string text = to_text(value);
  if (is_switch(option) && text == "0") text = "false";
  if (is_switch(option) && text == "1") text = "true";
  return option.substr(0, begin) + text + option.substr(option.find('}', begin) + 1);
}

}  // namespace smemtune
