#include "tuner/config/space_values.h"

#include "tuner/config/space_file.h"
#include "tuner/config/space_words.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cstdint>

namespace smemtune {

Json SpaceValues::parse(std::string_view text) {
  Json root = parse_json(text, file_.string(), &lines_);
  find_todos(root, "");
  return root;
}

void SpaceValues::find_todos(const Json& value, const std::string& pointer) {
  if (value.is_string() && is_todo(value.get_ref<const std::string&>())) {
    fault(pointer, printable(value.get_ref<const std::string&>(), 300));
    todos_.insert(pointer);
  }
  std::size_t i = 0;
  if (!value.is_structured()) return;
  for (const auto& [key, member] : value.items()) {
    find_todos(member, value.is_object() ? child(pointer, key) : child(pointer, i++));
  }
}

void SpaceValues::fault(const std::string& pointer, const std::string& message) {
  if (todos_.contains(pointer)) return;  // This TODO has been reported already.
  std::string place = file_.string();
  // A missing value is reported in the line of the object that should contain it.
  for (std::string known = pointer; !known.empty(); known.resize(known.rfind('/'))) {
    const auto line = lines_.find(known);
    if (line == lines_.end()) continue;
    place += ":" + std::to_string(line->second);
    break;
  }
  add_line(place + ": " + (pointer.empty() ? "" : printable(pointer, 200) + ": ") + message);
}

void SpaceValues::fault_with_place(const std::string& message) {
  const std::string begin = file_.string() + ": ";
  const std::size_t end = message.find(": ", begin.size());
  if (!message.starts_with(begin + "/") || end == std::string::npos) return add_line(message);
  fault(message.substr(begin.size(), end - begin.size()), message.substr(end + 2));
}

void SpaceValues::add_line(const std::string& line) {
  // Duplicates are dropped: the same expression may be wrong for every problem.
  if (seen_.insert(line).second) faults_.push_back(line);
}

bool SpaceValues::check_object(const Json& value, const std::string& pointer,
                               const std::string& kind) {
  if (!value.is_object()) {
    fault(pointer, summary(value) + " is not an object");
    return false;
  }
  const std::vector<std::string>& known = space_file_keys().at(kind);
  for (const auto& [key, member] : value.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string nearest = suggestion(key, known);
    fault(child(pointer, key),
          "unknown key" + (nearest.empty() ? "; the keys are " + listed(known) : nearest));
  }
  return true;
}

bool SpaceValues::check_list(const Json& value, const std::string& pointer,
                             const std::string& expected) {
  if (value.is_array() && !value.empty()) return true;
  fault(pointer, summary(value) + " is not " + expected);
  return false;
}

std::optional<std::string> SpaceValues::text(const Json& value, const std::string& pointer,
                                             const std::string& expected) {
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) {
    return value.get<std::string>();
  }
  fault(pointer, summary(value) + " is not " + expected);
  return std::nullopt;
}

std::optional<std::size_t> SpaceValues::one_of(const std::vector<std::string>& words,
                                               const Json& value, const std::string& pointer) {
  const auto word = text(value, pointer, "one of " + listed(words));
  if (!word) return std::nullopt;
  const auto found = std::ranges::find(words, *word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  fault(pointer, quote(*word) + " is not one of " + listed(words) + suggestion(*word, words));
  return std::nullopt;
}

bool SpaceValues::flag(const Json& object, std::string_view name, const std::string& pointer) {
  if (!object.contains(name)) return false;
  const Json& value = object[name];
  if (!value.is_boolean())
    fault(child(pointer, name), summary(value) + " is neither true nor false");
  return value.is_boolean() && value.get<bool>();
}

std::optional<std::string> SpaceValues::identifier(const Json& value, const std::string& pointer) {
  std::optional<std::string> name = text(value, pointer, "a name");
  if (!name || is_identifier(*name)) return name;
  fault(pointer, quote(*name) + " is not a name: a letter, then letters, digits and _, at most " +
                     std::to_string(kMaxNameBytes));
  return std::nullopt;
}

std::optional<Value> SpaceValues::scalar(const Json& value, const std::string& pointer) {
  if (value.is_boolean()) return Value(std::int64_t{value.get<bool>() ? 1 : 0});
  if (value.is_number_integer()) return Value(value.get<std::int64_t>());
  if (!value.is_string()) {
    fault(pointer, summary(value) + " is not an integer, a boolean or a word");
    return std::nullopt;
  }
  const std::string& word = value.get_ref<const std::string&>();
  if (is_todo(word)) return std::nullopt;  // A TODO has been reported already.
  if (is_word(word)) return Value(word);
  if (is_integer_literal(word)) {
    fault(pointer, "\"" + word + "\" is text: a number has no quotation marks");
    return std::nullopt;
  }
  fault(pointer, quote(word) +
                     " is not a word: a letter, then letters, digits, _ : < > and single spaces, "
                     "at most " +
                     std::to_string(kMaxNameBytes));
  return std::nullopt;
}

std::optional<double> SpaceValues::tolerance(const Json& value, const std::string& pointer) {
  if (value.is_number() && value.get<double>() >= 0) return value.get<double>();
  fault(pointer, summary(value) + " is not a number of 0 or more");
  return std::nullopt;
}

std::optional<ExpressionText> SpaceValues::expression(const Json& value,
                                                      const std::string& pointer) {
  if (value.is_number_integer()) {
    return ExpressionText{.text = std::to_string(value.get<std::int64_t>()), .where = pointer};
  }
  const std::optional<std::string> found = text(value, pointer, "an expression or an integer");
  if (!found) return std::nullopt;
  return ExpressionText{.text = *found, .where = pointer};
}

std::vector<ExpressionText> SpaceValues::expressions(const Json& value, const std::string& pointer,
                                                     const std::string& expected) {
  std::vector<ExpressionText> result;
  if (!value.is_array()) {
    fault(pointer, summary(value) + " is not " + expected);
    return result;
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (const auto found = expression(value[i], child(pointer, i))) result.push_back(*found);
  }
  return result;
}

void SpaceValues::read_key(const Json& object, const std::string& pointer, const SpaceKey& key,
                           std::vector<ExpressionText>& result) {
  if (!object.contains(key.name)) return;
  const Json& value = object[key.name];
  const std::string where = child(pointer, key.name);
  const std::string expected(key.expected);
  if (key.most > 0 && value.is_array() && (value.empty() || value.size() > key.most)) {
    return fault(where, summary(value) + " is not " + expected);
  }
  result = expressions(value, where, expected);
}

void SpaceValues::read_key(const Json& object, const std::string& pointer, const SpaceKey& key,
                           std::optional<ExpressionText>& result) {
  if (!object.contains(key.name)) return;
  result = expression(object[key.name], child(pointer, key.name));
}

void SpaceValues::read_key(const Json& object, const std::string& pointer, const SpaceKey& key,
                           bool& result) {
  result = flag(object, key.name, pointer);
}

}  // namespace smemtune
