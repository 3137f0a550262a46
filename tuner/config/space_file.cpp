#include "tuner/config/space_file.h"

#include "tuner/config/json_reader.h"
#include "tuner/config/source_files.h"
#include "tuner/config/space_words.h"
#include "tuner/core/bound_kernel.h"
#include "tuner/core/definition.h"
#include "tuner/core/device.h"
#include "tuner/core/error.h"
#include "tuner/core/expression.h"
#include "tuner/core/hash.h"
#include "tuner/core/tokens.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

namespace smemtune {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = 1u << 20;

std::vector<std::string> names_of(const Bindings& bindings) {
  std::vector<std::string> names;
  for (const auto& [name, value] : bindings) names.push_back(name);
  return names;
}

bool holds_word(const Value& value) { return std::holds_alternative<std::string>(value); }

std::string last_component(const std::string& name) {
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

/// The GPU for which expressions are tried out: the limits of an H200.
Device nominal_device() {
  Device device;
  device.name = "NVIDIA H200";
  device.architecture = "sm_90";
  device.compute_major = 9;
  device.sm_count = 132;
  device.max_threads_per_block = 1024;
  device.max_threads_per_sm = 2048;
  device.max_blocks_per_sm = 32;
  device.registers_per_block = 65536;
  device.registers_per_sm = 65536;
  device.shared_bytes_per_block = 49152;
  device.max_shared_bytes_per_block = 232448;
  device.shared_bytes_per_sm = 233472;
  device.reserved_shared_bytes_per_block = 1024;
  device.l2_bytes = 62914560;
  device.memory_bytes = 150'000'000'000;
  return device;
}

/// Reads one space file and collects what is wrong with it.
class SpaceReader {
 public:
  SpaceReader(const fs::path& file, const fs::path& share)
      : file_(file),
        roots_{.space = file.has_parent_path() ? file.parent_path() : fs::path("."),
               .templates = share / "kernel_templates"} {}

  LoadedSpace read();

  const std::vector<std::string>& faults() const { return faults_; }

 private:
  void fault(const std::string& pointer, const std::string& message);
  void add_line(const std::string& line);

  // Each of these says what is wrong and gives nothing, or false, when the value is not of its
  // kind. `expected` says what would be right.
  bool check_object(const Json& value, const std::string& pointer, const std::string& kind);
  bool check_list(const Json& value, const std::string& pointer, const std::string& expected);
  std::optional<std::string> text(const Json& value, const std::string& pointer,
                                  const std::string& expected);
  std::optional<std::string> identifier(const Json& value, const std::string& pointer);
  std::optional<Value> scalar(const Json& value, const std::string& pointer);
  std::optional<double> tolerance(const Json& value, const std::string& pointer);
  std::optional<ExpressionText> expression(const Json& value, const std::string& pointer);
  std::vector<ExpressionText> expressions(const Json& value, const std::string& pointer,
                                          const std::string& expected);
  std::vector<ExpressionText> dimensions(const Json& value, const std::string& pointer);

  void read_problems(const Json& root);
  std::vector<Problem> problem_list(const Json& value, const std::string& pointer);
  std::vector<ArgumentTemplate> read_arguments(const Json& value, const std::string& pointer,
                                               bool of_kernel);
  std::optional<ArgumentTemplate> read_argument(const Json& value, const std::string& pointer);
  void read_buffer(const Json& value, const std::string& pointer, ArgumentTemplate& argument);
  void read_scalar(const Json& value, const std::string& pointer, ArgumentTemplate& argument);
  std::map<std::string, ExpressionText> read_metrics(const Json& value, const std::string& pointer);
  void read_tolerance(const Json& value, const std::string& pointer, Tolerance& result);
  void read_verify(const Json& root);
  KernelTemplate read_kernel(const Json& value, const std::string& pointer);
  void read_parameters(const Json& kernel, const std::string& pointer, KernelTemplate& result);
  void read_launches(const Json& kernel, const std::string& pointer, KernelTemplate& result);
  LaunchTemplate read_launch(const Json& value, const std::string& pointer);
  void read_options(const Json& value, const std::string& pointer, KernelTemplate& result);
  void read_include(const Json& value, const std::string& pointer, KernelTemplate& result);

  void check_names();
  void check_name(const std::string& name, const std::string& pointer, const std::string& meaning,
                  std::map<std::string, std::string>& meanings);
  void check_arguments(const KernelTemplate& kernel);
  void check_buffers_agree();
  void check_effects(const KernelTemplate& kernel, std::span<const SourceFile> files);
  void check_source(const KernelTemplate& kernel, LoadedSpace& loaded);
  void check_values(const KernelTemplate& kernel);
  void check_definitions();
  std::vector<Problem> every_problem() const;

  fs::path file_;
  SourceRoots roots_;
  std::vector<std::string> faults_;
  Space space_;
  std::vector<ArgumentTemplate> arguments_;        ///< The space's, which kernels may override...
  std::map<std::string, ExpressionText> metrics_;  ///< ... and so these...
  Tolerance tolerance_;                            ///< ... and this.
};

LoadedSpace SpaceReader::read() {
  LoadedSpace loaded;
  loaded.text = read_text(file_, kMaxFileBytes);
  loaded.sha256 = sha256(loaded.text);
  const Json root = parse_json(loaded.text, file_.string());
  space_.file = file_;
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
  for (const KernelTemplate& kernel : space_.kernels) check_source(kernel, loaded);
  if (!faults_.empty()) return loaded;
  for (const KernelTemplate& kernel : space_.kernels) check_values(kernel);
  check_definitions();
  loaded.space = std::move(space_);
  return loaded;
}

void SpaceReader::fault(const std::string& pointer, const std::string& message) {
  add_line(file_.string() + ": " + (pointer.empty() ? "" : printable(pointer, 200) + ": ") +
           message);
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
  if (check_list(value["shape"], shape, "a list of expressions, outermost dimension first")) {
    argument.shape = expressions(value["shape"], shape, "a list of expressions");
  }
  argument.role = Role::output;  // Where it is not known, so that nothing more is said of it.
  if (!value.contains("role")) {
    fault(pointer, "lacks \"role\", one of " + listed(roles));
  } else if (const auto role =
                 text(value["role"], child(pointer, "role"), "one of " + listed(roles))) {
    const auto found = std::find(roles.begin(), roles.end(), *role);
    if (found == roles.end()) {
      fault(child(pointer, "role"),
            quote(*role) + " is none of " + listed(roles) + suggestion(*role, roles));
    } else {
      argument.role = std::array{Role::input, Role::output, Role::inout,
                                 Role::scratch}[static_cast<std::size_t>(found - roles.begin())];
    }
  }
  if (value.contains("init")) {
    const std::string where = child(pointer, "init");
    if (const auto init = text(value["init"], where, "a text such as uniform(-1, 1)")) {
      try {
        argument.init = parse_init(*init);
        if (argument.init.kind == Init::Kind::file) {
          const std::array<fs::path, 1> folders = {roots_.space};
          const std::optional<fs::path> found = find_source(argument.init.file, folders, roots_);
          if (!found) {
            throw InputError("there is no " + quote(argument.init.file.string()) + " in " +
                             roots_.space.string());
          }
          argument.init.file = *found;
        }
      } catch (const InputError& error) {
        fault(where, error.what());
      }
    }
    if (argument.role == Role::scratch) {
      fault(where, "a scratch buffer begins with nothing in particular; \"inout\" is restored");
    }
  } else if (argument.role == Role::input || argument.role == Role::inout) {
    fault(pointer, "lacks \"init\", how its elements begin, such as uniform(-1, 1)");
  }
  if (value.contains("memory")) {
    const auto memory = text(value["memory"], child(pointer, "memory"), "\"constant\"");
    argument.in_constant_memory = true;
    argument.symbol = argument.name;
    if (memory && *memory != "constant") {
      fault(child(pointer, "memory"), quote(*memory) + " is not \"constant\"");
    }
    if (argument.role != Role::input) {
      fault(child(pointer, "memory"), "constant memory is for the role \"input\" only");
    }
  }
  if (value.contains("symbol")) {
    argument.symbol =
        text(value["symbol"], child(pointer, "symbol"), "the name of a __constant__ variable")
            .value_or("");
    if (!value.contains("memory")) {
      fault(child(pointer, "symbol"), "needs \"memory\": \"constant\" beside it");
    }
    if (!is_identifier(argument.symbol) && !is_word(std::string_view(argument.symbol))) {
      fault(child(pointer, "symbol"), quote(argument.symbol) + " is not a name");
    }
  }
}

void SpaceReader::read_scalar(const Json& value, const std::string& pointer,
                              ArgumentTemplate& argument) {
  for (const char* const key : {"init", "memory", "symbol"}) {
    if (value.contains(key)) fault(child(pointer, key), "is for buffers; a scalar has a \"value\"");
  }
  if (value.contains("role") && value["role"] != "input") {
    fault(child(pointer, "role"), "a scalar can only be an input");
  }
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
  if (value.contains("architecture_specific")) {
    if (value["architecture_specific"].is_boolean()) {
      kernel.architecture_specific = value["architecture_specific"].get<bool>();
    } else {
      fault(child(pointer, "architecture_specific"),
            summary(value["architecture_specific"]) + " is neither true nor false");
    }
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
  if (value.contains("verify")) {
    const std::string where = child(pointer, "verify");
    if (check_object(value["verify"], where, "kernel_verify")) {
      read_tolerance(value["verify"], where, kernel.tolerance);
    }
  }
  read_parameters(value, pointer, kernel);
  if (value.contains("constraints")) {
    kernel.constraints =
        expressions(value["constraints"], child(pointer, "constraints"), "a list of expressions");
  }
  read_launches(value, pointer, kernel);
  if (value.contains("include")) read_include(value["include"], child(pointer, "include"), kernel);
  if (value.contains("options")) read_options(value["options"], child(pointer, "options"), kernel);
  return kernel;
}

void SpaceReader::read_parameters(const Json& kernel, const std::string& pointer,
                                  KernelTemplate& result) {
  const std::string where = child(pointer, "parameters");
  if (kernel.contains("parameters") && !kernel["parameters"].is_object()) {
    fault(where, summary(kernel["parameters"]) + " is not an object of lists");
    return;
  }
  if (kernel.contains("parameters")) {
    for (const auto& [name, values] : kernel["parameters"].items()) {
      const std::string place = child(where, name);
      if (!is_identifier(name)) fault(place, quote(name) + " is not a name");
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

  if (!kernel.contains("default")) return;
  const std::string defaults = child(pointer, "default");
  if (!kernel["default"].is_object()) {
    fault(defaults, summary(kernel["default"]) + " is not an object of values");
    return;
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
      fault(place, quote(to_text(*found)) + " is none of the parameter's values " + listed(texts));
      continue;
    }
    result.default_configuration.insert_or_assign(name, *found);
  }
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
        if (!argument.in_constant_memory) known.push_back(argument.name);
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
    const std::string why = refused_option(*option);
    if (!why.empty()) {
      fault(where, quote(*option) + " is not allowed: " + why);
      continue;
    }
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

void SpaceReader::check_names() {
  std::map<std::string, std::string> meanings;
  if (!space_.problems.empty()) {
    for (const std::string& name : names_of(space_.problems.front())) {
      check_name(name, child("/problems/0", name), "a name of the problems", meanings);
    }
  }
  const std::map<std::string, std::string> of_problems = meanings;
  for (const ArgumentTemplate& argument : arguments_) {
    check_name(argument.name, child(argument.where, "name"), "an argument", meanings);
  }
  std::vector<std::string> kernels;
  for (const KernelTemplate& kernel : space_.kernels) {
    if (std::find(kernels.begin(), kernels.end(), kernel.name) != kernels.end()) {
      fault(child(kernel.where, "name"), "there are two kernels " + quote(kernel.name));
    }
    kernels.push_back(kernel.name);
    std::map<std::string, std::string> of_kernel = of_problems;
    for (const ArgumentTemplate& argument : kernel.arguments) {
      const bool is_own = argument.where.starts_with(kernel.where + "/");
      if (is_own) {
        check_name(argument.name, child(argument.where, "name"), "an argument", of_kernel);
      } else {
        of_kernel.emplace(argument.name, "an argument");
      }
    }
    const std::string where = child(kernel.where, "parameters");
    for (const Parameter& parameter : kernel.parameters) {
      check_name(parameter.name, child(where, parameter.name), "a parameter", of_kernel);
    }
    for (const Parameter& parameter : kernel.parameters) {
      for (std::size_t i = 0; i < parameter.values.size(); ++i) {
        const auto known = of_kernel.find(to_text(parameter.values[i]));
        if (known == of_kernel.end()) continue;
        fault(child(child(where, parameter.name), i),
              quote(known->first) + " cannot be a value, because it is " + known->second);
      }
    }
  }
  if (space_.verify.reference.empty()) {
    if (kernels.size() > 1) fault("", "lacks /verify/reference, the kernel that gives the answer");
    if (kernels.size() == 1) space_.verify.reference = kernels.front();
  } else if (std::find(kernels.begin(), kernels.end(), space_.verify.reference) == kernels.end()) {
    fault("/verify/reference", "there is no kernel " + quote(space_.verify.reference) +
                                   suggestion(space_.verify.reference, kernels));
  }
}

void SpaceReader::check_name(const std::string& name, const std::string& pointer,
                             const std::string& meaning,
                             std::map<std::string, std::string>& meanings) {
  if (name.empty()) return;  // Said already.
  const std::string reserved = reserved_meaning(name);
  const auto [known, is_new] = meanings.emplace(name, meaning);
  if (!reserved.empty()) {
    fault(pointer, quote(name) + " cannot be " + meaning + ", because it is " + reserved);
  } else if (!is_new && known->second != meaning) {
    fault(pointer, quote(name) + " cannot be " + meaning + ", because it is " + known->second);
  }
}

/// What types and shapes refer to.
void SpaceReader::check_arguments(const KernelTemplate& kernel) {
  for (const ArgumentTemplate& argument : kernel.arguments) {
    const bool may_vary = argument.role == Role::scratch || !argument.is_buffer();
    const auto parameter =
        std::find_if(kernel.parameters.begin(), kernel.parameters.end(),
                     [&](const Parameter& p) { return p.name == argument.type; });
    const auto check_type = [&](const Value& value, const std::string& where) {
      if (holds_word(value) && scalar_type(std::get<std::string>(value))) return;
      fault(where, quote(to_text(value)) + " is not a type of elements" +
                       suggestion(to_text(value), type_names()));
    };
    if (parameter != kernel.parameters.end()) {
      const std::string where = child(child(kernel.where, "parameters"), parameter->name);
      for (std::size_t i = 0; i < parameter->values.size(); ++i) {
        check_type(parameter->values[i], child(where, i));
      }
      if (!may_vary) {
        fault(child(argument.where, "type"),
              "the parameter " + quote(argument.type) +
                  " would change the problem; only a scratch buffer or a scalar may depend on one");
      }
    } else if (space_.problems.front().contains(argument.type)) {
      const auto check_types = [&](const std::vector<Problem>& problems, const std::string& list) {
        for (std::size_t i = 0; i < problems.size(); ++i) {
          check_type(problems[i].at(argument.type), child(child(list, i), argument.type));
        }
      };
      check_types(space_.problems, "/problems");
      check_types(space_.cpu_problems, "/cpu_problems");
      check_types(space_.verify.also, "/verify/also");
    } else if (!scalar_type(argument.type)) {
      std::vector<std::string> known = type_names();
      for (const std::string& name : names_of(space_.problems.front())) known.push_back(name);
      fault(child(argument.where, "type"),
            quote(argument.type) +
                " is neither a type of elements nor a name of the problems that stands for one" +
                suggestion(argument.type, known));
    }
    if (may_vary) continue;
    for (const ExpressionText& extent : argument.shape) {
      for (const std::string_view name : identifiers(extent.text)) {
        if (!kernel.default_configuration.contains(name)) continue;
        fault(extent.where,
              "the parameter " + quote(name) +
                  " would change the problem; only a scratch buffer may depend on one");
      }
    }
  }
}

/// All kernels of a problem run on the same buffers, so a name must mean the same to all.
void SpaceReader::check_buffers_agree() {
  std::map<std::string, const ArgumentTemplate*> known;
  for (const KernelTemplate& kernel : space_.kernels) {
    for (const ArgumentTemplate& argument : kernel.arguments) {
      const auto [entry, is_new] = known.emplace(argument.name, &argument);
      const ArgumentTemplate& first = *entry->second;
      if (is_new || (argument.role == Role::scratch && first.role == Role::scratch)) continue;
      const auto same_texts = [](const auto& a, const auto& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [](const auto& x, const auto& y) { return x.text == y.text; });
      };
      std::string difference;
      if (argument.is_buffer() != first.is_buffer()) {
        difference = "a buffer in one and a scalar in the other";
      } else if (argument.is_buffer() && argument.role != first.role) {
        difference = "of another role";
      } else if (argument.is_buffer() && argument.type != first.type) {
        difference = "of another type";
      } else if (argument.is_buffer() && !same_texts(argument.shape, first.shape)) {
        difference = "of another shape";
      } else if (argument.is_buffer() && argument.init != first.init) {
        difference = "begun in another way";
      }
      if (difference.empty()) continue;
      fault(argument.where, "all kernels work on the same " + quote(argument.name) + "; in " +
                                first.where + " it is " + difference);
    }
  }
}

void SpaceReader::check_source(const KernelTemplate& kernel, LoadedSpace& loaded) {
  const std::string where = child(kernel.where, "source");
  std::vector<SourceFile> files;
  try {
    files = read_sources(kernel, roots_);
  } catch (const InputError& error) {
    fault(where, error.what());
    return;
  }
  KernelSource& source = loaded.sources[kernel.name];
  for (const SourceFile& file : files) {
    source.files.push_back({.name = file.name, .text = file.text});
  }

  const std::vector<std::string> entries = kernel_names(files);
  for (std::size_t i = 0; i < kernel.launches.size(); ++i) {
    const std::string name = last_component(kernel.launches[i].entry_name);
    if (std::find(entries.begin(), entries.end(), name) != entries.end()) continue;
    const std::string nearest = suggestion(name, entries);
    // A single launch stands in the kernel itself.
    const std::string pointer = kernel.launches[i].block.front().where;
    fault(pointer.substr(0, pointer.rfind("/block")) + "/entry",
          kernel.source.generic_string() + " has no __global__ function " + quote(name) +
              (!nearest.empty()  ? nearest
               : entries.empty() ? "; it has none"
                                 : "; it has " + listed(entries)));
  }
  check_effects(kernel, files);
}

/// A parameter that reaches neither the compiler nor the launch would be searched for nothing.
void SpaceReader::check_effects(const KernelTemplate& kernel, std::span<const SourceFile> files) {
  std::set<std::string_view> used;
  const auto use = [&](const ExpressionText& expression) {
    for (const std::string_view name : identifiers(expression.text)) used.insert(name);
  };
  for (const LaunchTemplate& launch : kernel.launches) {
    for (const ExpressionText& argument : launch.template_arguments) use(argument);
    for (const ExpressionText& extent : launch.block) use(extent);
    for (const ExpressionText& extent : launch.grid) use(extent);
    if (launch.dynamic_shared_bytes) use(*launch.dynamic_shared_bytes);
  }
  for (const ArgumentTemplate& argument : kernel.arguments) {
    used.insert(argument.type);
    for (const ExpressionText& extent : argument.shape) use(extent);
    if (argument.value) use(*argument.value);
  }
  const bool as_macros = kernel.pass == KernelTemplate::Pass::as_define;
  if (as_macros) {
    for (const std::string& name : names_of(space_.problems.front())) {
      if (const auto line = redefinition(files, name)) {
        fault(child(kernel.where, "source"),
              *line +
                  " takes away the problem's value, which is handed over; put it under #ifndef " +
                  name);
      }
    }
  }
  for (const Parameter& parameter : kernel.parameters) {
    const std::string where = child(child(kernel.where, "parameters"), parameter.name);
    if (as_macros) {
      if (const auto line = redefinition(files, parameter.name)) {
        fault(where, *line + " takes away the value that is handed over; put it under #ifndef " +
                         parameter.name);
        continue;
      }
      if (uses_macro(files, parameter.name)) continue;
    }
    if (used.contains(parameter.name)) continue;
    fault(where, "has no effect: neither " +
                     std::string(as_macros ? "the source" : "the entry's template arguments") +
                     " nor the launch use " + quote(parameter.name));
  }
}

std::vector<Problem> SpaceReader::every_problem() const {
  std::vector<Problem> problems = space_.problems;
  problems.insert(problems.end(), space_.cpu_problems.begin(), space_.cpu_problems.end());
  problems.insert(problems.end(), space_.verify.also.begin(), space_.verify.also.end());
  return problems;
}

/// Compiles every expression for every problem and evaluates it for the default configuration.
void SpaceReader::check_values(const KernelTemplate& kernel) {
  const Device device = nominal_device();
  const bool is_reference = kernel.name == space_.verify.reference;
  bool is_valid_somewhere = false;
  for (const Problem& problem : every_problem()) {
    try {
      const BoundKernel bound(space_, kernel, problem, device);
      if (!bound.satisfies_constraints(kernel.default_configuration)) {
        if (is_reference) {
          fault(kernel.where, "the reference's default " +
                                  quote(key(kernel.default_configuration)) +
                                  " does not satisfy the constraints for the problem " +
                                  quote(key(problem)) + ", so there is no answer to compare with");
        }
        continue;
      }
      is_valid_somewhere = true;
      bound.instantiate(kernel.default_configuration);
      bound.metrics(kernel.default_configuration);
    } catch (const InputError& error) {
      add_line(error.what());
      return;
    }
  }
  if (!is_valid_somewhere && !is_reference) {
    fault(kernel.where, "the default " + quote(key(kernel.default_configuration)) +
                            " satisfies the constraints for no problem");
  }
}

void SpaceReader::check_definitions() {
  const KernelTemplate* const reference = space_.kernel(space_.verify.reference);
  std::map<std::string, std::size_t> arrays;
  std::vector<std::string> scalars;
  std::vector<std::string> outputs;
  for (const ArgumentTemplate& argument : reference->arguments) {
    if (!argument.is_buffer()) {
      scalars.push_back(argument.name);
    } else if (argument.role != Role::scratch) {
      arrays.emplace(argument.name, argument.shape.size());
      if (argument.role != Role::input) outputs.push_back(argument.name);
    }
  }
  std::set<std::string> defined;
  for (const ExpressionText& definition : space_.verify.definitions) {
    try {
      std::string output;
      for (const Problem& problem : every_problem()) {
        output = Definition::compile(definition.text, problem, arrays, scalars).output();
      }
      if (std::find(outputs.begin(), outputs.end(), output) == outputs.end()) {
        fault(definition.where, quote(output) + " is not an output of the reference kernel" +
                                    suggestion(output, outputs));
      } else if (!defined.insert(output).second) {
        fault(definition.where, quote(output) + " is defined twice");
      }
    } catch (const InputError& error) {
      fault(definition.where, error.what());
    }
  }
}

}  // namespace

LoadedSpace load_space(const fs::path& file, const fs::path& share) {
  SpaceReader reader(file, share);
  LoadedSpace loaded = reader.read();
  if (!reader.faults().empty()) throw InputError(reader.faults().front());
  return loaded;
}

std::vector<std::string> check_space(const fs::path& file, const fs::path& share) {
  SpaceReader reader(file, share);
  try {
    reader.read();
  } catch (const InputError& error) {
    return {error.what()};
  }
  return reader.faults();
}

const std::map<std::string, std::vector<std::string>>& space_file_keys() {
  static const std::map<std::string, std::vector<std::string>> keys = {
      {"space",
       {"$schema", "name", "description", "problems", "cpu_problems", "arguments", "metrics",
        "verify", "kernels"}},
      {"argument", {"name", "type", "shape", "role", "init", "value", "memory", "symbol"}},
      {"verify", {"description", "reference", "absolute", "relative", "also", "definition"}},
      {"kernel",
       {"name", "description", "source", "pass", "include", "options", "architecture_specific",
        "parameters", "default", "constraints", "entry", "block", "grid", "static_shared_bytes",
        "dynamic_shared_bytes", "launches", "arguments", "metrics", "verify"}},
      {"kernel_verify", {"absolute", "relative"}},
      {"launch",
       {"entry", "block", "grid", "arguments", "static_shared_bytes", "dynamic_shared_bytes"}}};
  return keys;
}

Problem parse_problem(const Space& space, std::string_view text) {
  Problem problem = parse_key(text);
  const std::string shown = "problem " + quote(text) + ": ";
  const Problem& first = space.problems.front();
  const std::vector<std::string> known = names_of(first);
  for (const auto& [name, value] : problem) {
    const auto expected = first.find(name);
    if (expected == first.end()) {
      throw InputError(shown + "space '" + space.name + "' has no " + quote(name) +
                       ", its problems have " + listed(known) + suggestion(name, known));
    }
    if (holds_word(value) != holds_word(expected->second)) {
      throw InputError(shown + quote(name) + " is " +
                       (holds_word(expected->second) ? "a word" : "an integer") + ", such as " +
                       quote(to_text(expected->second)) + ", not " + quote(to_text(value)));
    }
    if (holds_word(value) && !is_word(std::string_view(std::get<std::string>(value)))) {
      throw InputError(shown + quote(to_text(value)) + " is not a word");
    }
  }
  for (const std::string& name : known) {
    if (!problem.contains(name)) {
      throw InputError(shown + "lacks " + quote(name) + "; a problem is like " + quote(key(first)));
    }
  }
  return problem;
}

}  // namespace smemtune
