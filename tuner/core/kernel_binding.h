#pragma once

#include "tuner/core/device.h"
#include "tuner/core/search_space.h"
#include "tuner/core/space.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// Another argument within a struct: a buffer's address or a scalar.
struct StructMember {
  std::string name;
  std::int64_t offset = 0;  ///< In bytes.

  bool operator==(const StructMember&) const = default;
};

/// A buffer or scalar of a problem, with its size.
struct Argument {
  std::string name;
  ScalarType type = ScalarType::float32;
  Role role = Role::input;
  std::vector<std::int64_t> shape;  ///< Extents; empty for a scalar.
  Init init;
  MemorySpace memory = MemorySpace::global;
  TextureReading reading = {};  ///< How a texture of two dimensions is read.
  std::string symbol;           ///< Name expression of the __constant__ symbol.
  /// For a result: true if the sum of its elements is compared and not each of them, as for partial
  /// sums, of which a configuration may write any number.
  bool compares_sum = false;
  /// For a result: true if its elements are compared in ascending order, as of kernels that write
  /// them in any order.
  bool compares_sorted = false;
  /// For a result: true if NaN agrees with NaN.
  bool nan_agrees = false;
  std::int64_t integer = 0;  ///< Value of an integer scalar.
  double number = 0;         ///< Value of a floating scalar.
  /// Size of a scalar that is a struct, whose bytes are those of `init` or of `members`; 0 for any
  /// other argument.
  std::int64_t raw_bytes = 0;
  std::vector<StructMember> members = {};
  /// For a tensor map: the box that is copied at a time, and the stride of its elements in the
  /// tensor, both in elements of each dimension, outermost first; and the width in bytes to which
  /// its rows are swizzled in shared memory, 0 if they are not.
  std::vector<std::int64_t> box = {};
  std::vector<std::int64_t> element_strides = {};
  std::int64_t swizzle = 0;
  /// Type in which the initial elements are made before they are converted to `type`.
  std::optional<ScalarType> begins_as = std::nullopt;
  /// Arguments that the definition of `init` reads, and the problem whose names it may use.
  std::vector<Argument> reads = {};
  Problem problem = {};

  bool is_buffer() const { return !shape.empty(); }
  /// Returns whether a kernel computes the buffer, so that it is compared with the reference's.
  bool is_result() const { return is_buffer() && (role == Role::output || role == Role::inout); }
  /// Returns whether it is scratch without contents; with them, it is an input that kernels may
  /// spoil.
  bool is_scratch() const { return role == Role::scratch && init.kind == Init::Kind::none; }
  /// Returns whether each element of a result is compared with that of the same index.
  bool compares_each() const { return !compares_sum && !compares_sorted; }
  bool in_constant_memory() const { return memory == MemorySpace::constant; }
  bool is_texture() const { return memory == MemorySpace::texture || is_texture_2d(); }
  bool is_texture_2d() const { return memory == MemorySpace::texture_2d; }
  bool is_tensor_map() const { return memory == MemorySpace::tensor_map; }
  /// Returns how many elements of a texture are fetched at once: its last dimension beyond the one
  /// or two of its texels, or 1.
  std::int64_t texel_elements() const {
    return shape.size() > (is_texture_2d() ? 2 : 1) ? shape.back() : 1;
  }
  /// Returns whether its contents depend on the seed.
  bool is_random() const;
  std::int64_t elements() const;  ///< Returns the product of the shape.
  std::int64_t bytes() const;     ///< Returns the size of all elements, or of the scalar.
  bool operator==(const Argument&) const = default;
};

/// Returns the argument of that name; null if there is none.
const Argument* find_argument(const std::vector<Argument>& arguments, const std::string& name);

/// Returns the bytes of all arguments together.
std::int64_t total_bytes(const std::vector<Argument>& arguments);

/// One of several launches of an entry.
struct Repetition {
  std::int64_t turn = 0;  ///< Position among all launches of the kernel.
  Dim3 grid = {1, 1, 1};
  Dim3 block = {1, 1, 1};
  std::int64_t dynamic_shared_bytes = 0;
  std::vector<std::string> arguments;  ///< Names, in the entry's order.
  std::vector<Argument> scalars;       ///< Scalars whose values differ from the kernel's.
  /// Set in the kernel's last turn only: for each name whose buffer was swapped with another one,
  /// the buffer that has the name in the end.
  std::map<std::string, std::string> renamed = {};

  bool operator==(const Repetition&) const = default;
};

/// One launch of one configuration. If it is repeated, `grid` and `block` are those of the first
/// repetition and `dynamic_shared_bytes` is the largest.
struct LaunchShape {
  std::string name_expression;                    ///< `gemm_tiled<float, 32>`.
  Dim3 grid = {1, 1, 1};                          ///< Extents in blocks.
  Dim3 block = {1, 1, 1};                         ///< Extents in threads.
  Dim3 cluster = {1, 1, 1};                       ///< Extents in blocks.
  std::vector<std::int64_t> warpgroup_registers;  ///< Declared registers: see LaunchTemplate.
  std::int64_t dynamic_shared_bytes = 0;
  /// Declared size, which is checked against ptxas's.
  std::optional<std::int64_t> static_shared_bytes;
  std::vector<std::string> arguments;  ///< Names, in the entry's order.
  /// True if its blocks wait for each other, so that all must be resident at once.
  bool cooperative = false;
  std::optional<std::int64_t> shared_carveout = std::nullopt;  ///< See LaunchKeys.
  std::optional<std::int64_t> programmatic = std::nullopt;     ///< See LaunchKeys.
  std::int64_t times = 1;                                      ///< Number of launches.
  /// All repetitions, in a kernel of which any launch is repeated; otherwise empty.
  std::vector<Repetition> repetitions = {};

  std::int64_t threads_per_block() const { return volume(block); }
  std::int64_t blocks_per_cluster() const { return volume(cluster); }
  bool operator==(const LaunchShape&) const = default;
};

/// A launch, in the order in which the device performs them.
struct Turn {
  std::size_t launch = 0;  ///< Index among the kernel's launches.
  Repetition as = {};

  bool operator==(const Turn&) const = default;
};

/// Returns all launches that `launches` stand for, in their order.
std::vector<Turn> turns_of(const std::vector<LaunchShape>& launches);

/// Returns the buffer that has the name after the last of these turns, and so holds what is
/// compared under that name.
const std::string& holder_of(const std::string& name, const std::vector<Turn>& turns);

/// One configuration of one kernel on one problem: what is compiled and launched.
struct KernelInstance {
  std::string kernel;
  std::vector<LaunchShape> launches;
  std::vector<std::string> options;  ///< Compiler options: the kernel's, and -DNAME=VALUE.
  bool architecture_specific = false;
  std::vector<std::string> required_features;
  /// All arguments that the launches name and all in constant memory, with sizes; in the file's
  /// order.
  std::vector<Argument> arguments;
  Tolerance tolerance;

  bool operator==(const KernelInstance&) const = default;
};

/// A kernel template bound to one problem and one device's limits. Refers to the space and kernel,
/// which must outlive it. Expressions may compare with the words that a parameter or a problem
/// takes by name: `LAYOUT == row`.
///
/// An entry's template arguments are printed as follows: a type name, `true`, `false` and a name
/// that stands for a word as that word; a name that only the source can know (`Plus`,
/// `cute::half_t`) unchanged, unless it resembles a known name; anything else as the value of an
/// integer expression.
class KernelBinding {
 public:
  /// Compiles every expression. Throws InputError naming the file, the JSON pointer and the text.
  KernelBinding(const Space& space, const KernelTemplate& kernel, const Problem& problem,
                const Device& device);

  const KernelTemplate& kernel() const { return *kernel_; }
  const Problem& problem() const { return problem_; }

  /// Returns the configurations that satisfy the constraints and are promising. They are enumerated on the first call, which only one thread
  /// may make and which `must_end` may end. Throws InputError, and Cancelled if it was ended.
  const SearchSpace& search_space(const std::function<bool()>& must_end = {}) const;

  /// Returns whether the constraints hold for a configuration, whose values need not be in the
  /// lists of values. Throws InputError if it has other parameters, or if a constraint has no
  /// value.
  bool satisfies_constraints(const Configuration& configuration) const;

  /// Returns the text of the first constraint that does not hold, or nullopt. Throws InputError
  /// likewise.
  std::optional<std::string> violated_constraint(const Configuration& configuration) const;

  /// Returns the text of the first constraint, or condition for a promising configuration, that
  /// keeps this one out of search_space(); nullopt if none does. Throws InputError likewise.
  std::optional<std::string> why_not_searched(const Configuration& configuration) const;

  /// Instantiates the kernel. Throws InputError (with the place) if an expression has no value for
  /// the configuration, a number of shared bytes is negative, an array has no element or a scalar
  /// does not fit its type. Blocks and grids are not checked here but by exceeds_limits().
  KernelInstance instantiate(const Configuration& configuration) const;

  /// Returns the kernel's metrics (`flops`, `bytes`, ...) for a configuration.
  std::map<std::string, double> metrics(const Configuration& configuration) const;

  /// Returns the predicted time in the expectation's unit, if the kernel has an expectation. Throws
  /// InputError if the time is not positive.
  std::optional<std::int64_t> expected_time(const Configuration& configuration) const;

 private:
  SearchSpace listed_configurations() const;
  struct Compiled;
  class Evaluation;
  const KernelTemplate* kernel_;
  Problem problem_;
  std::shared_ptr<const Compiled> compiled_;
  mutable std::shared_ptr<const SearchSpace> search_space_;
};

/// Returns the time of each of a kernel's `launches`, all its repetitions together, in ms: the
/// median over passes; 0 for one that was never launched. REQUIRES: there is a pass, and each pass
/// has a time for every turn.
std::vector<double> launch_times_ms(const std::vector<Turn>& turns, std::size_t launches,
                                    const std::vector<std::vector<double>>& passes_ms);

}  // namespace smemtune
