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
const std::vector<std::string> kMemories = {"constant", "texture", "tensor_map", "texture_2d"};
const std::vector<std::string> kAddresses = {"clamp", "border", "wrap", "mirror"};
const std::vector<std::string> kFilters = {"point", "linear"};

}  // namespace

/// `passed`: receives the names in the order in which they are passed, which may repeat one that is
/// only named.
std::vector<ArgumentTemplate> SpaceReader::read_arguments(const Json& value,
                                                          const std::string& pointer,
                                                          bool of_kernel,
                                                          std::vector<std::string>* passed) {
  if (passed != nullptr) passed->clear();
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
    if (passed != nullptr) passed->push_back(argument->name);
    if (value[i].is_string()) {
      add_named(*argument, arguments);
      continue;
    }
    check_members(*argument, arguments);
    if (std::ranges::find(arguments, argument->name, &ArgumentTemplate::name) != arguments.end()) {
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
  const bool is_struct = value.contains("members");
  for (const char* const needed : {"name", "type"}) {
    if (value.contains(needed) || (is_struct && needed == std::string_view("type"))) continue;
    fault(pointer, std::string("lacks \"") + needed + "\"");
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
  if (is_struct) {
    read_members(value, pointer, argument);
  } else if (value.contains("shape") == value.contains("value")) {
    fault(pointer,
          "needs one of \"shape\" (a buffer), \"value\" (a scalar) and \"members\" (a struct)");
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
  } else if (argument.role == Role::input || argument.role == Role::inout) {
    fault(pointer, "lacks \"init\", its initial contents, such as uniform(-1, 1)");
  }
  if (value.contains("compare")) {
    read_compare(value["compare"], child(pointer, "compare"), argument);
  }
  argument.nan_agrees = flag(value, "nan_agrees", pointer);
  read_memory(value, pointer, argument);
}

void SpaceReader::read_compare(const Json& value, const std::string& pointer,
                               ArgumentTemplate& argument) {
  const auto compare = one_of({"sum", "sorted"}, value, pointer);
  argument.compares_sum = compare == 0;
  argument.compares_sorted = compare == 1;
  if (argument.role != Role::output && argument.role != Role::inout) {
    fault(pointer, "is for the roles \"output\" and \"inout\", which are compared");
  }
}

void SpaceReader::read_memory(const Json& value, const std::string& pointer,
                              ArgumentTemplate& argument) {
  if (value.contains("memory")) {
    const std::string where = child(pointer, "memory");
    argument.memory =
        std::array{MemorySpace::constant, MemorySpace::texture, MemorySpace::tensor_map,
                   MemorySpace::texture_2d}[one_of(kMemories, value["memory"], where).value_or(0)];
    if (argument.memory == MemorySpace::constant) {
      argument.symbol = argument.name;
    } else if (argument.raw_bytes > 0) {
      fault(where,
            std::string(argument.memory == MemorySpace::tensor_map ? "a tensor map" : "a texture") +
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
  read_texture_2d(value, pointer, argument);
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

/// Reads how a texture of two dimensions is read.
void SpaceReader::read_texture_2d(const Json& value, const std::string& pointer,
                                  ArgumentTemplate& argument) {
  const bool is_2d = argument.memory == MemorySpace::texture_2d;
  for (const char* const key : {"address", "filter", "normalized"}) {
    if (!value.contains(key) || is_2d) continue;
    fault(child(pointer, key), "needs \"memory\": \"texture_2d\" beside it");
  }
  if (!is_2d) return;
  const std::size_t dimensions = argument.shape.size();
  if (dimensions != 2 && dimensions != 3) {
    fault(
        child(pointer, "shape"),
        "a texture of rows has two dimensions, and a third one of 1, 2 or 4 elements if these are "
        "fetched at once, not " +
            std::to_string(dimensions));
  }
  TextureReading& reading = argument.reading;
  reading.is_normalized = flag(value, "normalized", pointer);
  if (value.contains("filter")) {
    reading.is_linear = one_of(kFilters, value["filter"], child(pointer, "filter")) == 1;
  }
  if (!value.contains("address")) return;
  const std::string where = child(pointer, "address");
  using enum TextureReading::Address;
  reading.address = std::array{clamp, border, wrap,
                               mirror}[one_of(kAddresses, value["address"], where).value_or(0)];
  if ((reading.address == wrap || reading.address == mirror) && !reading.is_normalized) {
    fault(where,
          "needs \"normalized\": true beside it, because CUDA repeats only textures with "
          "coordinates from 0 to 1");
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
      if (!other.is_scratch() && named.erase(other.name) > 0) {
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

/// Reads a struct that is made of other arguments.
void SpaceReader::read_members(const Json& value, const std::string& pointer,
                               ArgumentTemplate& argument) {
  argument.type = cuda_name(ScalarType::uint8);
  for (const auto& [key, given] : value.items()) {
    if (key == "name" || key == "description" || key == "members") continue;
    fault(child(pointer, key), "is not for a struct of members, which have it themselves");
  }
  const std::string where = child(pointer, "members");
  if (!check_list(value["members"], where, "a list of arguments' names")) return;
  for (std::size_t i = 0; i < value["members"].size(); ++i) {
    const auto name = text(value["members"][i], child(where, i), "an argument's name");
    if (name) argument.members.push_back(*name);
  }
}

/// Checks that the members of a struct stand before it and can be parts of it.
void SpaceReader::check_members(const ArgumentTemplate& argument,
                                const std::vector<ArgumentTemplate>& before) {
  for (std::size_t i = 0; i < argument.members.size(); ++i) {
    const std::string& name = argument.members[i];
    const std::string where = child(child(argument.where, "members"), i);
    const auto member = std::ranges::find(before, name, &ArgumentTemplate::name);
    if (member == before.end()) {
      std::vector<std::string> known;
      for (const ArgumentTemplate& other : before) known.push_back(other.name);
      fault(where,
            "there is no argument " + quote(name) + " before the struct" + suggestion(name, known));
    } else if (member->memory == MemorySpace::constant ||
               member->memory == MemorySpace::tensor_map) {
      fault(where, quote(name) +
                       " is a __constant__ variable or a tensor map, which cannot be a "
                       "member of a struct");
    }
  }
}

/// Adds an argument of the space behind those that it is made of.
void SpaceReader::add_named(const ArgumentTemplate& argument,
                            std::vector<ArgumentTemplate>& arguments) const {
  for (const std::string& name : argument.members) {
    const auto member = std::ranges::find(arguments_, name, &ArgumentTemplate::name);
    if (member != arguments_.end()) add_named(*member, arguments);
  }
  const auto known = std::ranges::find(arguments, argument.name, &ArgumentTemplate::name);
  if (known == arguments.end()) arguments.push_back(argument);
}

/// Reads a null pointer, which is passed as the integer 0.
void SpaceReader::read_null(const Json& value, const std::string& pointer,
                            ArgumentTemplate& argument) {
  argument.type = cuda_name(ScalarType::uint64);
  argument.value = ExpressionText{.text = "0", .where = child(pointer, "value")};
  if (value.is_null() || value == 0) return;
  fault(child(pointer, "value"),
        summary(value) + " is no pointer: only null is, other pointers are buffers with a shape");
}

void SpaceReader::read_scalar(const Json& value, const std::string& pointer,
                              ArgumentTemplate& argument) {
  const auto refuse = [&](std::string_view key) {
    if (value.contains(key)) fault(child(pointer, key), "is for buffers; a scalar has a \"value\"");
  };
  for (const char* const key : {"init", "compare", "nan_agrees", "memory", "symbol"}) refuse(key);
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
  if (argument.type.ends_with('*')) return read_null(value["value"], pointer, argument);
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
