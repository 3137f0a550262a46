#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/core/space.h"
#include "tuner/core/space_keys.h"
#include "tuner/core/value.h"

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {

/// A value of a space file with its place, a JSON pointer.
struct Given {
  const Json& value;
  std::string where;

  bool has(std::string_view name) const { return value.contains(name); }
  /// REQUIRES: the object has such a member.
  Given operator[](std::string_view name) const { return {value[name], child(where, name)}; }
  /// Returns the members of an object, by name in their order; of anything else none.
  std::vector<std::pair<std::string, Given>> members() const;
};

/// Takes values out of the JSON of one space file and collects what is wrong with them, each fault
/// with its line and JSON pointer.
class SpaceValues {
 public:
  explicit SpaceValues(std::filesystem::path file) : file_(std::move(file)) {}

  const std::filesystem::path& file() const { return file_; }
  const std::vector<std::string>& faults() const { return faults_; }

  /// Parses the text. Each TODO in it is a fault. Throws InputError if the text is not JSON.
  Json parse(std::string_view text);

  void fault(const std::string& pointer, const std::string& message);
  /// Adds a fault from a message that begins with the file and the pointer.
  void fault_with_place(const std::string& message);

  // Each of these functions adds a fault and returns nothing, or false, if the value is not of the
  // required kind. `expected` says what would be right.

  /// Checks an object's keys. `kind` is a key of space_file_keys().
  bool check_object(const Given& given, const std::string& kind);
  /// Returns the elements of a list that is not empty.
  std::vector<Given> list(const Given& given, const std::string& expected);
  /// Returns the elements of a list that may be empty.
  std::vector<Given> list_or_none(const Given& given, const std::string& expected);
  /// Adds a fault for each of these members that an object lacks.
  void require(const Given& object, std::initializer_list<const char*> names);
  /// Returns a member's text; empty if it is left out.
  std::string text_of(const Given& object, std::string_view name, const std::string& expected);
  std::optional<std::string> text(const Given& given, const std::string& expected);
  /// Returns the index of the word in the list.
  std::optional<std::size_t> one_of(const std::vector<std::string>& words, const Given& given);
  std::optional<std::string> identifier(const Given& given);
  /// Returns a member that is false if it is left out.
  bool flag(const Given& object, std::string_view name);
  std::optional<Value> scalar(const Given& given);
  std::optional<double> tolerance(const Given& given);
  std::optional<ExpressionText> expression(const Given& given);
  std::vector<ExpressionText> expressions(const Given& given, const std::string& expected);
  /// Reads a key of `object`, if it is there.
  void read_key(const Given& object, const SpaceKey& key, std::vector<ExpressionText>& result);
  void read_key(const Given& object, const SpaceKey& key, std::optional<ExpressionText>& result);
  void read_key(const Given& object, const SpaceKey& key, bool& result);

 private:
  void find_todos(const Json& value, const std::string& pointer);
  void add_line(const std::string& line);

  std::filesystem::path file_;
  JsonLines lines_;
  std::vector<std::string> faults_;
  std::set<std::string> seen_;   ///< Lines of `faults_`.
  std::set<std::string> todos_;  ///< Pointers to values that the user has yet to decide.
};

}  // namespace smemtune
