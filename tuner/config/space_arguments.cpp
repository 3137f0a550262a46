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
std::vector<ArgumentTemplate> SpaceReader::read_arguments(const Given& given, bool of_kernel,
                                                          std::vector<std::string>* passed) {
  if (passed != nullptr) passed->clear();
  std::vector<ArgumentTemplate> arguments;
  const std::size_t faults_before = faults().size();
  for (const Given& one : list(given, "a list of arguments")) {
    const bool is_name = one.value.is_string();
    std::optional<ArgumentTemplate> argument;
    if (of_kernel && is_name) {  // Names an argument of the space.
      const std::string& name = one.value.get_ref<const std::string&>();
      const auto found = std::ranges::find(arguments_, name, &ArgumentTemplate::name);
      if (found != arguments_.end()) {
        argument = *found;
      } else {
        const std::vector<std::string> known = texts_of(arguments_, &ArgumentTemplate::name);
        fault(one.where, "the space has no argument " + quote(name) + suggestion(name, known));
      }
    } else {
      argument = read_argument(one);
      if (argument) find_reads(*argument, arguments);
    }
    if (!argument) continue;
    if (passed != nullptr) passed->push_back(argument->name);
    if (is_name) {
      add_named(*argument, arguments);
      continue;
    }
    check_members(*argument, arguments);
    if (std::ranges::find(arguments, argument->name, &ArgumentTemplate::name) != arguments.end()) {
      fault(one.where, "there are two arguments " + quote(argument->name));
    }
    arguments.push_back(*argument);
  }
  const auto is_result = [](const ArgumentTemplate& argument) {
    return argument.is_buffer() && (argument.role == Role::output || argument.role == Role::inout);
  };
  if (faults().size() == faults_before &&
      std::none_of(arguments.begin(), arguments.end(), is_result)) {
    fault(given.where, "none has the role \"output\" or \"inout\", so nothing could be verified");
  }
  return arguments;
}

std::optional<ArgumentTemplate> SpaceReader::read_argument(const Given& given) {
  if (!check_object(given, "argument")) return std::nullopt;
  ArgumentTemplate argument;
  argument.where = given.where;
  const bool is_struct = given.has("members");
  require(given, {"name"});
  if (!is_struct) require(given, {"type"});
  if (given.has("name")) argument.name = identifier(given["name"]).value_or("");
  argument.type = text_of(given, "type", "a type");
  text_of(given, "description", "a string");
  if (is_struct) {
    read_members(given, argument);
  } else if (given.has("shape") == given.has("value")) {
    fault(given.where,
          "needs one of \"shape\" (a buffer), \"value\" (a scalar) and \"members\" (a struct)");
  } else if (given.has("shape")) {
    read_buffer(given, argument);
  } else {
    read_scalar(given, argument);
  }
  return argument;
}

void SpaceReader::read_buffer(const Given& given, ArgumentTemplate& argument) {
  const std::string type = child(given.where, "type");
  std::optional<std::int64_t> bytes;
  try {
    bytes = struct_bytes(argument.type);
  } catch (const InputError& error) {
    fault(type, error.what());
  }
  for (const Given& extent : list(given["shape"], std::string(kOutermostFirst))) {
    if (const auto found = expression(extent)) argument.shape.push_back(*found);
  }
  if (bytes) {  // Structs are compared byte by byte.
    argument.raw_bytes = *bytes;
    argument.type = cuda_name(ScalarType::uint8);
    argument.shape.push_back({.text = std::to_string(*bytes), .where = type});
  }
  // Used if the role is not known, so that no further faults follow from it.
  argument.role = Role::output;
  if (!given.has("role")) {
    fault(given.where, "lacks \"role\", one of " + listed(kRoles));
  } else if (const auto role = one_of(kRoles, given["role"])) {
    argument.role = std::array{Role::input, Role::output, Role::inout, Role::scratch}[*role];
  }
  const std::string init = text_of(given, "init", "a string such as uniform(-1, 1)");
  if (!init.empty()) {
    read_init(init, child(given.where, "init"), argument);
  } else if (!given.has("init") && (argument.role == Role::input || argument.role == Role::inout)) {
    fault(given.where, "lacks \"init\", its initial contents, such as uniform(-1, 1)");
  }
  if (given.has("compare")) read_compare(given["compare"], argument);
  argument.nan_agrees = flag(given, "nan_agrees");
  read_memory(given, argument);
}

void SpaceReader::read_compare(const Given& given, ArgumentTemplate& argument) {
  const auto compare = one_of({"sum", "sorted"}, given);
  argument.compares_sum = compare == 0;
  argument.compares_sorted = compare == 1;
  if (argument.role != Role::output && argument.role != Role::inout) {
    fault(given.where, "is for the roles \"output\" and \"inout\", which are compared");
  }
}

void SpaceReader::read_memory(const Given& given, ArgumentTemplate& argument) {
  if (given.has("memory")) {
    const std::string where = child(given.where, "memory");
    argument.memory =
        std::array{MemorySpace::constant, MemorySpace::texture, MemorySpace::tensor_map,
                   MemorySpace::texture_2d}[one_of(kMemories, given["memory"]).value_or(0)];
    if (argument.memory == MemorySpace::constant) {
      argument.symbol = argument.name;
    } else if (argument.raw_bytes > 0) {
      fault(where,
            std::string(argument.memory == MemorySpace::tensor_map ? "a tensor map" : "a texture") +
                " has no elements of type " + quote(given["type"].value.get<std::string>()));
    }
    if (argument.memory == MemorySpace::texture && argument.shape.size() > 2) {
      fault(child(given.where, "shape"),
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
  read_box(given, argument);
  read_texture_2d(given, argument);
  if (!given.has("symbol")) return;
  const std::string where = child(given.where, "symbol");
  argument.symbol = text_of(given, "symbol", "the name of a __constant__ variable");
  if (argument.memory != MemorySpace::constant) {
    fault(where, "needs \"memory\": \"constant\" beside it");
  }
  if (!is_identifier(argument.symbol) && !is_word(std::string_view(argument.symbol))) {
    fault(where, quote(argument.symbol) + " is not a name");
  }
}

/// Reads how a texture of two dimensions is read.
void SpaceReader::read_texture_2d(const Given& given, ArgumentTemplate& argument) {
  const bool is_2d = argument.memory == MemorySpace::texture_2d;
  for (const char* const key : {"address", "filter", "normalized"}) {
    if (!given.has(key) || is_2d) continue;
    fault(child(given.where, key), "needs \"memory\": \"texture_2d\" beside it");
  }
  if (!is_2d) return;
  const std::size_t dimensions = argument.shape.size();
  if (dimensions != 2 && dimensions != 3) {
    fault(
        child(given.where, "shape"),
        "a texture of rows has two dimensions, and a third one of 1, 2 or 4 elements if these are "
        "fetched at once, not " +
            std::to_string(dimensions));
  }
  TextureReading& reading = argument.reading;
  reading.is_normalized = flag(given, "normalized");
  if (given.has("filter")) {
    reading.is_linear = one_of(kFilters, given["filter"]) == 1;
  }
  if (!given.has("address")) return;
  const std::string where = child(given.where, "address");
  using enum TextureReading::Address;
  reading.address =
      std::array{clamp, border, wrap, mirror}[one_of(kAddresses, given["address"]).value_or(0)];
  if ((reading.address == wrap || reading.address == mirror) && !reading.is_normalized) {
    fault(where,
          "needs \"normalized\": true beside it, because CUDA repeats only textures with "
          "coordinates from 0 to 1");
  }
}

/// Reads the box that a tensor map copies at a time, and the other keys of a tensor map.
void SpaceReader::read_box(const Given& given, ArgumentTemplate& argument) {
  const bool is_map = argument.memory == MemorySpace::tensor_map;
  if (is_map && !given.has("box")) {
    fault(given.where, "lacks \"box\", the elements that are copied at a time in each dimension");
  }
  visit_tensor_map_keys(
      [&](const SpaceKey& key, auto& result) {
        if (!given.has(key.name)) return;
        const auto [extents, where] = given[key.name];
        const std::size_t rank = argument.shape.size();
        if (!is_map) fault(where, "needs \"memory\": \"tensor_map\" beside it");
        if (extents.is_array() && extents.size() != rank) {
          fault(where, "has " + std::to_string(extents.size()) + " dimensions, the shape has " +
                           std::to_string(rank));
        }
        read_key(given, key, result);
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
void SpaceReader::read_struct(const Given& given, ArgumentTemplate& argument) {
  argument.type = cuda_name(ScalarType::uint8);
  const auto init = text(given["value"], "zero or file(\"NAME.npy\") with the bytes");
  if (!init) return;
  const std::string where = child(given.where, "value");
  read_init(*init, where, argument);
  if (argument.init.kind != Init::Kind::file && argument.init.kind != Init::Kind::zero) {
    fault(where, quote(*init) + " is neither zero nor file(\"NAME.npy\")");
  }
}

/// Reads a struct that is made of other arguments.
void SpaceReader::read_members(const Given& given, ArgumentTemplate& argument) {
  argument.type = cuda_name(ScalarType::uint8);
  for (const auto& [key, member] : given.members()) {
    if (key == "name" || key == "description" || key == "members") continue;
    fault(member.where, "is not for a struct of members, which have it themselves");
  }
  for (const Given& one : list(given["members"], "a list of arguments' names")) {
    if (const auto name = text(one, "an argument's name")) argument.members.push_back(*name);
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
      const std::vector<std::string> known = texts_of(before, &ArgumentTemplate::name);
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
void SpaceReader::read_null(const Given& given, ArgumentTemplate& argument) {
  argument.type = cuda_name(ScalarType::uint64);
  argument.value = ExpressionText{.text = "0", .where = given.where};
  if (given.value.is_null() || given.value == 0) return;
  fault(given.where, summary(given.value) +
                         " is no pointer: only null is, other pointers are buffers with a shape");
}

void SpaceReader::read_scalar(const Given& given, ArgumentTemplate& argument) {
  const auto refuse = [&](std::string_view key) {
    if (given.has(key)) fault(child(given.where, key), "is for buffers; a scalar has a \"value\"");
  };
  for (const char* const key : {"init", "compare", "nan_agrees", "memory", "symbol"}) refuse(key);
  visit_tensor_map_keys([&](const SpaceKey& key, auto&) { refuse(key.name); }, argument);
  if (given.has("role") && given["role"].value != "input") {
    fault(child(given.where, "role"), "a scalar can only be an input");
  }
  try {
    argument.raw_bytes = struct_bytes(argument.type).value_or(0);
  } catch (const InputError& error) {
    fault(child(given.where, "type"), error.what());
  }
  if (argument.raw_bytes > 0) return read_struct(given, argument);
  if (argument.type.ends_with('*')) return read_null(given["value"], argument);
  const std::optional<ScalarType> type = scalar_type(argument.type);
  const auto [value, where] = given["value"];
  const bool is_real = type && is_floating(*type);
  if (value.is_number_float() || (value.is_number_integer() && is_real)) {
    argument.number = value.get<double>();
    if (type && !is_real) {
      fault(where, summary(value) + " is not an integer, but the type is " + quote(argument.type));
    }
  } else {
    argument.value = expression(given["value"]);
  }
}

}  // namespace smemtune
