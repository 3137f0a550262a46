#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The keys of a space file's arguments and launches, each declared once: its member, its name in
// the file, which names its expressions may use, and how it is hashed. The file is read, checked,
// hashed, compiled, bound and sent to workers by these lists.

namespace smemtune {

/// A key of a space file, beside its type.
struct SpaceKey {
  std::string_view name;
  std::string_view expected = "a list of expressions";  ///< What a list must be, for messages.
  std::size_t most = 0;  ///< The most elements of a list, which then needs one; 0: any number.
  /// Label in the kernel's hash. A label is never renamed: old results would become unknown.
  std::string_view hashed_as = name;
  /// `if_given` for every key that was added later: what leaves it out keeps its hash.
  enum class Hashed { always, if_given, never };
  Hashed hashed = Hashed::always;
  /// True if its expressions may use the counter of a repetition.
  bool may_count = false;
  /// True if a parameter that it names has an effect: the configurations differ by it.
  bool takes_effect = true;
};

inline constexpr std::string_view kDimensions = "a list of one to three expressions (x, y, z)";
inline constexpr std::string_view kOutermostFirst =
    "a list of expressions, outermost dimension first";

/// The keys of a launch. E: ExpressionText, or PlacedExpression once compiled.
template <typename E>
struct LaunchKeys {
  std::vector<E> block = {};  ///< One to three extents, in threads.
  std::vector<E> grid = {};   ///< One to three extents, in blocks.
  /// One to three extents, in blocks; empty if there are no clusters.
  std::vector<E> cluster = {};
  /// Registers per thread that each warpgroup sets by setmaxnreg; the last number applies to all
  /// further warpgroups. 0: the warpgroup keeps those of the launch. Empty: no warpgroup sets any.
  std::vector<E> warpgroup_registers = {};
  std::vector<std::string> arguments = {};  ///< Names in the entry's order; empty: all arguments.
  std::optional<E> static_shared_bytes = std::nullopt;
  std::optional<E> dynamic_shared_bytes = std::nullopt;
  /// True if its blocks wait for each other, so that all must be resident at once.
  bool cooperative = false;
  /// Percentage of the memory shared with the L1 cache that should be shared memory; -1: the
  /// driver's choice.
  std::optional<E> shared_carveout = std::nullopt;
  /// 1 if the launch may begin before the one before it ends (programmatic dependent launch), else
  /// 0.
  std::optional<E> programmatic = std::nullopt;

  bool operator==(const LaunchKeys&) const = default;
};

/// Visits the keys of a launch, in the order in which they are hashed, with the member of each of
/// the forms given: LaunchTemplate, CompiledLaunch, LaunchShape.
void visit_launch_keys(auto&& visit, auto&... v) {
  visit(SpaceKey{.name = "block", .expected = kDimensions, .most = 3, .may_count = true},
        v.block...);
  visit(SpaceKey{.name = "grid", .expected = kDimensions, .most = 3, .may_count = true}, v.grid...);
  visit(SpaceKey{.name = "cluster",
                 .expected = kDimensions,
                 .most = 3,
                 .hashed = SpaceKey::Hashed::if_given},
        v.cluster...);
  visit(SpaceKey{.name = "warpgroup_registers",
                 .expected = "a list of registers per thread, one for each warpgroup",
                 .hashed = SpaceKey::Hashed::never,
                 .takes_effect = false},
        v.warpgroup_registers...);
  visit(SpaceKey{.name = "arguments", .hashed_as = "passed"}, v.arguments...);
  visit(SpaceKey{.name = "static_shared_bytes", .takes_effect = false}, v.static_shared_bytes...);
  visit(SpaceKey{.name = "dynamic_shared_bytes", .may_count = true}, v.dynamic_shared_bytes...);
  visit(SpaceKey{.name = "cooperative", .hashed = SpaceKey::Hashed::if_given}, v.cooperative...);
  visit(SpaceKey{.name = "shared_carveout", .hashed = SpaceKey::Hashed::if_given},
        v.shared_carveout...);
  visit(SpaceKey{.name = "programmatic", .hashed = SpaceKey::Hashed::if_given}, v.programmatic...);
}

/// The expressions of an argument. E: ExpressionText, or PlacedExpression once compiled.
template <typename E>
struct ArgumentKeys {
  std::vector<E> shape = {};  ///< Number of elements in each dimension, outermost first.
  /// Box of a tensor map (see Argument), with as many dimensions as the shape.
  std::vector<E> box = {};
  /// Strides of a tensor map, as many as dimensions, or none.
  std::vector<E> element_strides = {};
  std::optional<E> swizzle = std::nullopt;  ///< Swizzle of a tensor map, in bytes.
  std::optional<E> value = std::nullopt;    ///< Value of an integer scalar.

  bool operator==(const ArgumentKeys&) const = default;
};

/// Visits the keys that only a tensor map has, as visit_launch_keys() does.
void visit_tensor_map_keys(auto&& visit, auto&... v) {
  visit(SpaceKey{.name = "box", .expected = kOutermostFirst}, v.box...);
  visit(SpaceKey{.name = "element_strides", .expected = kOutermostFirst}, v.element_strides...);
  visit(SpaceKey{.name = "swizzle"}, v.swizzle...);
}

/// Visits all expressions of an argument likewise.
void visit_argument_keys(auto&& visit, auto&... v) {
  visit(SpaceKey{.name = "shape", .expected = kOutermostFirst}, v.shape...);
  visit_tensor_map_keys(visit, v...);
  visit(SpaceKey{.name = "value", .may_count = true}, v.value...);
}

/// Visits what an argument has alike in the space file and bound to a problem (ArgumentTemplate,
/// Argument).
void visit_argument_traits(auto&& visit, auto&... v) {
  visit(v.name...);
  visit(v.role...);
  visit(v.init...);
  visit(v.memory...);
  visit(v.reading...);
  visit(v.symbol...);
  visit(v.compares_sum...);
  visit(v.compares_sorted...);
  visit(v.nan_agrees...);
}

}  // namespace smemtune
