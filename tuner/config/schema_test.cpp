#include "tuner/config/json_reader.h"
#include "tuner/config/space_file.h"
#include "tuner/core/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex.h>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace smemtune {
namespace {

const std::filesystem::path kConfigs = std::filesystem::path(SMEMTUNE_SOURCE_DIR) / "configs";

Json read(const std::filesystem::path& file) {
  return parse_json(read_text(file, 1 << 20), file.filename().string());
}

const Json& schema() {
  static const Json kSchema = read(kConfigs / "schema.json");
  return kSchema;
}

/// Matches POSIX extended patterns, which all patterns of the schema are. (std::regex trips g++
/// 12's warnings in the sanitizer build.)
bool matches(const std::string& text, const std::string& pattern) {
  regex_t compiled = {};
  if (regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
    throw std::logic_error("no pattern: " + pattern);
  }
  const bool found = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return found;
}

/// Returns the definition that "#/definitions/NAME" refers to.
const Json& referenced(const Json& rule) {
  return schema().at("definitions").at(rule.at("$ref").get<std::string>().substr(14));
}

/// Returns why a value breaks a rule of JSON Schema draft 7, as far as schema.json uses it; empty
/// if it does not. An unknown keyword is reported, so that none goes untested.
std::string broken(const Json& rule, const Json& value, const std::string& where = "");

std::string broken_by_object(const Json& rule, const Json& value, const std::string& where) {
  if (rule.contains("required")) {
    for (const Json& key : rule["required"]) {
      if (!value.contains(key.get<std::string>())) return where + " lacks " + key.dump();
    }
  }
  if (value.size() < rule.value("minProperties", 0u)) return where + " is empty";
  for (const auto& [key, member] : value.items()) {
    const std::string place = child(where, key);
    if (rule.contains("propertyNames")) {
      const std::string why = broken(rule["propertyNames"], key, place);
      if (!why.empty()) return why;
    }
    std::string why;
    if (rule.contains("properties") && rule["properties"].contains(key)) {
      why = broken(rule["properties"][key], member, place);
    } else if (rule.contains("additionalProperties")) {
      const Json& others = rule["additionalProperties"];
      if (others.is_object()) why = broken(others, member, place);
      if (others == false) why = place + " is unknown";
    }
    if (!why.empty()) return why;
  }
  return "";
}

bool is_of_type(const std::string& type, const Json& value) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  return type == "number" && value.is_number();
}

std::string broken(const Json& rule, const Json& value, const std::string& where) {
  static const std::set<std::string> kKeywords = {
      "$schema",  "title",    "description", "definitions",      "type",
      "required", "items",    "properties",  "propertyNames",    "additionalProperties",
      "minItems", "maxItems", "minLength",   "maxLength",        "minProperties",
      "pattern",  "enum",     "const",       "minimum",          "exclusiveMaximum",
      "anyOf",    "oneOf",    "$ref",        "exclusiveMinimum", "uniqueItems"};
  for (const auto& [keyword, argument] : rule.items()) {
    if (!kKeywords.contains(keyword)) return "the schema uses " + keyword;
  }
  if (rule.contains("$ref")) return broken(referenced(rule), value, where);
  if (rule.contains("type") && !is_of_type(rule["type"].get<std::string>(), value)) {
    return where + " is no " + rule["type"].get<std::string>();
  }
  for (const char* const keyword : {"anyOf", "oneOf"}) {
    if (!rule.contains(keyword)) continue;
    const auto holding = std::count_if(
        rule[keyword].begin(), rule[keyword].end(),
        [&](const Json& alternative) { return broken(alternative, value, where).empty(); });
    if (holding == 0 || (holding > 1 && keyword == std::string("oneOf"))) {
      return where + " satisfies " + std::to_string(holding) + " of " + keyword;
    }
  }
  if (rule.contains("enum") &&
      std::find(rule["enum"].begin(), rule["enum"].end(), value) == rule["enum"].end()) {
    return where + " is not one of " + rule["enum"].dump();
  }
  if (rule.contains("const") && value != rule["const"]) return where + " is another word";
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    if (text.size() < rule.value("minLength", 0u)) return where + " is too short";
    if (text.size() > rule.value("maxLength", 1u << 20)) return where + " is too long";
    if (rule.contains("pattern") && !matches(text, rule["pattern"].get<std::string>())) {
      return where + " does not match " + rule["pattern"].get<std::string>();
    }
  }
  if (value.is_number()) {
    const double number = value.get<double>();
    if (rule.contains("minimum") && number < rule["minimum"].get<double>())
      return where + " is low";
    if (rule.contains("exclusiveMinimum") && number <= rule["exclusiveMinimum"].get<double>()) {
      return where + " is low";
    }
    if (rule.contains("exclusiveMaximum") && number >= rule["exclusiveMaximum"].get<double>()) {
      return where + " is high";
    }
  }
  if (value.is_array()) {
    if (value.size() < rule.value("minItems", 0u)) return where + " has too few elements";
    if (value.size() > rule.value("maxItems", 1u << 20)) return where + " has too many elements";
    const std::set<Json> different(value.begin(), value.end());
    if (rule.value("uniqueItems", false) && different.size() < value.size()) {
      return where + " has an element twice";
    }
    for (std::size_t i = 0; rule.contains("items") && i < value.size(); ++i) {
      const std::string why = broken(rule["items"], value[i], child(where, i));
      if (!why.empty()) return why;
    }
  }
  if (value.is_object()) return broken_by_object(rule, value, where);
  return "";
}

std::vector<std::string> properties(const Json& rule) {
  std::vector<std::string> keys;
  for (const auto& [key, property] : rule.at("properties").items()) keys.push_back(key);
  return keys;
}

const Json& rule_of(const std::string& object) {
  return object == "space" ? schema() : schema().at("definitions").at(object);
}

TEST(Schema, HasTheKeysThatTheLoaderKnowsAndNoOthers) {
  for (const auto& [object, keys] : space_file_keys()) {
    EXPECT_THAT(properties(rule_of(object)), testing::UnorderedElementsAreArray(keys)) << object;
    EXPECT_EQ(false, rule_of(object).at("additionalProperties")) << object;
  }
  for (const auto& [name, definition] : schema().at("definitions").items()) {
    if (!definition.contains("properties")) continue;
    EXPECT_TRUE(space_file_keys().contains(name)) << name;
  }
}

TEST(Schema, DescribesEveryKey) {
  for (const auto& [object, keys] : space_file_keys()) {
    for (const auto& [key, rule] : rule_of(object).at("properties").items()) {
      const Json& described =
          rule.contains("description") || !rule.contains("$ref") ? rule : referenced(rule);
      EXPECT_GT(described.value("description", "").size(), 15u) << object << " " << key;
    }
  }
}

std::vector<std::string> shipped_spaces() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigs)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".json" && name != "schema" && name != "devices") {
      names.push_back(name);
    }
  }
  std::ranges::sort(names);
  return names;
}

class ShippedSpaces : public testing::TestWithParam<std::string> {};

TEST_P(ShippedSpaces, SatisfyTheSchema) {
  EXPECT_EQ("", broken(schema(), read(kConfigs / (GetParam() + ".json"))));
}

INSTANTIATE_TEST_SUITE_P(Shipped, ShippedSpaces, testing::ValuesIn(shipped_spaces()),
                         [](const auto& space) { return space.param; });

TEST(Schema, RefusesWhatTheLoaderRefuses) {
  const auto changed = [](const std::string& pointer, const std::string& value) {
    Json space = read(kConfigs / "gemm.json");
    space[Json::json_pointer(pointer)] = Json::parse(value);
    return broken(schema(), space);
  };
  EXPECT_EQ("", changed("/description", "\"another\""));
  EXPECT_EQ("/problem is unknown", changed("/problem", "[]"));
  EXPECT_EQ("/kernels/3/parameters/TILE satisfies 0 of anyOf",
            changed("/kernels/3/parameters/TILE/2", "0.5"));
  EXPECT_EQ("/kernels/0 satisfies 2 of oneOf", changed("/kernels/0/launches", "[]"));
  EXPECT_EQ("/kernels/0/block has too many elements", changed("/kernels/0/block", "[1, 2, 3, 4]"));
  EXPECT_EQ("/verify/absolute is low", changed("/verify/absolute", "-1"));
  EXPECT_EQ("/verify/relative is high", changed("/verify/relative", "1"));
  EXPECT_EQ("/arguments/2/role is not one of [\"input\",\"output\",\"inout\",\"scratch\"]",
            changed("/arguments/2/role", "\"result\""));
  EXPECT_THAT(changed("/kernels/0/options", R"(["-I/etc"])"),
              testing::StartsWith("/kernels/0/options/0 does not match "));
  EXPECT_THAT(changed("/arguments/0/init", "\"unifrom(0, 1)\""),
              testing::StartsWith("/arguments/0/init does not match "));
  EXPECT_EQ("/problems has too few elements", changed("/problems", "[]"));
}

// The schema and the loader have separate lists of options.
TEST(Schema, AllowsTheOptionsThatTheLoaderAllows) {
  const std::string pattern =
      schema()
          .at(Json::json_pointer("/definitions/kernel/properties/options/items/pattern"))
          .get<std::string>();
  for (const char* const option :
       {"--use_fast_math", "--fmad=true", "--fmad=false", "--maxrregcount=64", "-lineinfo",
        "--std=c++14", "--std=c++17", "--std=c++20", "--extra-device-vectorization", "--ftz=true",
        "--prec-div=false", "--prec-sqrt=false", "--device-int128", "-DNAME", "-DNAME=1",
        "-DNAME=-0.5e+3"}) {
    EXPECT_TRUE(matches(option, pattern)) << option;
  }
  for (const char* const option : {"-I/etc", "--fmad=maybe", "--std=c++03", "--maxrregcount=",
                                   "--time=x", "-D", "-D1=2", "-DNAME=a b", "--use_fast_math "}) {
    EXPECT_FALSE(matches(option, pattern)) << option;
  }
}

}  // namespace
}  // namespace smemtune
