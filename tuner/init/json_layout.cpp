#include "tuner/init/json_layout.h"

namespace smemtune {

std::string in_utf8(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string laid_out(const Json& value, std::size_t indent, std::size_t column) {
  constexpr std::size_t kColumns = 100;
  const std::string whole = [&] {
    std::string text;
    if (value.is_object()) {
      for (const auto& [key, member] : value.items()) {
        text += (text.empty() ? "{ " : ", ") + in_utf8(key) + ": " + laid_out(member, 0, 0);
      }
      return text.empty() ? "{}" : text + " }";
    }
    if (value.is_array()) {
      for (const Json& member : value) text += (text.empty() ? "[" : ", ") + laid_out(member, 0, 0);
      return text.empty() ? "[]" : text + "]";
    }
    return in_utf8(value);
  }();
  const bool fits = column + whole.size() < kColumns && whole.find('\n') == std::string::npos;
  if (!value.is_structured() || (fits && (column == 0 || indent > 0))) return whole;
  std::string text = value.is_object() ? "{\n" : "[\n";
  const std::string pad(indent + 2, ' ');
  std::size_t left = value.size();
  for (const auto& [key, member] : value.items()) {
    const std::string label = value.is_object() ? in_utf8(key) + ": " : "";
    text += pad + label + laid_out(member, indent + 2, indent + 2 + label.size());
    text += --left > 0 ? ",\n" : "\n";
  }
  return text + std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

}  // namespace smemtune
