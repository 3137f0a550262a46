#pragma once

#include "tuner/core/device.h"
#include "tuner/core/search_space.h"
#include "tuner/core/space.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A buffer or scalar of a problem, with its size.
struct Argument {
  std::string name;
  ScalarType type = ScalarType::float32;
  Role role = Role::input;
  std::vector<std::int64_t> shape;  ///< Empty: a scalar.
  Init init;
  MemorySpace memory = MemorySpace::global;
  std::string symbol;  ///< Name expression of the __constant__ symbol.
  /// Of a result: the sum of its elements is compared and not each of them, as with partial sums of
  /// which a configuration may write any number.
  bool compares_sum = false;
  std::int64_t integer = 0;  ///< Value of an integer scalar.
  double number = 0;         ///< Value of a floating scalar.
  /// Of a scalar that is a struct: its size; its bytes are those of `init`. 0: it is none.
  std::int64_t raw_bytes = 0;
  /// Of a tensor map: the box that is copied at a time, and the distance of its elements in the
  /// tensor, in elements of each dimension, outermost first; and by how many bytes its rows are
  /// swizzled in shared memory, 0 where they are not.
  std::vector<std::int64_t> box = {};
  std::vector<std::int64_t> element_strides = {};
  std::int64_t swizzle = 0;
  /// The elements begin as those of this type would, converted to `type`.
  std::optional<ScalarType> begins_as = std::nullopt;
  /// What the definition of `init` reads, and the problem whose names it holds.
  std::vector<Argument> reads = {};
  Problem problem = {};

  bool is_buffer() const { return !shape.empty(); }
  /// What a kernel computes, compared with the reference's.
  bool is_result() const { return is_buffer() && (role == Role::output || role == Role::inout); }
  bool in_constant_memory() const { return memory == MemorySpace::constant; }
  bool is_texture() const { return memory == MemorySpace::texture; }
  bool is_tensor_map() const { return memory == MemorySpace::tensor_map; }
  /// Elements of a texture that are fetched at once: the last of two dimensions, or 1.
  std::int64_t texel_elements() const { return shape.size() > 1 ? shape.back() : 1; }
  /// Whether another seed gives it other contents.
  bool is_random() const;
  std::int64_t elements() const;  ///< Product of the shape.
  std::int64_t bytes() const;     ///< Of all elements, or of the scalar.
  bool operator==(const Argument&) const = default;
};

/// Of all of them together.
std::int64_t total_bytes(const std::vector<Argument>& arguments);

/// One of several launches of an entry.
struct Repetition {
  std::int64_t turn = 0;  ///< Its place among all launches of the kernel.
  Dim3 grid = {1, 1, 1};
  Dim3 block = {1, 1, 1};
  std::int64_t dynamic_shared_bytes = 0;
  std::vector<std::string> arguments;  ///< Names, in the entry's order.
  std::vector<Argument> scalars;       ///< Those whose values are not the kernel's.
  /// Of the kernel's last turn: by name, the buffer that bears the name when all is done, where it
  /// is another because they were swapped.
  std::map<std::string, std::string> renamed = {};

  bool operator==(const Repetition&) const = default;
};

/// One launch of one configuration. Where it is repeated, its extents are those of the first time.
struct LaunchShape {
  std::string name_expression;                    ///< `gemm_tiled<float, 32>`.
  Dim3 grid = {1, 1, 1};                          ///< In blocks.
  Dim3 block = {1, 1, 1};                         ///< In threads.
  Dim3 cluster = {1, 1, 1};                       ///< In blocks.
  std::vector<std::int64_t> warpgroup_registers;  ///< As declared: see LaunchTemplate.
  std::int64_t dynamic_shared_bytes = 0;
  std::optional<std::int64_t> static_shared_bytes;  ///< As declared, to be held against ptxas.
  std::vector<std::string> arguments;               ///< Names, in the entry's order.
  bool cooperative = false;  ///< Its blocks wait for each other: all must be there at once.
  std::int64_t times = 1;    ///< How often it is launched.
  /// Every time, in a kernel of which any launch is repeated; else empty.
  std::vector<Repetition> repetitions = {};

  std::int64_t threads_per_block() const { return volume(block); }
  std::int64_t blocks_per_cluster() const { return volume(cluster); }
  bool operator==(const LaunchShape&) const = default;
};

/// A launch in the order in which the device is to do them.
struct Turn {
  std::size_t launch = 0;  ///< Of the kernel's.
  Repetition as = {};

  bool operator==(const Turn&) const = default;
};

/// All that `launches` stand for, in their order.
std::vector<Turn> turns_of(const std::vector<LaunchShape>& launches);

/// The buffer that bears the name after the last of these turns, and so holds what is compared as
/// it.
const std::string& holder_of(const std::string& name, const std::vector<Turn>& turns);

/// One configuration of one kernel on one problem: what is compiled and launched.
struct KernelInstance {
  std::string kernel;
  Configuration configuration;
  std::vector<LaunchShape> launches;
  std::vector<std::string> options;  ///< For the compiler: the kernel's, and -DNAME=VALUE.
  bool architecture_specific = false;
  std::vector<std::string> required_features;
  /// All that the launches name, and all in constant memory, sized; in the file's order.
  std::vector<Argument> arguments;
  Tolerance tolerance;

  bool operator==(const KernelInstance&) const = default;
};

/// A kernel template bound to one problem and one device's limits. Refers to the space and kernel,
/// which must outlive it. Words that a parameter or a problem takes may be compared with by name:
/// `LAYOUT == row`.
///
/// Of an entry's template arguments a type name, `true`, `false` and a name that stands for a word
/// print as the word; a name that only the source can know (`Plus`, `cute::half_t`) prints as it
/// stands, unless it resembles a known name; all else is an integer expression.
class KernelBinding {
 public:
  /// Compiles every expression. Throws InputError naming the file, the JSON pointer and the text.
  KernelBinding(const Space& space, const KernelTemplate& kernel, const Problem& problem,
                const Device& device);

  const KernelTemplate& kernel() const { return *kernel_; }
  const Problem& problem() const { return problem_; }

  /// The valid configurations; enumerated when first asked for (by one thread), until `must_end`
  /// says so. Throws InputError; Cancelled then.
  const SearchSpace& search_space(const std::function<bool()>& must_end = {}) const;

  /// Whether the constraints hold for a configuration that need not lie on the lists of values.
  /// Throws InputError when it has other parameters, or where a constraint has no value.
  bool satisfies_constraints(const Configuration& configuration) const;

  /// The text of the first constraint that does not hold, or nullopt. Throws likewise.
  std::optional<std::string> violated_constraint(const Configuration& configuration) const;

  /// Throws InputError (with the place) when an expression has no value for it, when a number of
  /// shared bytes is negative, an array has no element or a scalar does not fit its type. Blocks
  /// and grids are for exceeds_limits() to judge.
  KernelInstance instantiate(const Configuration& configuration) const;

  /// The kernel's metrics (`flops`, `bytes`, ...) for a configuration.
  std::map<std::string, double> metrics(const Configuration& configuration) const;

  /// The predicted time of a kernel that has an expectation, in its unit. Throws InputError where
  /// it is not positive.
  std::optional<std::int64_t> expected_time(const Configuration& configuration) const;

 private:
  struct Compiled;
  class Evaluation;
  const KernelTemplate* kernel_;
  Problem problem_;
  std::shared_ptr<const Compiled> compiled_;
  mutable std::shared_ptr<const SearchSpace> search_space_;
};

}  // namespace smemtune
