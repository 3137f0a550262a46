#include "tuner/config/space_reader.h"

#include "tuner/config/space_words.h"
#include "tuner/core/error.h"
#include "tuner/core/expression.h"
#include "tuner/core/hash.h"
#include "tuner/core/limits.h"
#include "tuner/core/option_template.h"
#include "tuner/core/text.h"
#include "tuner/core/text_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = 1u << 20;

// Times the reference's own error: see engine/tolerance_derivation.h.
constexpr double kDerivedFactor = 16;

/// As an expression has it.
std::string literal(const Value& value) {
  return holds_word(value) ? "\"" + to_text(value) + "\"" : to_text(value);
}

}  // namespace

LoadedSpace SpaceReader::read() {
  LoadedSpace loaded;
  loaded.text = read_text(file_, kMaxFileBytes);
  loaded.sha256 = sha256(loaded.text);
  const Json root = parse_json(loaded.text, file_.string(), &lines_);
  space_.file = file_;
  find_todos(root, "");
  if (!check_object(root, "", "space")) return loaded;

  if (root.contains("name")) {
    space_.name = identifier(root["name"], "/name").value_or("");
  } else {
    fault("", "lacks \"name\"");
  }
  if (root.contains("$schema")) text(root["$schema"], "/$schema", "the schema's path");
  if (root.contains("description")) {
    space_.description = text(root["description"], "/description", "a text").value_or("");
  }
  read_problems(root);
  if (root.contains("arguments")) {
    arguments_ = read_arguments(root["arguments"], "/arguments", false);
  }
  if (root.contains("metrics")) metrics_ = read_metrics(root["metrics"], "/metrics");
  if (root.contains("verify")) read_verify(root);
  if (!root.contains("kernels")) {
    fault("", "lacks \"kernels\"");
  } else if (check_list(root["kernels"], "/kernels", "a list of kernels")) {
    for (std::size_t i = 0; i < root["kernels"].size(); ++i) {
      space_.kernels.push_back(read_kernel(root["kernels"][i], child("/kernels", i)));
    }
  }
  check_names();

  // What follows takes the values for right.
  if (!faults_.empty()) return loaded;
  check_buffers_agree();
  for (const KernelTemplate& kernel : space_.kernels) check_arguments(kernel);
  for (KernelTemplate& kernel : space_.kernels) {
    check_source(kernel, loaded);
    check_guess(kernel, loaded);
  }
  if (!faults_.empty()) return loaded;
  for (const KernelTemplate& kernel : space_.kernels) check_values(kernel);
  check_definitions();
  check_expected();
  check_derived(loaded);
  loaded.space = std::move(space_);
  return loaded;
}

void SpaceReader::find_todos(const Json& value, const std::string& pointer) {
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

void SpaceReader::fault(const std::string& pointer, const std::string& message) {
  if (todos_.contains(pointer)) return;  // Said already.
  std::string place = file_.string();
  // What is not there stands in the line of what should have it.
  for (std::string known = pointer; !known.empty(); known.resize(known.rfind('/'))) {
    const auto line = lines_.find(known);
    if (line == lines_.end()) continue;
    place += ":" + std::to_string(line->second);
    break;
  }
  add_line(place + ": " + (pointer.empty() ? "" : printable(pointer, 200) + ": ") + message);
}

/// Of a message that begins with the file and the pointer.
void SpaceReader::fault_with_place(const std::string& message) {
  const std::string begin = file_.string() + ": ";
  const std::size_t end = message.find(": ", begin.size());
  if (!message.starts_with(begin + "/") || end == std::string::npos) return add_line(message);
  fault(message.substr(begin.size(), end - begin.size()), message.substr(end + 2));
}

void SpaceReader::add_line(const std::string& line) {
  // The same expression may be wrong for every problem.
  if (std::find(faults_.begin(), faults_.end(), line) == faults_.end()) faults_.push_back(line);
}

bool SpaceReader::check_object(const Json& value, const std::string& pointer,
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
          "unknown key" + (nearest.empty() ? "; known are " + listed(known) : nearest));
  }
  return true;
}

bool SpaceReader::check_list(const Json& value, const std::string& pointer,
                             const std::string& expected) {
  if (value.is_array() && !value.empty()) return true;
  fault(pointer, summary(value) + " is not " + expected);
  return false;
}

std::optional<std::string> SpaceReader::text(const Json& value, const std::string& pointer,
                                             const std::string& expected) {
  if (value.is_string() && !value.get_ref<const std::string&>().empty()) {
    return value.get<std::string>();
  }
  fault(pointer, summary(value) + " is not " + expected);
  return std::nullopt;
}

/// A member that is false where it is left out.
bool SpaceReader::flag(const Json& object, const std::string& name, const std::string& pointer) {
  if (!object.contains(name)) return false;
  const Json& value = object[name];
  if (!value.is_boolean())
    fault(child(pointer, name), summary(value) + " is neither true nor false");
  return value.is_boolean() && value.get<bool>();
}

std::optional<std::string> SpaceReader::identifier(const Json& value, const std::string& pointer) {
  std::optional<std::string> name = text(value, pointer, "a name");
  if (!name || is_identifier(*name)) return name;
  fault(pointer, quote(*name) + " is not a name: a letter, then letters, digits and _, at most " +
                     std::to_string(kMaxNameBytes));
  return std::nullopt;
}

std::optional<Value> SpaceReader::scalar(const Json& value, const std::string& pointer) {
  if (value.is_boolean()) return Value(std::int64_t{value.get<bool>() ? 1 : 0});
  if (value.is_number_integer()) return Value(value.get<std::int64_t>());
  if (!value.is_string()) {
    fault(pointer, summary(value) + " is not an integer, a boolean or a word");
    return std::nullopt;
  }
  const std::string& word = value.get_ref<const std::string&>();
  if (is_todo(word)) return std::nullopt;  // Said already.
  if (is_word(word)) return Value(word);
  fault(pointer, quote(word) +
                     " is not a word: a letter, then letters, digits, _ : < > and single spaces, "
                     "at most " +
                     std::to_string(kMaxNameBytes));
  return std::nullopt;
}

std::optional<double> SpaceReader::tolerance(const Json& value, const std::string& pointer) {
  if (value.is_number() && value.get<double>() >= 0) return value.get<double>();
  fault(pointer, summary(value) + " is not a number of 0 or more");
  return std::nullopt;
}

std::optional<ExpressionText> SpaceReader::expression(const Json& value,
                                                      const std::string& pointer) {
  if (value.is_number_integer()) {
    return ExpressionText{.text = std::to_string(value.get<std::int64_t>()), .where = pointer};
  }
  const std::optional<std::string> found = text(value, pointer, "an expression or an integer");
  if (!found) return std::nullopt;
  return ExpressionText{.text = *found, .where = pointer};
}

std::vector<ExpressionText> SpaceReader::expressions(const Json& value, const std::string& pointer,
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

std::vector<ExpressionText> SpaceReader::dimensions(const Json& value, const std::string& pointer) {
  const std::string expected = "a list of one to three expressions (x, y, z)";
  if (value.is_array() && (value.empty() || value.size() > 3)) {
    fault(pointer, summary(value) + " is not " + expected);
    return {};
  }
  return expressions(value, pointer, expected);
}

void SpaceReader::read_problems(const Json& root) {
  if (root.contains("problems")) {
    space_.problems = problem_list(root["problems"], "/problems");
  } else {
    fault("", "lacks \"problems\"");
  }
  if (root.contains("cpu_problems")) {
    space_.cpu_problems = problem_list(root["cpu_problems"], "/cpu_problems");
  }
}

std::vector<Problem> SpaceReader::problem_list(const Json& value, const std::string& pointer) {
  std::vector<Problem> problems;
  if (!check_list(value, pointer, "a list of problems")) return problems;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string where = child(pointer, i);
    if (!value[i].is_object() || value[i].empty()) {
      fault(where, summary(value[i]) + " is not an object of sizes and types");
      continue;
    }
    Problem problem;
    bool complete = true;
    for (const auto& [name, member] : value[i].items()) {
      if (!is_identifier(name)) {
        fault(child(where, name), quote(name) + " is not a name");
        complete = false;
      } else if (const auto found = scalar(member, child(where, name))) {
        problem.emplace(name, *found);
      } else {
        complete = false;
      }
    }
    if (!complete) continue;

    // All problems are of one family: the first one's names and kinds.
    const Problem& first = !space_.problems.empty() ? space_.problems.front()
                           : !problems.empty()      ? problems.front()
                                                    : problem;
    const std::vector<std::string> known = names_of(first);
    for (const auto& [name, found] : problem) {
      const auto expected = first.find(name);
      if (expected == first.end()) {
        fault(child(where, name),
              "the first problem has no " + quote(name) + suggestion(name, known));
        complete = false;
      } else if (holds_word(expected->second) != holds_word(found)) {
        fault(child(where, name),
              quote(to_text(found)) + " is " + (holds_word(found) ? "a word" : "an integer") +
                  ", but the first problem has " + quote(to_text(expected->second)));
        complete = false;
      }
    }
    for (const std::string& name : known) {
      if (problem.contains(name)) continue;
      fault(where, "lacks " + quote(name) + ", which the first problem has");
      complete = false;
    }
    if (complete && std::find(problems.begin(), problems.end(), problem) != problems.end()) {
      fault(where, quote(key(problem)) + " is there twice");
    } else if (complete) {
      problems.push_back(problem);
    }
  }
  return problems;
}

std::vector<ArgumentTemplate> SpaceReader::read_arguments(const Json& value,
                                                          const std::string& pointer,
                                                          bool of_kernel) {
  std::vector<ArgumentTemplate> arguments;
  if (!check_list(value, pointer, "a list of arguments")) return arguments;
  const std::size_t faults_before = faults_.size();
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string where = child(pointer, i);
    std::optional<ArgumentTemplate> argument;
    if (of_kernel && value[i].is_string()) {  // One of the space's, by name.
      const std::string& name = value[i].get_ref<const std::string&>();
      const auto found = std::find_if(arguments_.begin(), arguments_.end(),
                                      [&](const auto& known) { return known.name == name; });
      if (found != arguments_.end()) {
        argument = *found;
      } else {
        std::vector<std::string> known;
        for (const ArgumentTemplate& other : arguments_) known.push_back(other.name);
        fault(where, "the space has no argument " + quote(name) + suggestion(name, known));
      }
    } else {
      argument = read_argument(value[i], where);
    }
    if (!argument) continue;
    if (std::any_of(arguments.begin(), arguments.end(),
                    [&](const auto& known) { return known.name == argument->name; })) {
      fault(where, "there are two arguments " + quote(argument->name));
    }
    arguments.push_back(*argument);
  }
  const auto is_result = [](const ArgumentTemplate& argument) {
    return argument.is_buffer() && (argument.role == Role::output || argument.role == Role::inout);
  };
  if (faults_.size() == faults_before &&
      std::none_of(arguments.begin(), arguments.end(), is_result)) {
    fault(pointer, "none has the role \"output\" or \"inout\", so nothing could be verified");
  }
  return arguments;
}

std::optional<ArgumentTemplate> SpaceReader::read_argument(const Json& value,
                                                           const std::string& pointer) {
  if (!check_object(value, pointer, "argument")) return std::nullopt;
  ArgumentTemplate argument;
  argument.where = pointer;
  for (const char* const needed : {"name", "type"}) {
    if (!value.contains(needed)) fault(pointer, std::string("lacks \"") + needed + "\"");
  }
  if (value.contains("name")) {
    argument.name = identifier(value["name"], child(pointer, "name")).value_or("");
  }
  if (value.contains("type")) {
    argument.type = text(value["type"], child(pointer, "type"), "a type").value_or("");
  }
  if (value.contains("description")) {
    text(value["description"], child(pointer, "description"), "a text");
  }
  if (value.contains("shape") == value.contains("value")) {
    fault(pointer, "needs either \"shape\" (a buffer) or \"value\" (a scalar)");
  } else if (value.contains("shape")) {
    read_buffer(value, pointer, argument);
  } else {
    read_scalar(value, pointer, argument);
  }
  return argument;
}

void SpaceReader::read_buffer(const Json& value, const std::string& pointer,
                              ArgumentTemplate& argument) {
  static const std::vector<std::string> roles = {"input", "output", "inout", "scratch"};
  const std::string shape = child(pointer, "shape");
  std::optional<std::int64_t> bytes;
  try {
    bytes = struct_bytes(argument.type);
  } catch (const InputError& error) {
    fault(child(pointer, "type"), error.what());
  }
  if (check_list(value["shape"], shape, "a list of expressions, outermost dimension first")) {
    argument.shape = expressions(value["shape"], shape, "a list of expressions");
  }
  if (bytes) {  // Structs are compared byte by byte.
    argument.raw_bytes = *bytes;
    argument.type = cuda_name(ScalarType::uint8);
    argument.shape.push_back({.text = std::to_string(*bytes), .where = child(pointer, "type")});
  }
  argument.role = Role::output;  // Where it is not known, so that nothing more is said of it.
  if (!value.contains("role")) {
    fault(pointer, "lacks \"role\", one of " + listed(roles));
  } else if (const auto role =
                 text(value["role"], child(pointer, "role"), "one of " + listed(roles))) {
    const auto found = std::find(roles.begin(), roles.end(), *role);
    if (found == roles.end()) {
      fault(child(pointer, "role"),
            quote(*role) + " is not one of " + listed(roles) + suggestion(*role, roles));
    } else {
      argument.role = std::array{Role::input, Role::output, Role::inout,
                                 Role::scratch}[static_cast<std::size_t>(found - roles.begin())];
    }
  }
  if (value.contains("init")) {
    const std::string where = child(pointer, "init");
    if (const auto init = text(value["init"], where, "a text such as uniform(-1, 1)")) {
      read_init(*init, where, argument);
    }
    if (argument.role == Role::scratch) {
      fault(where, "a scratch buffer begins with nothing in particular; \"inout\" is restored");
    }
  } else if (argument.role == Role::input || argument.role == Role::inout) {
    fault(pointer, "lacks \"init\", how its elements begin, such as uniform(-1, 1)");
  }
  if (value.contains("compare")) {
    const std::string where = child(pointer, "compare");
    const auto compare = text(value["compare"], where, "\"sum\"");
    argument.compares_sum = true;
    if (compare && *compare != "sum") fault(where, quote(*compare) + " is not \"sum\"");
    if (argument.role != Role::output && argument.role != Role::inout) {
      fault(where, "is for the roles \"output\" and \"inout\", which are compared");
    }
  }
  if (value.contains("memory")) {
    static const std::vector<std::string> memories = {"constant", "texture"};
    const std::string where = child(pointer, "memory");
    const auto memory = text(value["memory"], where, "one of " + listed(memories));
    if (memory == "texture") {
      argument.memory = MemorySpace::texture;
      if (bytes)
        fault(where,
              "a texture has no elements of type " + quote(value["type"].get<std::string>()));
      if (argument.shape.size() > 2) {
        fault(shape,
              "a texture has one dimension, and a second one of 1, 2 or 4 elements if these "
              "are fetched at once, not " +
                  std::to_string(argument.shape.size()));
      }
    } else {
      argument.memory = MemorySpace::constant;
      argument.symbol = argument.name;
      if (memory && *memory != "constant") {
        fault(where, quote(*memory) + " is not one of " + listed(memories) +
                         suggestion(*memory, memories));
      }
    }
    if (argument.role != Role::input) {
      fault(where, "constant memory and textures are for the role \"input\" only");
    }
  }
  if (value.contains("symbol")) {
    argument.symbol =
        text(value["symbol"], child(pointer, "symbol"), "the name of a __constant__ variable")
            .value_or("");
    if (argument.memory != MemorySpace::constant) {
      fault(child(pointer, "symbol"), "needs \"memory\": \"constant\" beside it");
    }
    if (!is_identifier(argument.symbol) && !is_word(std::string_view(argument.symbol))) {
      fault(child(pointer, "symbol"), quote(argument.symbol) + " is not a name");
    }
  }
}

/// Beside the space file. Throws InputError.
DataFile SpaceReader::data_file(const fs::path& name) const {
  const std::array<fs::path, 1> folders = {roots_.space};
  const std::optional<fs::path> found = find_source(name, folders, roots_);
  if (!found) {
    throw InputError("there is no " + quote(name.string()) + " in " + roots_.space.string());
  }
  std::ifstream stream(*found, std::ios::binary);
  const std::string hash = sha256(stream);
  if (!stream.eof()) throw InputError(quote(name.string()) + " cannot be read");
  return {.path = *found, .sha256 = hash};
}

void SpaceReader::read_init(const std::string& init, const std::string& where,
                            ArgumentTemplate& argument) {
  try {
    argument.init = parse_init(init);
    if (argument.init.kind != Init::Kind::file) return;
    argument.init.file = data_file(argument.init.file.path);
  } catch (const InputError& error) {
    fault(where, error.what());
  }
}

/// A struct that is passed by value.
void SpaceReader::read_struct(const Json& value, const std::string& pointer,
                              ArgumentTemplate& argument) {
  argument.type = cuda_name(ScalarType::uint8);
  const std::string where = child(pointer, "value");
  const auto init = text(value["value"], where, "zero or file(\"NAME.npy\") with the bytes");
  if (!init) return;
  read_init(*init, where, argument);
  if (argument.init.kind != Init::Kind::file && argument.init.kind != Init::Kind::zero) {
    fault(where, quote(*init) + " is neither zero nor file(\"NAME.npy\")");
  }
}

void SpaceReader::read_scalar(const Json& value, const std::string& pointer,
                              ArgumentTemplate& argument) {
  for (const char* const key : {"init", "compare", "memory", "symbol"}) {
    if (value.contains(key)) fault(child(pointer, key), "is for buffers; a scalar has a \"value\"");
  }
  if (value.contains("role") && value["role"] != "input") {
    fault(child(pointer, "role"), "a scalar can only be an input");
  }
  try {
    argument.raw_bytes = struct_bytes(argument.type).value_or(0);
  } catch (const InputError& error) {
    fault(child(pointer, "type"), error.what());
  }
  if (argument.raw_bytes > 0) return read_struct(value, pointer, argument);
  const std::optional<ScalarType> type = scalar_type(argument.type);
  const std::string where = child(pointer, "value");
  if (value["value"].is_number_float()) {
    argument.number = value["value"].get<double>();
    if (type && !is_floating(*type)) {
      fault(where, summary(value["value"]) + " is not an integer, but the type is " +
                       quote(argument.type));
    }
  } else if (value["value"].is_number_integer() && type && is_floating(*type)) {
    argument.number = value["value"].get<double>();
  } else {
    argument.value = expression(value["value"], where);
  }
}

std::map<std::string, ExpressionText> SpaceReader::read_metrics(const Json& value,
                                                                const std::string& pointer) {
  std::map<std::string, ExpressionText> metrics;
  if (!value.is_object()) {
    fault(pointer, summary(value) + " is not an object of expressions");
    return metrics;
  }
  for (const auto& [name, member] : value.items()) {
    if (!is_identifier(name)) fault(child(pointer, name), quote(name) + " is not a name");
    if (const auto found = expression(member, child(pointer, name))) metrics.emplace(name, *found);
  }
  return metrics;
}

void SpaceReader::read_tolerance(const Json& value, const std::string& pointer, Tolerance& result) {
  read_derived(value, pointer, result);
  if (value.contains("ulps")) {
    result.ulps = tolerance(value["ulps"], child(pointer, "ulps"));
  }
  if (value.contains("absolute")) {
    result.absolute = tolerance(value["absolute"], child(pointer, "absolute"));
  }
  if (value.contains("relative")) {
    const std::string where = child(pointer, "relative");
    result.relative = tolerance(value["relative"], where);
    if (result.relative && *result.relative >= 1) {
      fault(where, summary(value["relative"]) + " would let 0 pass for every value; below 1");
    }
  }
}

/// Of the reference's own error. What a kernel says replaces what the space says.
void SpaceReader::read_derived(const Json& value, const std::string& pointer, Tolerance& result) {
  const bool has_numbers =
      value.contains("absolute") || value.contains("relative") || value.contains("ulps");
  if (!value.contains("derived")) {
    if (has_numbers) result.derived.reset();
    return;
  }
  const std::string where = child(pointer, "derived");
  const Json& factor = value["derived"];
  if (has_numbers) {
    fault(where, "excludes absolute, relative and ulps, which it stands for");
  } else if (factor.is_boolean() && factor.get<bool>()) {
    result = {.absolute = {}, .relative = {}, .derived = kDerivedFactor};
  } else if (factor.is_number() && factor.get<double>() >= 1) {
    result = {.absolute = {}, .relative = {}, .derived = factor.get<double>()};
  } else {
    fault(where, summary(factor) + " is neither true nor a factor of 1 or more");
  }
}

void SpaceReader::read_expected(const Json& value, const std::string& pointer) {
  if (!value.is_object() || value.empty()) {
    fault(pointer, summary(value) + " is not an object of .npy files by output");
    return;
  }
  for (const auto& [output, file] : value.items()) {
    const std::string where = child(pointer, output);
    const auto name = text(file, where, "the name of a .npy file");
    if (!name) continue;
    try {
      space_.verify.expected.emplace(output, data_file(*name));
    } catch (const InputError& error) {
      fault(where, error.what());
    }
  }
}

void SpaceReader::read_verify(const Json& root) {
  const Json& value = root["verify"];
  if (!check_object(value, "/verify", "verify")) return;
  read_tolerance(value, "/verify", tolerance_);
  if (value.contains("description")) {
    text(value["description"], "/verify/description", "a text");
  }
  if (value.contains("reference")) {
    space_.verify.reference =
        text(value["reference"], "/verify/reference", "the name of a kernel").value_or("");
  }
  if (value.contains("also")) space_.verify.also = problem_list(value["also"], "/verify/also");
  if (value.contains("expected")) read_expected(value["expected"], "/verify/expected");
  if (!value.contains("definition")) return;
  const Json& definition = value["definition"];
  if (definition.is_array() && !definition.empty()) {
    for (std::size_t i = 0; i < definition.size(); ++i) {
      const std::string where = child("/verify/definition", i);
      if (const auto found = text(definition[i], where, "a definition")) {
        space_.verify.definitions.push_back({.text = *found, .where = where});
      }
    }
  } else if (const auto found =
                 text(definition, "/verify/definition", "a definition or a list of them")) {
    space_.verify.definitions.push_back({.text = *found, .where = "/verify/definition"});
  }
}

KernelTemplate SpaceReader::read_kernel(const Json& value, const std::string& pointer) {
  KernelTemplate kernel;
  kernel.where = pointer;
  kernel.arguments = arguments_;
  kernel.metrics = metrics_;
  kernel.tolerance = tolerance_;
  if (!check_object(value, pointer, "kernel")) return kernel;

  for (const char* const needed : {"name", "source"}) {
    if (!value.contains(needed)) fault(pointer, std::string("lacks \"") + needed + "\"");
  }
  if (value.contains("name")) {
    kernel.name = identifier(value["name"], child(pointer, "name")).value_or("");
  }
  if (value.contains("description")) {
    kernel.description =
        text(value["description"], child(pointer, "description"), "a text").value_or("");
  }
  if (value.contains("source")) {
    kernel.source = text(value["source"], child(pointer, "source"), "a path").value_or("");
  }
  if (value.contains("pass")) {
    const auto pass = text(value["pass"], child(pointer, "pass"), "\"template\" or \"define\"");
    if (pass && *pass == "define") {
      kernel.pass = KernelTemplate::Pass::as_define;
    } else if (pass && *pass != "template") {
      fault(child(pointer, "pass"), quote(*pass) + " is neither \"template\" nor \"define\"");
    }
  }
  kernel.architecture_specific = flag(value, "architecture_specific", pointer);
  kernel.default_is_a_guess = flag(value, "default_is_a_guess", pointer);
  if (value.contains("requires")) {
    read_features(value["requires"], child(pointer, "requires"), kernel);
  }
  if (value.contains("arguments")) {
    kernel.arguments = read_arguments(value["arguments"], child(pointer, "arguments"), true);
  } else if (arguments_.empty()) {
    fault(pointer, "lacks \"arguments\", as does the space");
  }
  if (value.contains("metrics")) {
    for (auto& [name, metric] : read_metrics(value["metrics"], child(pointer, "metrics"))) {
      kernel.metrics.insert_or_assign(name, metric);
    }
  }
  if (value.contains("expect")) read_expectation(value["expect"], child(pointer, "expect"), kernel);
  if (value.contains("verify")) {
    const std::string where = child(pointer, "verify");
    if (check_object(value["verify"], where, "kernel_verify")) {
      read_tolerance(value["verify"], where, kernel.tolerance);
    }
  }
  const Conditions conditions = read_parameters(value, pointer, kernel);
  if (value.contains("constraints")) {
    kernel.constraints =
        expressions(value["constraints"], child(pointer, "constraints"), "a list of expressions");
  }
  // Where it does not count, a parameter has its default value and no other.
  for (const auto& [name, when] : conditions) {
    const auto value_then = kernel.default_configuration.find(name);
    if (value_then == kernel.default_configuration.end()) continue;
    kernel.constraints.push_back(
        {.text = "(" + when.text + ") || " + name + " == " + literal(value_then->second),
         .where = when.where});
  }
  read_launches(value, pointer, kernel);
  if (value.contains("include")) read_include(value["include"], child(pointer, "include"), kernel);
  if (value.contains("options")) read_options(value["options"], child(pointer, "options"), kernel);
  return kernel;
}

void SpaceReader::read_expectation(const Json& value, const std::string& pointer,
                                   KernelTemplate& result) {
  if (!check_object(value, pointer, "expect")) return;
  for (const char* const needed : {"time", "within_percent"}) {
    if (!value.contains(needed)) fault(pointer, std::string("lacks \"") + needed + "\"");
  }
  Expectation expectation;
  if (value.contains("time")) {
    if (const auto time = expression(value["time"], child(pointer, "time"))) {
      expectation.time = *time;
    }
  }
  if (value.contains("within_percent")) {
    const Json& within = value["within_percent"];
    if (within.is_number() && within.get<double>() > 0) {
      expectation.within_percent = within.get<double>();
    } else {
      fault(child(pointer, "within_percent"), summary(within) + " is not a number above 0");
    }
  }
  result.expect = expectation;
}

SpaceReader::Conditions SpaceReader::read_parameters(const Json& kernel, const std::string& pointer,
                                                     KernelTemplate& result) {
  Conditions conditions;
  const std::string where = child(pointer, "parameters");
  if (kernel.contains("parameters") && !kernel["parameters"].is_object()) {
    fault(where, summary(kernel["parameters"]) + " is not an object of lists");
    return conditions;
  }
  if (kernel.contains("parameters")) {
    for (const auto& [name, given] : kernel["parameters"].items()) {
      std::string place = child(where, name);
      if (!is_identifier(name)) fault(place, quote(name) + " is not a name");
      const bool has_condition = given.is_object();
      if (has_condition) {
        if (!check_object(given, place, "parameter")) continue;
        if (!given.contains("values")) fault(place, "lacks \"values\"");
        if (given.contains("when")) {
          const auto when = expression(given["when"], child(place, "when"));
          if (when) conditions.emplace(name, *when);
        }
        if (!given.contains("values")) continue;
        place = child(place, "values");
      }
      const Json& values = has_condition ? given["values"] : given;
      if (!check_list(values, place, "a list of values")) continue;
      Parameter parameter;
      parameter.name = name;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto found = scalar(values[i], child(place, i));
        if (!found) continue;
        if (std::find(parameter.values.begin(), parameter.values.end(), *found) !=
            parameter.values.end()) {
          fault(child(place, i), quote(to_text(*found)) + " is there twice");
        } else if (!parameter.values.empty() &&
                   holds_word(parameter.values.front()) != holds_word(*found)) {
          fault(child(place, i),
                quote(to_text(*found)) + " is " + (holds_word(*found) ? "a word" : "an integer") +
                    ", but the first value is " + quote(to_text(parameter.values.front())));
        } else {
          parameter.values.push_back(*found);
        }
      }
      if (parameter.values.empty()) continue;
      result.default_configuration.emplace(name, parameter.values.front());
      result.parameters.push_back(std::move(parameter));
    }
  }

  if (!kernel.contains("default")) return conditions;
  const std::string defaults = child(pointer, "default");
  if (!kernel["default"].is_object()) {
    fault(defaults, summary(kernel["default"]) + " is not an object of values");
    return conditions;
  }
  const std::vector<std::string> known = names_of(result.default_configuration);
  for (const auto& [name, value] : kernel["default"].items()) {
    const std::string place = child(defaults, name);
    const auto parameter = std::find_if(result.parameters.begin(), result.parameters.end(),
                                        [&name = name](const auto& p) { return p.name == name; });
    if (parameter == result.parameters.end()) {
      fault(place, "there is no parameter " + quote(name) + suggestion(name, known));
      continue;
    }
    const auto found = scalar(value, place);
    if (!found) continue;
    const std::vector<Value>& values = parameter->values;
    if (std::find(values.begin(), values.end(), *found) == values.end()) {
      std::vector<std::string> texts;
      texts.reserve(values.size());
      for (const Value& other : values) texts.push_back(to_text(other));
      fault(place,
            quote(to_text(*found)) + " is not one of the parameter's values " + listed(texts));
      continue;
    }
    result.default_configuration.insert_or_assign(name, *found);
  }
  return conditions;
}

void SpaceReader::read_launches(const Json& kernel, const std::string& pointer,
                                KernelTemplate& result) {
  if (kernel.contains("entry") == kernel.contains("launches")) {
    fault(pointer, "needs either \"entry\" with \"block\" and \"grid\", or \"launches\"");
    return;
  }
  if (kernel.contains("entry")) {
    result.launches = {read_launch(kernel, pointer)};
    return;
  }
  for (const char* const key : {"block", "grid", "static_shared_bytes", "dynamic_shared_bytes"}) {
    if (kernel.contains(key)) fault(child(pointer, key), "belongs into each of the launches");
  }
  const std::string where = child(pointer, "launches");
  if (!check_list(kernel["launches"], where, "a list of launches")) return;
  for (std::size_t i = 0; i < kernel["launches"].size(); ++i) {
    const Json& value = kernel["launches"][i];
    const std::string place = child(where, i);
    if (!check_object(value, place, "launch")) continue;
    LaunchTemplate launch = read_launch(value, place);
    if (value.contains("arguments") &&
        check_list(value["arguments"], child(place, "arguments"), "a list of arguments' names")) {
      std::vector<std::string> known;
      for (const ArgumentTemplate& argument : result.arguments) {
        if (argument.is_passed()) known.push_back(argument.name);
      }
      for (std::size_t j = 0; j < value["arguments"].size(); ++j) {
        const std::string named = child(child(place, "arguments"), j);
        const auto name = text(value["arguments"][j], named, "an argument's name");
        if (!name) continue;
        if (std::find(known.begin(), known.end(), *name) == known.end()) {
          fault(named,
                "there is no argument " + quote(*name) + " to pass" + suggestion(*name, known));
        }
        launch.arguments.push_back(*name);
      }
    }
    result.launches.push_back(std::move(launch));
  }
}

LaunchTemplate SpaceReader::read_launch(const Json& value, const std::string& pointer) {
  LaunchTemplate launch;
  if (value.contains("description")) {
    text(value["description"], child(pointer, "description"), "a text");
  }
  for (const char* const needed : {"entry", "block", "grid"}) {
    if (!value.contains(needed)) fault(pointer, std::string("lacks \"") + needed + "\"");
  }
  if (value.contains("entry")) {
    const std::string where = child(pointer, "entry");
    if (const auto entry = text(value["entry"], where, "a function's name")) {
      launch.entry = *entry;
      try {
        const auto [name, arguments] = split_entry(*entry);
        launch.entry_name = name;
        for (const std::string& argument : arguments) {
          launch.template_arguments.push_back({.text = argument, .where = where});
        }
      } catch (const InputError& error) {
        fault(where, error.what());
      }
    }
  }
  if (value.contains("block")) launch.block = dimensions(value["block"], child(pointer, "block"));
  if (value.contains("grid")) launch.grid = dimensions(value["grid"], child(pointer, "grid"));
  if (value.contains("static_shared_bytes")) {
    launch.static_shared_bytes =
        expression(value["static_shared_bytes"], child(pointer, "static_shared_bytes"));
  }
  if (value.contains("dynamic_shared_bytes")) {
    launch.dynamic_shared_bytes =
        expression(value["dynamic_shared_bytes"], child(pointer, "dynamic_shared_bytes"));
  }
  return launch;
}

void SpaceReader::read_features(const Json& value, const std::string& pointer,
                                KernelTemplate& result) {
  if (!check_list(value, pointer, "a list of features")) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string where = child(pointer, i);
    const auto feature = text(value[i], where, "a feature of a device");
    if (!feature) continue;
    const std::vector<std::string>& known = feature_words();
    if (std::find(known.begin(), known.end(), *feature) == known.end()) {
      const std::string meant = suggestion(*feature, known);
      fault(where, quote(*feature) + " is not a feature" +
                       (meant.empty() ? "; known are " + listed(known) : meant));
      continue;
    }
    std::vector<std::string>& features = result.required_features;
    if (std::find(features.begin(), features.end(), *feature) != features.end()) {
      fault(where, quote(*feature) + " is there twice");
    }
    features.push_back(*feature);
  }
}

/// With every value that it may take.
bool SpaceReader::allows_option(const std::string& option, const std::string& where,
                                const KernelTemplate& kernel) {
  std::vector<Value> values = {Value()};
  try {
    if (const auto name = name_in_option(option)) {
      const auto parameter = std::ranges::find(kernel.parameters, *name, &Parameter::name);
      values.clear();
      if (parameter != kernel.parameters.end()) values = parameter->values;
      for (const Problem& problem : every_problem()) {
        if (const auto found = problem.find(*name); found != problem.end()) {
          values.push_back(found->second);
        }
      }
    }
  } catch (const InputError& error) {
    fault(where, error.what());
    return false;
  }
  for (const Value& value : values) {
    const std::string bound = bind_option(option, value);
    const std::string why = refused_option(bound);
    if (why.empty()) continue;
    fault(where, quote(bound) + " is not allowed: " + why);
    return false;
  }
  return true;
}

void SpaceReader::read_options(const Json& value, const std::string& pointer,
                               KernelTemplate& result) {
  if (!value.is_array()) {
    fault(pointer, summary(value) + " is not a list of options");
    return;
  }
  std::set<std::string> names;  // What stands before the `=`.
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string where = child(pointer, i);
    const auto option = text(value[i], where, "an option of the compiler");
    if (!option) continue;
    if (!allows_option(*option, where, result)) continue;
    const std::string name = option->substr(0, option->find('='));
    if (!names.insert(name).second) fault(where, quote(name) + " is there twice");
    const std::string macro = name.starts_with("-D") ? name.substr(2) : "";
    if (result.default_configuration.contains(macro)) {
      fault(where, quote(macro) + " is a parameter, which gets its value from the search");
    }
    if (!space_.problems.empty() && space_.problems.front().contains(macro)) {
      fault(where, quote(macro) + " is a name of the problems, which give it its value");
    }
    result.options.push_back(*option);
  }
}

void SpaceReader::read_include(const Json& value, const std::string& pointer,
                               KernelTemplate& result) {
  if (!value.is_array()) {
    fault(pointer, summary(value) + " is not a list of folders");
    return;
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string where = child(pointer, i);
    const auto folder = text(value[i], where, "a folder");
    if (!folder) continue;
    const fs::path path = *folder;
    const fs::path normal = path.lexically_normal();
    std::error_code error;
    if (path.is_absolute() || *normal.begin() == "..") {
      fault(where, quote(*folder) + " leaves the folder of the space file");
    } else if (!fs::is_directory(roots_.space / path, error) &&
               !fs::is_directory(roots_.templates / path, error)) {
      fault(where, "there is no folder " + quote(*folder) + " in " + roots_.space.string() +
                       " or " + roots_.templates.string());
    } else {
      result.include.push_back(path);
    }
  }
}

}  // namespace smemtune
