#include "tuner/backend/contents.h"

#include "tuner/backend/element_rule.h"
#include "tuner/backend/npy_file.h"
#include "tuner/core/definition.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/search_space.h"
#include "tuner/core/usable_cores.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace smemtune {
namespace {

Contents::Source from_numbers(const auto& element) { return each<double>(element); }

/// Returns an argument's contents as an array of a definition.
HostArray host_contents(const Argument& argument, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes = initial_contents(argument, seed);
  return {
      .shape = argument.shape, .elements = {}, .type = argument.type, .bytes = std::move(bytes)};
}

/// Returns the contents that the argument's definition gives, from the contents of the arguments
/// that it reads.
std::vector<std::uint8_t> defined_contents(const Argument& argument, std::uint64_t seed) {
  constexpr std::uint64_t kMostOperations = 4'000'000'000;
  std::map<std::string, std::size_t> dimensions = {{argument.name, argument.shape.size()}};
  std::map<std::string, HostArray> arrays = {{argument.name, {argument.shape, {}, argument.type}}};
  std::map<std::string, double> scalars;
  std::vector<std::string> scalar_names;
  Bindings constants = argument.problem;
  for (const Argument& other : argument.reads) {
    if (other.is_buffer()) {
      dimensions[other.name] = other.shape.size();
      arrays[other.name] = host_contents(other, seed);
    } else if (!is_floating(other.type) && other.raw_bytes == 0) {
      constants[other.name] = other.integer;
    } else if (!constants.contains(other.name)) {
      scalar_names.push_back(other.name);
      scalars[other.name] = to_doubles(scalar_bytes(other), other.type).front();
    }
  }
  const Definition definition =
      Definition::compile(argument.init.definition, constants, dimensions, scalar_names);
  const HostArray made = definition.evaluate(arrays, scalars, kMostOperations, usable_cores());
  if (made.bits.empty()) return encode(made.elements, argument.type);
  return encode_bits(made.bits.size(), argument.type,
                     each<std::uint64_t>([&made](std::uint64_t i) { return made.bits[i]; }));
}

/// Returns contents that begin as those of another type.
Contents::Source converted_contents(const Argument& argument, std::uint64_t seed) {
  Argument narrow = argument;
  narrow.type = *argument.begins_as;
  narrow.begins_as.reset();
  const auto contents = std::make_shared<const Contents>(narrow, seed);
  return Elements<double>(
      [contents, type = narrow.type](std::uint64_t begin, std::span<double> values) {
        std::vector<std::uint8_t> bytes(values.size() * size_of(type));
        contents->read(begin * size_of(type), bytes);
        read_elements(bytes, type, 0, 1, values);
      });
}

Contents::Source permuted_contents(const Argument& argument, std::uint64_t stream) {
  const auto count = static_cast<std::uint64_t>(argument.elements());
  if (count > integers_from_zero(argument.type)) {
    throw InputError("argument " + argument.name + ": a permutation of " + std::to_string(count) +
                     " elements does not fit the type " + std::string(cuda_name(argument.type)));
  }
  const Permutation permutation(count, stream);
  return from_numbers(
      [permutation](std::uint64_t i) { return static_cast<double>(permutation(i)); });
}

Contents::Source contents_of(const Argument& argument, std::uint64_t seed) {
  if (const auto rule = element_rule(argument, seed)) {
    if (rule->gives_bits()) {
      return each<std::uint64_t>([rule = *rule](std::uint64_t i) { return rule.bits_at(i); });
    }
    return from_numbers([rule = *rule](std::uint64_t i) { return rule.number_at(i); });
  }
  if (argument.begins_as) return converted_contents(argument, seed);
  if (argument.init.kind == Init::Kind::file) return read_npy(argument);
  if (argument.init.kind == Init::Kind::definition) return defined_contents(argument, seed);
  return permuted_contents(argument, stream_of(argument, seed));
}

}  // namespace

Contents::Contents(const Argument& argument, std::uint64_t seed)
    : type_(argument.type),
      bytes_(static_cast<std::size_t>(argument.bytes())),
      source_(contents_of(argument, seed)) {}

void Contents::read(std::size_t begin, std::span<std::uint8_t> part) const {
  if (const auto* bytes = std::get_if<std::vector<std::uint8_t>>(&source_)) {
    std::ranges::copy(std::span(*bytes).subspan(begin, part.size()), part.begin());
  } else if (const auto* numbers = std::get_if<Elements<double>>(&source_)) {
    encode_to(part, begin / size_of(type_), type_, *numbers);
  } else {
    encode_to(part, begin / size_of(type_), type_, std::get<Elements<std::uint64_t>>(source_));
  }
}

std::vector<std::uint8_t> Contents::take() {
  if (auto* bytes = std::get_if<std::vector<std::uint8_t>>(&source_)) return std::move(*bytes);
  auto bytes = large_vector<std::uint8_t>(bytes_);
  read(0, bytes);
  return bytes;
}

std::vector<std::uint8_t> initial_contents(const Argument& argument, std::uint64_t seed) {
  return Contents(argument, seed).take();
}

bool begins_with_contents(const Argument& argument) {
  return argument.role == Role::input || argument.role == Role::inout ||
         argument.init.kind != Init::Kind::none;
}

bool is_drawn(const Argument& argument) {
  return argument.init.kind != Init::Kind::file && argument.init.kind != Init::Kind::definition;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as definitions read each other.
bool depends_on_seed(const Argument& argument) {
  switch (argument.init.kind) {
    case Init::Kind::uniform:
    case Init::Kind::normal:
    case Init::Kind::full_range:
    case Init::Kind::permutation:
      return true;
    case Init::Kind::definition:
      return std::ranges::any_of(argument.reads, depends_on_seed);
    default:
      return false;
  }
}

std::vector<std::uint8_t> struct_bytes(const Argument& argument, const MemberBytes& of_member) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(argument.raw_bytes));
  for (const StructMember& member : argument.members) {
    const std::span<const std::uint8_t> own = of_member(member.name);
    std::ranges::copy(own, bytes.begin() + member.offset);
  }
  return bytes;
}

std::vector<std::uint8_t> scalar_bytes(const Argument& argument) {
  if (argument.begins_as) {
    const std::vector<std::uint8_t> narrow = encode(argument.number, *argument.begins_as);
    return encode(to_doubles(narrow, *argument.begins_as), argument.type);
  }
  if (!argument.members.empty()) {
    throw InputError("the argument " + argument.name +
                     " is made of others: its bytes are only known with theirs");
  }
  if (argument.raw_bytes > 0) {
    Argument bytes = argument;
    bytes.shape = {argument.raw_bytes};
    return initial_contents(bytes, 0);
  }
  if (is_floating(argument.type)) return encode(argument.number, argument.type);
  auto bytes = encode_integer(argument.integer, argument.type);
  if (!bytes) {
    throw InputError("argument " + argument.name + ": " + std::to_string(argument.integer) +
                     " does not fit the type " + std::string(cuda_name(argument.type)));
  }
  return *bytes;
}

}  // namespace smemtune
