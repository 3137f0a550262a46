#include "db/code_names.h"
#include "db/export_formats.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <sstream>

namespace smemtune::db {

namespace {

std::string indented(std::size_t spaces) { return std::string(spaces, ' '); }

/// The syntax in which a language writes a tree.
struct Language {
  const char* comment;
  const char* if_begin;
  const char* both;
  const char* if_end;
  const char* end_if;  ///< Empty: indentation says it.
  std::string answer;  ///< Begins the return of a configuration, whose number follows.
  const char* answer_end;
  std::function<std::string(const std::string& name)> member;  ///< Of a problem.
  std::string (*word)(const std::string& text);
  std::string (*integer)(std::int64_t value);

  std::string if_all(const std::vector<std::string>& conditions) const {
    return if_begin + joined(conditions, both) + if_end;
  }
};

Language cpp_with(const BindingsStruct& problem) {
  return {.comment = "//",
          .if_begin = "if (",
          .both = " && ",
          .if_end = ") {",
          .end_if = "}",
          .answer = "return c",
          .answer_end = ";",
          .member = [&](const std::string& name) { return "p." + problem.member(name); },
          .word = string_literal,
          .integer = integer_literal};
}

/// Returns a literal of Python: JSON's of ASCII characters is one.
std::string python_text(const std::string& text) {
  using Json = nlohmann::json;
  return Json(text).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

Language python_with(const std::string& prefix) {
  return {.comment = "#",
          .if_begin = "if ",
          .both = " and ",
          .if_end = ":",
          .end_if = "",
          .answer = "return " + prefix + "_C",
          .answer_end = "",
          .member = [](const std::string& name) { return "p[" + python_text(name) + "]"; },
          .word = python_text,
          .integer = [](std::int64_t value) { return std::to_string(value); }};
}

/// The configurations that the rules of a space's devices name, each once; the first is what other
/// devices get.
class Configurations {
 public:
  explicit Configurations(const std::vector<const DeviceRules*>& devices) {
    for (const DeviceRules* one : devices) add(*one, one->rules.fallback);
    for (const DeviceRules* one : devices) {
      for (const SizeRules::Node& node : one->rules.nodes) {
        if (node.name.empty()) add(*one, node.variant);
      }
    }
  }

  std::size_t number(const DeviceRules& of, std::size_t variant) const {
    return numbers_.at(text(of.variants[variant]));
  }
  const std::vector<const KernelConfiguration*>& all() const { return all_; }

  static std::string text(const KernelConfiguration& one) {
    return one.kernel + " " + key(one.configuration);
  }

 private:
  void add(const DeviceRules& of, std::size_t variant) {
    const KernelConfiguration& one = of.variants[variant];
    if (numbers_.try_emplace(text(one), all_.size()).second) all_.push_back(&one);
  }

  std::map<std::string, std::size_t> numbers_;
  std::vector<const KernelConfiguration*> all_;
};

/// Writes the body of a device's function.
class TreeWriter {
 public:
  TreeWriter(const Language& language, const DeviceRules& of, const Configurations& configurations)
      : language_(language), of_(of), configurations_(configurations) {}

  std::string text(std::size_t indent) const {
    const std::vector<std::string> within = reach();
    if (within.empty()) return tree(0, indent);
    return if_block(within, 0, indent) + indented(indent) + answer(of_.rules.fallback) + "  " +
           language_.comment + " Too far from what was measured.\n";
  }

 private:
  std::string answer(std::size_t variant) const {
    return language_.answer + std::to_string(configurations_.number(of_, variant)) +
           language_.answer_end;
  }

  std::string is(const std::string& name, const char* relation, const Value& limit) const {
    const auto* size = std::get_if<std::int64_t>(&limit);
    return language_.member(name) + relation +
           (size != nullptr ? language_.integer(*size)
                            : language_.word(std::get<std::string>(limit)));
  }

  /// Returns the conditions that a problem within reach fulfills.
  std::vector<std::string> reach() const {
    std::vector<std::string> conditions;
    for (const auto& [name, words] : of_.rules.words) {
      if (words.size() == 1) conditions.push_back(is(name, " == ", *words.begin()));
    }
    for (const auto& [name, range] : of_.rules.sizes) {
      conditions.push_back(is(name, " >= ", range.first));
      conditions.push_back(is(name, " <= ", range.second));
    }
    return conditions;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the tree.
  std::string if_block(const std::vector<std::string>& conditions, std::size_t then,
                       std::size_t indent) const {
    const std::string end = language_.end_if;
    return indented(indent) + language_.if_all(conditions) + "\n" + tree(then, indent + 2) +
           (end.empty() ? "" : indented(indent) + end + "\n");
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as the tree.
  std::string tree(std::size_t at, std::size_t indent) const {
    const SizeRules::Node& node = of_.rules.nodes[at];
    if (node.name.empty()) {
      return indented(indent) + answer(node.variant) + "  " + language_.comment + " " +
             counted(node.cases.size(), "measured size") + ".\n";
    }
    const char* const relation = std::holds_alternative<std::int64_t>(node.limit) ? " <= " : " == ";
    return if_block({is(node.name, relation, node.limit)}, node.yes, indent) +
           tree(node.no, indent);
  }

  const Language& language_;
  const DeviceRules& of_;
  const Configurations& configurations_;
};

std::map<std::string, std::vector<const DeviceRules*>> by_space(
    const std::vector<DeviceRules>& devices) {
  std::map<std::string, std::vector<const DeviceRules*>> spaces;
  for (const DeviceRules& one : devices) spaces[one.space].push_back(&one);
  for (auto& [space, its] : spaces) std::ranges::stable_sort(its, {}, &DeviceRules::device);
  return spaces;
}

std::string comments(const std::string& mark, const DeviceRules& of) {
  std::string text = mark + " " + for_comment(of.device) + "\n";
  std::string line;
  for (std::istringstream lines(of.notes); std::getline(lines, line);) {
    text += mark + " " + for_comment(line) + "\n";
  }
  return text;
}

/// Returns a word of each device that no other has: `nvidia_h200`.
std::vector<std::string> device_words(const std::vector<const DeviceRules*>& devices) {
  std::vector<std::string> words;
  std::set<std::string> taken;
  for (const DeviceRules* one : devices) {
    std::string word = "on";
    for (const char c : one->device.substr(0, 40)) {
      const bool is_lower = (c >= 'a' && c <= 'z') || is_digit(c);
      const bool is_upper = c >= 'A' && c <= 'Z';
      if (!is_lower && !is_upper && word.back() == '_') continue;
      if (word == "on") word += '_';
      word += is_lower ? c : is_upper ? static_cast<char>(c - 'A' + 'a') : '_';
    }
    while (word.back() == '_') word.pop_back();
    const std::string base = word;
    for (int i = 2; !taken.insert(word).second; ++i) word = base + "_" + std::to_string(i);
    words.push_back(word);
  }
  return words;
}

/// Throws InputError where a name has sizes in some problems, and words in others.
void refuse_mixed(const std::string& space, const std::vector<const DeviceRules*>& devices) {
  std::set<std::string> sizes;
  std::set<std::string> words;
  for (const DeviceRules* one : devices) {
    for (const auto& [name, range] : one->rules.sizes) sizes.insert(name);
    for (const auto& [name, its] : one->rules.words) words.insert(name);
  }
  for (const std::string& name : sizes) {
    if (!words.contains(name)) continue;
    throw InputError("space " + space + ": " + string_literal(name) +
                     " is a size in some problems and a word in others");
  }
}

Problem names_of(const SizeRules& rules) {
  Problem problem;
  for (const auto& [name, range] : rules.sizes) problem[name] = std::int64_t{0};
  for (const auto& [name, words] : rules.words) problem[name] = std::string();
  return problem;
}

std::string cpp_space(const std::string& space, const std::string& space_name,
                      const std::vector<const DeviceRules*>& devices) {
  refuse_mixed(space, devices);
  const Configurations configurations(devices);
  Names kernels("space " + space + ": the kernel", {});
  BindingsStruct problem("Problem", "space " + space + ": the problem's");
  BindingsStruct parameters("Parameters", "space " + space + ": the parameter");
  for (const DeviceRules* one : devices) problem.add(names_of(one->rules));
  for (const KernelConfiguration* one : configurations.all()) {
    kernels.add(one->kernel);
    parameters.add(one->configuration);
  }
  std::string text = "namespace " + space_name + " {\n\nenum class Kernel { " +
                     joined(kernels.all(), ", ", [](const auto& one) { return one.second; }) +
                     " };\n\n" + problem.definition() +
                     "\n// 0, or empty, for what a kernel does not have.\n" +
                     parameters.definition() +
                     "\nstruct Configuration {\n  Kernel kernel;\n  Parameters parameters;\n};\n\n";
  for (std::size_t i = 0; i < configurations.all().size(); ++i) {
    const KernelConfiguration& one = *configurations.all()[i];
    text += "// " + for_comment(Configurations::text(one)) + "\ninline constexpr Configuration c" +
            std::to_string(i) + " = {Kernel::" + kernels.of(one.kernel) + ", " +
            parameters.value(one.configuration) + "};\n";
  }
  const Language language = cpp_with(problem);
  const std::vector<std::string> words = device_words(devices);
  std::string select =
      "\nconstexpr Configuration select(::std::string_view device, const Problem& p) {\n";
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const TreeWriter writer(language, *devices[i], configurations);
    text += "\n" + comments("//", *devices[i]) + "constexpr Configuration " + words[i] +
            "(const Problem& p) {\n" + writer.text(2) + "}\n";
    select +=
        "  if (device == " + string_literal(devices[i]->device) + ") return " + words[i] + "(p);\n";
  }
  return text + select + "  return c0;\n}\n\n}  // namespace " + space_name + "\n";
}

std::string python_space(const std::string& space, const std::vector<const DeviceRules*>& devices) {
  need_name("the space", space);
  refuse_mixed(space, devices);
  const Configurations configurations(devices);
  std::string upper = space;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  std::string text;
  for (std::size_t i = 0; i < configurations.all().size(); ++i) {
    const KernelConfiguration& one = *configurations.all()[i];
    std::vector<std::string> members;
    for (const auto& [name, value] : one.configuration) {
      const auto* word = std::get_if<std::string>(&value);
      members.push_back(python_text(name) + ": " +
                        (word != nullptr ? python_text(*word) : to_text(value)));
    }
    text += upper + "_C" + std::to_string(i) + " = (" + python_text(one.kernel) + ", {" +
            joined(members, ", ") + "})\n";
  }
  const Language language = python_with(upper);
  const std::vector<std::string> words = device_words(devices);
  std::string select = "\n\ndef " + space + "_select(device, **problem):\n";
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const TreeWriter writer(language, *devices[i], configurations);
    text += "\n\n" + comments("#", *devices[i]) + "def " + space + "_" + words[i] + "(p):\n" +
            writer.text(2);
    select += "  if device == " + python_text(devices[i]->device) + ":\n    return " + space + "_" +
              words[i] + "(problem)\n";
  }
  return text + select + "  return " + upper + "_C0\n";
}

}  // namespace

std::string export_rules_cpp(const std::vector<DeviceRules>& devices) {
  std::string text =
      "// Which configuration to use for which size, written by `smemtune export --rules cpp`: do "
      "not edit.\n"
      "//   constexpr auto best = smemtune_rules::SPACE::select(\"NVIDIA H200\", {...});\n"
      "// Another device gets the default values.\n"
      "#pragma once\n\n#include <string_view>\n\nnamespace smemtune_rules {\n";
  Names names("the space", {"std", "smemtune"});
  for (const auto& [space, its] : by_space(devices)) {
    names.add(space);
    text += "\n" + cpp_space(space, names.of(space), its);
  }
  return text + "\n}  // namespace smemtune_rules\n";
}

std::string export_rules_python(const std::vector<DeviceRules>& devices) {
  std::string text =
      "\"\"\"Which configuration to use for which size, written by `smemtune export --rules "
      "python`.\n"
      "\nSPACE_select(device, **problem) returns a kernel's name and its parameters. Another "
      "device "
      "gets the\ndefault values.\n\"\"\"\n";
  for (const auto& [space, its] : by_space(devices)) text += "\n" + python_space(space, its);
  return text;
}

}  // namespace smemtune::db
