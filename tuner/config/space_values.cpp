#include "tuner/config/space_file.h"
#include "tuner/config/space_reader.h"
#include "tuner/config/space_words.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <cstdint>

namespace smemtune {

std::vector<std::pair<std::string, Given>> Given::members() const {
  std::vector<std::pair<std::string, Given>> all;
  if (!value.is_object()) return all;
  for (const auto& [name, member] : value.items()) {
    all.emplace_back(name, Given{member, child(where, name)});
  }
  return all;
}

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

bool SpaceValues::check_object(const Given& given, const std::string& kind) {
  if (!given.value.is_object()) {
    fault(given.where, summary(given.value) + " is not an object");
    return false;
  }
  const std::vector<std::string>& known = space_file_keys().at(kind);
  for (const auto& [key, member] : given.value.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string nearest = suggestion(key, known);
    fault(child(given.where, key),
          "unknown key" + (nearest.empty() ? "; the keys are " + listed(known) : nearest));
  }
  return true;
}

std::vector<Given> SpaceValues::list(const Given& given, const std::string& expected) {
  std::vector<Given> elements;
  if (!given.value.is_array() || given.value.empty()) {
    fault(given.where, summary(given.value) + " is not " + expected);
    return elements;
  }
  for (const Json& one : given.value) {
    elements.push_back({one, child(given.where, elements.size())});
  }
  return elements;
}

std::vector<Given> SpaceValues::list_or_none(const Given& given, const std::string& expected) {
  const bool is_empty = given.value.is_array() && given.value.empty();
  return is_empty ? std::vector<Given>() : list(given, expected);
}

void SpaceValues::require(const Given& object, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    if (!object.has(name)) fault(object.where, std::string("lacks \"") + name + "\"");
  }
}

std::string SpaceValues::text_of(const Given& object, std::string_view name,
                                 const std::string& expected) {
  return object.has(name) ? text(object[name], expected).value_or("") : "";
}

std::optional<std::string> SpaceValues::text(const Given& given, const std::string& expected) {
  if (given.value.is_string() && !given.value.get_ref<const std::string&>().empty()) {
    return given.value.get<std::string>();
  }
  fault(given.where, summary(given.value) + " is not " + expected);
  return std::nullopt;
}

std::optional<std::size_t> SpaceValues::one_of(const std::vector<std::string>& words,
                                               const Given& given) {
  const auto word = text(given, "one of " + listed(words));
  if (!word) return std::nullopt;
  const auto found = std::ranges::find(words, *word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  fault(given.where, quote(*word) + " is not one of " + listed(words) + suggestion(*word, words));
  return std::nullopt;
}

bool SpaceValues::flag(const Given& object, std::string_view name) {
  if (!object.has(name)) return false;
  const Given flag = object[name];
  if (flag.value.is_boolean()) return flag.value.get<bool>();
  fault(flag.where, summary(flag.value) + " is neither true nor false");
  return false;
}

std::optional<std::string> SpaceValues::identifier(const Given& given) {
  std::optional<std::string> name = text(given, "a name");
  if (!name || is_identifier(*name)) return name;
  fault(given.where, quote(*name) +
                         " is not a name: a letter, then letters, digits and _, at most " +
                         std::to_string(kMaxNameBytes));
  return std::nullopt;
}

std::optional<Value> SpaceValues::scalar(const Given& given) {
  if (given.value.is_boolean()) return Value(std::int64_t{given.value.get<bool>() ? 1 : 0});
  if (given.value.is_number_integer()) return Value(given.value.get<std::int64_t>());
  if (!given.value.is_string()) {
    fault(given.where, summary(given.value) + " is not an integer, a boolean or a word");
    return std::nullopt;
  }
  const std::string& word = given.value.get_ref<const std::string&>();
  if (is_todo(word)) return std::nullopt;  // A TODO has been reported already.
  if (is_word(word)) return Value(word);
  if (is_integer_literal(word)) {
    fault(given.where, "\"" + word + "\" is text: a number has no quotation marks");
    return std::nullopt;
  }
  fault(given.where,
        quote(word) +
            " is not a word: a letter, then letters, digits, _ : < > and single spaces, "
            "at most " +
            std::to_string(kMaxNameBytes));
  return std::nullopt;
}

std::optional<double> SpaceValues::tolerance(const Given& given) {
  if (given.value.is_number() && given.value.get<double>() >= 0) return given.value.get<double>();
  fault(given.where, summary(given.value) + " is not a number of 0 or more");
  return std::nullopt;
}

std::optional<ExpressionText> SpaceValues::expression(const Given& given) {
  if (given.value.is_number_integer()) {
    return ExpressionText{.text = std::to_string(given.value.get<std::int64_t>()),
                          .where = given.where};
  }
  const std::optional<std::string> found = text(given, "an expression or an integer");
  if (!found) return std::nullopt;
  return ExpressionText{.text = *found, .where = given.where};
}

std::vector<ExpressionText> SpaceValues::expressions(const Given& given,
                                                     const std::string& expected) {
  std::vector<ExpressionText> result;
  for (const Given& one : list_or_none(given, expected)) {
    if (const auto found = expression(one)) result.push_back(*found);
  }
  return result;
}

void SpaceValues::read_key(const Given& object, const SpaceKey& key,
                           std::vector<ExpressionText>& result) {
  if (!object.has(key.name)) return;
  const Given given = object[key.name];
  const std::string expected(key.expected);
  const std::size_t size = given.value.size();
  if (key.most > 0 && given.value.is_array() && (size == 0 || size > key.most)) {
    return fault(given.where, summary(given.value) + " is not " + expected);
  }
  result = expressions(given, expected);
}

void SpaceValues::read_key(const Given& object, const SpaceKey& key,
                           std::optional<ExpressionText>& result) {
  if (object.has(key.name)) result = expression(object[key.name]);
}

void SpaceValues::read_key(const Given& object, const SpaceKey& key, bool& result) {
  result = flag(object, key.name);
}

}  // namespace smemtune
