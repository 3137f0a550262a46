#pragma once

#include "tuner/core/space_keys.h"
#include "tuner/core/value.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune {

/// An expression as written in the space file. `where` is its JSON pointer, for messages.
struct ExpressionText {
  std::string text;
  std::string where;

  bool operator==(const ExpressionText&) const = default;
};

/// A tunable of a kernel: integers, or words for type or enumerator arguments.
struct Parameter {
  std::string name;
  std::vector<Value> values;  ///< Distinct values in the file's order; never empty.

  bool operator==(const Parameter&) const = default;
};

// The kernel's hash contains words of these enumerations as their numbers (kernel_hash.h). A number
// never changes; a new word takes the next one.

/// How an argument is used: `input` must remain unchanged; `output` is poisoned before every
/// checked run; `inout` is restored before every launch; `scratch` is not checked, and restored
/// before every launch if it has an init.
enum class Role { input = 0, output = 1, inout = 2, scratch = 3 };

/// A .npy file, and the checksum of its contents when the space was read.
struct DataFile {
  std::filesystem::path path;
  std::string sha256;

  bool operator==(const DataFile&) const = default;
};

/// The initial values of a buffer's elements.
struct Init {
  /// uniform(a, b), normal(mean, deviation), iota, zero, constant(a), permutation, file("x.npy"),
  /// uniform (any value of an integer type, -1 to 1 of a floating one), `y[i] = 2 * x[i]`
  enum class Kind {
    none = 0,
    uniform = 1,
    normal = 2,
    iota = 3,
    zero = 4,
    constant = 5,
    permutation = 6,
    file = 7,
    full_range = 9,
    definition = 8
  };
  Kind kind = Kind::none;
  double a = 0;
  double b = 0;
  DataFile file;
  std::string definition = {};  ///< Text in the language of definition.h; reads earlier arguments.
  /// True if random elements stay in the same range but have magnitudes of every order, and both
  /// signs if the range has both. Set for the second data set.
  bool is_spread = false;

  bool operator==(const Init&) const = default;
};

/// Returns why the numbers of uniform(LOW, HIGH) or normal(MEAN, DEVIATION) make no sense; empty if
/// they do.
std::string init_fault(const Init& init);

/// The memory that a buffer lies in, and what a kernel is passed. `constant`: a __constant__ symbol
/// of the kernel, which is not passed. `texture`: global memory; a cudaTextureObject_t over it is
/// passed, for tex1Dfetch. `tensor_map`: global memory; a CUtensorMap of it is passed by value.
/// `texture_2d`: like a texture, but of rows, for tex2D.
enum class MemorySpace { global, constant, texture, tensor_map, texture_2d };

/// The addressing and filtering that tex2D uses for a texture.
struct TextureReading {
  /// Reads beyond the ends give the nearest texel, zeros, the texture again, or its mirror image.
  enum class Address { clamp, border, wrap, mirror };
  Address address = Address::clamp;
  bool is_linear = false;      ///< True if neighboring texels are interpolated.
  bool is_normalized = false;  ///< True if coordinates run from 0 to 1.

  bool operator==(const TextureReading&) const = default;
};

/// An argument of a problem's kernels: a scalar if `shape` is empty, otherwise a buffer.
struct ArgumentTemplate : ArgumentKeys<ExpressionText> {
  std::string name;
  std::string type;  ///< C++ type, or a name of the problem or of a parameter that stands for one.
  Role role = Role::input;
  Init init;
  /// Numbers of `init` that are expressions: both of uniform() or normal(), or that of constant().
  std::vector<ExpressionText> init_numbers = {};
  std::vector<ArgumentTemplate> reads;  ///< Arguments that the definition of `init` reads.
  MemorySpace memory = MemorySpace::global;
  TextureReading reading = {};  ///< How a texture of two dimensions is read.
  /// Name expression of an argument in constant memory. Default: the name.
  std::string symbol;
  bool compares_sum = false;     ///< True for `"compare": "sum"`: see Argument.
  bool compares_sorted = false;  ///< True for `"compare": "sorted"`: see Argument.
  bool nan_agrees = false;       ///< See Argument.
  /// Value of a scalar that is given as a JSON number.
  std::optional<double> number;
  /// Size of a struct, N of `bytes(N)`; otherwise 0. A scalar struct is passed by value and its
  /// bytes are those of `init`. A buffer of structs has one more dimension, of this many elements.
  std::int64_t raw_bytes = 0;
  /// Names of the arguments that make up a struct which is passed by value, in the order of its
  /// members.
  std::vector<std::string> members = {};
  std::string where;

  bool is_buffer() const { return !shape.empty(); }
  /// See Argument::is_scratch().
  bool is_scratch() const { return role == Role::scratch && init.kind == Init::Kind::none; }
  bool is_passed() const { return memory != MemorySpace::constant; }
  bool operator==(const ArgumentTemplate&) const = default;
};

/// Returns whether a template argument is CUDA C++ rather than an expression: `Tile<M, N>`,
/// `ns::Policy`, `float*`. A comparison has a space before its `<`.
bool is_cpp(std::string_view text);

/// Returns whether an entry is a cast, which chooses among overloads.
bool is_cast(std::string_view entry);

/// One launch of a kernel.
struct LaunchTemplate : LaunchKeys<ExpressionText> {
  /// Name with template arguments, `gemm_tiled<T, TILE>`, a plain name, or a cast of a name:
  /// `(void (*)(float*, int))scale`.
  std::string entry;
  /// Name without template arguments and cast: `gemm_tiled`.
  std::string entry_name;
  /// Template arguments of the entry: expressions or type names.
  std::vector<ExpressionText> template_arguments;

  bool operator==(const LaunchTemplate&) const = default;
};

/// Launches that are repeated together, as by a loop of the host: `"repeat": "i < N / TILE"`.
struct Repeat {
  std::size_t first = 0;  ///< Index of the first launch.
  std::size_t end = 0;    ///< Index behind the last launch.
  /// Name that blocks, grids, dynamic shared bytes and scalars may use: its value is 0, 1, ... in
  /// the repetitions, and their number in the launches behind them. Empty if there is no counter.
  std::string counter;
  ExpressionText times;
  /// Pairs of buffers that change places after each repetition.
  std::vector<std::array<std::string, 2>> swaps;

  bool operator==(const Repeat&) const = default;
};

/// How a result is compared, element by element: |x - r| <= absolute + relative * |r| + ulps * (the
/// distance of r from the next number of its type). If no member is set, the type's default applies
/// (tolerances.h). Integers are compared exactly unless a tolerance is given.
struct Tolerance {
  std::optional<double> absolute;
  std::optional<double> relative;
  std::optional<double> ulps = std::nullopt;  ///< Units in the last place.
  /// Factor, 1 or more, by which the reference's own error against a run of it in double precision
  /// is multiplied to give the tolerance (derived_tolerance.h). Replaces the other members.
  std::optional<double> derived = std::nullopt;

  /// Returns whether numbers are given; derived ones are not known yet.
  bool is_given() const { return absolute || relative || ulps; }

  bool operator==(const Tolerance&) const = default;
};

/// A prediction of a kernel's times, for kernels that show how a device behaves.
struct Expectation {
  /// Time in any unit: only its ratio to the default configuration's time matters.
  ExpressionText time;
  /// Largest difference, in either direction, with which a measured time still confirms the
  /// prediction.
  double within_percent = 0;

  bool operator==(const Expectation&) const = default;
};

/// One way to solve a space's problems.
struct KernelTemplate {
  std::string name;
  std::string description;
  std::filesystem::path source;  ///< Path as written in the space file.
  enum class Pass { as_template = 0, as_define = 1 };
  Pass pass = Pass::as_template;
  std::vector<std::filesystem::path> include;  ///< Folders searched by #include "...".
  std::vector<std::string> options;            ///< NVRTC options from the allow-list.
  bool architecture_specific = false;          ///< Compile for sm_90a instead of sm_90.
  std::vector<std::string> required_features;  ///< Words of core/limits.h, listed as `"requires"`.
  std::vector<Parameter> parameters;
  /// The configurations that are searched, instead of all combinations of values; empty: all.
  std::vector<Configuration> configurations = {};
  /// Value of every parameter: the first one of its list, where none is given.
  Configuration default_configuration;
  /// True if `smemtune init` guessed it and nobody has confirmed it.
  bool default_is_a_guess = false;
  std::vector<ExpressionText> constraints;
  /// Conditions of the search only: a configuration that violates one can run, but is not tried.
  std::vector<ExpressionText> promising = {};
  /// Launches in order, timed together. Never empty.
  std::vector<LaunchTemplate> launches;
  /// Repetitions in order, each of different launches.
  std::vector<Repeat> repeats;
  std::vector<ArgumentTemplate> arguments;  ///< Arguments of the space, or the kernel's own.
  /// Metrics of the space, overridden by the kernel's own.
  std::map<std::string, ExpressionText> metrics;
  std::optional<Expectation> expect;
  Tolerance tolerance;  ///< Tolerance of the space, or the kernel's own.
  /// Names that the source does not use, so that no macros are defined for them.
  std::set<std::string> unused_names;
  std::string where;

  /// Returns whether a launch has `wanted` as a template argument. Its value is then passed that
  /// way and not as a macro.
  bool names_template_argument(std::string_view wanted) const;

  bool operator==(const KernelTemplate&) const = default;
};

}  // namespace smemtune
