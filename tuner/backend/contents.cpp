#include "tuner/backend/contents.h"

#include "tuner/backend/element_codec.h"
#include "tuner/backend/npy_file.h"
#include "tuner/core/definition.h"
#include "tuner/core/error.h"
#include "tuner/core/hash.h"
#include "tuner/core/search_space.h"

#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <numbers>
#include <span>
#include <string>

namespace smemtune {
namespace {

/// In [0, 1).
double unit_random(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Box and Muller's transform of the stream's numbers 2 i and 2 i + 1.
double normal_random(std::uint64_t stream, std::uint64_t i) {
  const double radius_from = 1 - unit_random(random_bits(stream, 2 * i));  // Never 0.
  const double angle = 2 * std::numbers::pi * unit_random(random_bits(stream, 2 * i + 1));
  return std::sqrt(-2 * std::log(radius_from)) * std::cos(angle);
}

/// As the definition gives them, of what the arguments hold that it reads.
std::vector<std::uint8_t> defined_contents(const Argument& argument, std::uint64_t seed) {
  constexpr std::uint64_t kMostOperations = 4'000'000'000;
  std::map<std::string, std::size_t> dimensions = {{argument.name, argument.shape.size()}};
  std::map<std::string, HostArray> arrays = {{argument.name, {argument.shape, {}}}};
  std::map<std::string, double> scalars;
  std::vector<std::string> scalar_names;
  for (const Argument& other : argument.reads) {
    if (other.is_buffer()) {
      dimensions[other.name] = other.shape.size();
      arrays[other.name] = {other.shape, to_doubles(initial_contents(other, seed), other.type)};
    } else {
      scalar_names.push_back(other.name);
      scalars[other.name] = to_doubles(scalar_bytes(other), other.type).front();
    }
  }
  const Definition definition =
      Definition::compile(argument.init.definition, argument.problem, dimensions, scalar_names);
  return encode(definition.evaluate(arrays, scalars, kMostOperations).elements, argument.type);
}

}  // namespace

std::vector<std::uint8_t> initial_contents(const Argument& argument, std::uint64_t seed) {
  if (argument.begins_as) {
    Argument narrow = argument;
    narrow.type = *argument.begins_as;
    narrow.begins_as.reset();
    return encode(to_doubles(initial_contents(narrow, seed), narrow.type), argument.type);
  }
  const Init& init = argument.init;
  if (init.kind == Init::Kind::file) return read_npy(argument);
  if (init.kind == Init::Kind::definition) return defined_contents(argument, seed);
  const auto count = static_cast<std::uint64_t>(argument.elements());
  const auto fill = [&](const std::function<double(std::uint64_t)>& element) {
    return encode_each(count, argument.type, element);
  };
  // Every argument has a stream of its own, or two inputs would be equal.
  const std::span<const std::uint8_t> name(
      reinterpret_cast<const std::uint8_t*>(argument.name.data()), argument.name.size());
  const std::uint64_t stream = random_bits(seed, crc32(name));
  switch (init.kind) {
    case Init::Kind::uniform:
      return fill([&init, stream](std::uint64_t i) {
        return init.a + (init.b - init.a) * unit_random(random_bits(stream, i));
      });
    case Init::Kind::normal:
      return fill(
          [&init, stream](std::uint64_t i) { return init.a + init.b * normal_random(stream, i); });
    case Init::Kind::iota:
      return fill([modulus = integers_from_zero(argument.type)](std::uint64_t i) {
        return static_cast<double>(i % modulus);
      });
    case Init::Kind::permutation: {
      if (count > integers_from_zero(argument.type)) {
        throw InputError("argument " + argument.name + ": a permutation of " +
                         std::to_string(count) + " elements does not fit the type " +
                         std::string(cuda_name(argument.type)));
      }
      const Permutation permutation(count, stream);
      return fill([&permutation](std::uint64_t i) { return static_cast<double>(permutation(i)); });
    }
    case Init::Kind::constant:
      return fill([&init](std::uint64_t) { return init.a; });
    case Init::Kind::none:
    case Init::Kind::zero:
    case Init::Kind::file:
    case Init::Kind::definition:
      break;
  }
  return std::vector<std::uint8_t>(static_cast<std::size_t>(argument.bytes()));
}

bool begins_with_contents(const Argument& argument) {
  return argument.role == Role::input || argument.role == Role::inout ||
         argument.init.kind != Init::Kind::none;
}

std::vector<std::uint8_t> scalar_bytes(const Argument& argument) {
  if (argument.begins_as) {
    const std::vector<std::uint8_t> narrow = encode(argument.number, *argument.begins_as);
    return encode(to_doubles(narrow, *argument.begins_as), argument.type);
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
