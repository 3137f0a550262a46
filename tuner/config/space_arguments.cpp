#include "tuner/config/space_reader.h"
#include "tuner/config/space_words.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/input_file.h"
#include "tuner/core/text.h"
#include "tuner/source/cpp_tokens.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

// The part of SpaceReader that reads arguments.

namespace smemtune {
namespace {

const std::vector<std::string> kRoles = {"input", "output", "inout", "scratch"};
const std::vector<std::string> kMemories = {"constant", "texture", "tensor_map"};

}  // namespace

std::vector<ArgumentTemplate> SpaceReader::read_arguments(const Json& value,
                                                          const std::string& pointer,
                                                          bool of_kernel) {
  std::vector<ArgumentTemplate> arguments;
  if (!check_list(value, pointer, "a list of arguments")) return arguments;
  const std::size_t faults_before = faults().size();
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string where = child(pointer, i);
    std::optional<ArgumentTemplate> argument;
    if (of_kernel && value[i].is_string()) {  // Names an argument of the space.
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
      if (argument) find_reads(*argument, arguments);
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
  if (faults().size() == faults_before &&
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
    text(value["description"], child(pointer, "description"), "a string");
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
  const std::string shape = child(pointer, "shape");
  std::optional<std::int64_t> bytes;
  try {
    bytes = struct_bytes(argument.type);
  } catch (const InputError& error) {
    fault(child(pointer, "type"), error.what());
  }
  if (check_list(value["shape"], shape, std::string(kOutermostFirst))) {
    argument.shape = expressions(value["shape"], shape, "a list of expressions");
  }
  if (bytes) {  // Structs are compared byte by byte.
    argument.raw_bytes = *bytes;
    argument.type = cuda_name(ScalarType::uint8);
    argument.shape.push_back({.text = std::to_string(*bytes), .where = child(pointer, "type")});
  }
  // Used if the role is not known, so that no further faults follow from it.
  argument.role = Role::output;
  if (!value.contains("role")) {
    fault(pointer, "lacks \"role\", one of " + listed(kRoles));
  } else if (const auto role = one_of(kRoles, value["role"], child(pointer, "role"))) {
    argument.role = std::array{Role::input, Role::output, Role::inout, Role::scratch}[*role];
  }
  if (value.contains("init")) {
    const std::string where = child(pointer, "init");
    if (const auto init = text(value["init"], where, "a string such as uniform(-1, 1)")) {
      read_init(*init, where, argument);
    }
    if (argument.role == Role::scratch) {
      fault(where,
            "a scratch buffer has no initial contents; an \"inout\" buffer is restored before each "
            "run");
    }
  } else if (argument.role == Role::input || argument.role == Role::inout) {
    fault(pointer, "lacks \"init\", its initial contents, such as uniform(-1, 1)");
  }
  if (value.contains("compare")) {
    read_compare(value["compare"], child(pointer, "compare"), argument);
  }
  read_memory(value, pointer, argument);
}

void SpaceReader::read_compare(const Json& value, const std::string& pointer,
                               ArgumentTemplate& argument) {
  const auto compare = text(value, pointer, "\"sum\"");
  argument.compares_sum = true;
  if (compare && *compare != "sum") fault(pointer, quote(*compare) + " is not \"sum\"");
  if (argument.role != Role::output && argument.role != Role::inout) {
    fault(pointer, "is for the roles \"output\" and \"inout\", which are compared");
  }
}

void SpaceReader::read_memory(const Json& value, const std::string& pointer,
                              ArgumentTemplate& argument) {
  if (value.contains("memory")) {
    const std::string where = child(pointer, "memory");
    argument.memory =
        std::array{MemorySpace::constant, MemorySpace::texture,
                   MemorySpace::tensor_map}[one_of(kMemories, value["memory"], where).value_or(0)];
    if (argument.memory == MemorySpace::constant) {
      argument.symbol = argument.name;
    } else if (argument.raw_bytes > 0) {
      fault(where,
            std::string(argument.memory == MemorySpace::texture ? "a texture" : "a tensor map") +
                " has no elements of type " + quote(value["type"].get<std::string>()));
    }
    if (argument.memory == MemorySpace::texture && argument.shape.size() > 2) {
      fault(child(pointer, "shape"),
            "a texture has one dimension, and a second one of 1, 2 or 4 elements if these "
            "are fetched at once, not " +
                std::to_string(argument.shape.size()));
    }
    if (argument.memory == MemorySpace::tensor_map) {
      if (argument.role == Role::scratch) fault(where, "a scratch buffer has no tensor map");
    } else if (argument.role != Role::input) {
      fault(where, "constant memory and textures are for the role \"input\" only");
    }
  }
  read_box(value, pointer, argument);
  if (!value.contains("symbol")) return;
  const std::string where = child(pointer, "symbol");
  argument.symbol =
      text(value["symbol"], where, "the name of a __constant__ variable").value_or("");
  if (argument.memory != MemorySpace::constant) {
    fault(where, "needs \"memory\": \"constant\" beside it");
  }
  if (!is_identifier(argument.symbol) && !is_word(std::string_view(argument.symbol))) {
    fault(where, quote(argument.symbol) + " is not a name");
  }
}

/// Reads the box that a tensor map copies at a time, and the other keys of a tensor map.
void SpaceReader::read_box(const Json& value, const std::string& pointer,
                           ArgumentTemplate& argument) {
  const bool is_map = argument.memory == MemorySpace::tensor_map;
  if (is_map && !value.contains("box")) {
    fault(pointer, "lacks \"box\", the elements that are copied at a time in each dimension");
  }
  visit_tensor_map_keys(
      [&](const SpaceKey& key, auto& result) {
        if (!value.contains(key.name)) return;
        const std::string where = child(pointer, key.name);
        const Json& given = value[key.name];
        const std::size_t rank = argument.shape.size();
        if (!is_map) fault(where, "needs \"memory\": \"tensor_map\" beside it");
        if (given.is_array() && given.size() != rank) {
          fault(where, "has " + std::to_string(given.size()) + " dimensions, the shape has " +
                           std::to_string(rank));
        }
        read_key(value, pointer, key, result);
      },
      argument);
}

/// Returns a file beside the space file. Throws InputError.
DataFile SpaceReader::data_file(const std::filesystem::path& name) const {
  const std::array<std::filesystem::path, 1> folders = {roots_.space};
  const std::optional<std::filesystem::path> found = find_source(name, folders, roots_);
  if (!found) {
    throw InputError("there is no " + quote(name.string()) + " in " + roots_.space.string());
  }
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{16} << 30;
  InputFile file(*found, kMostBytes);
  return {.path = *found, .sha256 = sha256(file)};
}

void SpaceReader::read_init(const std::string& init, const std::string& where,
                            ArgumentTemplate& argument) {
  try {
    InitText parsed = parse_init(init);
    argument.init = std::move(parsed.init);
    for (std::string& number : parsed.numbers) {
      argument.init_numbers.push_back({.text = std::move(number), .where = where});
    }
    if (argument.init.kind != Init::Kind::file) return;
    argument.init.file = data_file(argument.init.file.path);
  } catch (const InputError& error) {
    fault(where, error.what());
  }
}

/// Finds the arguments that the definition of `init` reads, among those of this list and of the
/// space that stand before it.
void SpaceReader::find_reads(ArgumentTemplate& argument,
                             const std::vector<ArgumentTemplate>& before) const {
  if (argument.init.kind != Init::Kind::definition) return;
  std::set<std::string_view> named;
  for (const std::string_view name : identifiers(argument.init.definition)) named.insert(name);
  named.erase(argument.name);
  for (const std::vector<ArgumentTemplate>* list : {&before, &arguments_}) {
    for (const ArgumentTemplate& other : *list) {
      if (other.role != Role::scratch && named.erase(other.name) > 0) {
        argument.reads.push_back(other);
      }
    }
  }
}

/// Reads a struct that is passed by value.
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
  const auto refuse = [&](std::string_view key) {
    if (value.contains(key)) fault(child(pointer, key), "is for buffers; a scalar has a \"value\"");
  };
  for (const char* const key : {"init", "compare", "memory", "symbol"}) refuse(key);
  visit_tensor_map_keys([&](const SpaceKey& key, auto&) { refuse(key.name); }, argument);
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

}  // namespace smemtune
