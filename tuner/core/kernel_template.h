#pragma once

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

/// An expression as the space file has it. `where` is its JSON pointer, for messages.
struct ExpressionText {
  std::string text;
  std::string where;

  bool operator==(const ExpressionText&) const = default;
};

/// A tunable of a kernel: integers, or words for type or enumerator arguments.
struct Parameter {
  std::string name;
  std::vector<Value> values;  ///< In the file's order, each once, never empty.

  bool operator==(const Parameter&) const = default;
};

/// `input` must come out unharmed; `output` is poisoned before every checked run; `inout` is
/// restored before every launch; `scratch` is neither initialized nor checked.
enum class Role { input, output, inout, scratch };

/// A .npy file, and what it held when the space was read.
struct DataFile {
  std::filesystem::path path;
  std::string sha256;

  bool operator==(const DataFile&) const = default;
};

/// How a buffer's elements begin.
struct Init {
  /// uniform(a, b), normal(mean, deviation), iota, zero, constant(a), permutation, file("x.npy"),
  /// uniform (any value of an integer type, -1 to 1 of a floating one), `y[i] = 2 * x[i]`
  enum class Kind {
    none,
    uniform,
    normal,
    iota,
    zero,
    constant,
    permutation,
    file,
    full_range,
    definition
  };
  Kind kind = Kind::none;
  double a = 0;
  double b = 0;
  DataFile file;
  std::string definition = {};  ///< In the language of definition.h, of arguments before this one.
  /// Random elements lie in the same range, but have magnitudes of every order and both signs where
  /// the range has. Set for the second set of data.
  bool is_spread = false;

  bool operator==(const Init&) const = default;
};

/// Where a buffer lies, and what of it is passed. `constant`: a __constant__ symbol of the kernel,
/// not passed. `texture`: in global memory; a cudaTextureObject_t over it is passed, for
/// tex1Dfetch. `tensor_map`: in global memory; a CUtensorMap of it is passed by value.
enum class MemorySpace { global, constant, texture, tensor_map };

/// An argument of a problem's kernels: a buffer where `shape` is not empty, else a scalar.
struct ArgumentTemplate {
  std::string name;
  std::string
      type;  ///< A C++ type, or a name of the problem or of a parameter that stands for one.
  Role role = Role::input;
  std::vector<ExpressionText> shape;  ///< Elements in each dimension, outermost first.
  Init init;
  std::vector<ArgumentTemplate> reads;  ///< What the definition of `init` reads.
  MemorySpace memory = MemorySpace::global;
  std::string symbol;         ///< Of one in constant memory; a name expression. Default: the name.
  bool compares_sum = false;  ///< `"compare": "sum"`: see Argument.
  std::vector<ExpressionText> box;  ///< Of a tensor map: see Argument. As many as of the shape.
  std::vector<ExpressionText> element_strides;  ///< Likewise, or none.
  std::optional<ExpressionText> swizzle;        ///< Of a tensor map, in bytes.
  std::optional<ExpressionText> value;          ///< Of an integer scalar.
  std::optional<double> number;                 ///< Of a scalar given as a JSON number.
  /// Of `bytes(N)`, a struct; as a scalar it is passed by value, its bytes are those of `init`. A
  /// buffer of structs has one more dimension, of so many elements.
  std::int64_t raw_bytes = 0;
  std::string where;

  bool is_buffer() const { return !shape.empty(); }
  bool is_passed() const { return memory != MemorySpace::constant; }
  bool operator==(const ArgumentTemplate&) const = default;
};

/// One launch of a kernel.
struct LaunchTemplate {
  std::string entry;                               ///< `gemm_tiled<T, TILE>`, or a plain name.
  std::string entry_name;                          ///< `gemm_tiled`.
  std::vector<ExpressionText> template_arguments;  ///< Of the entry: expressions or type names.
  std::vector<ExpressionText> block;               ///< One to three dimensions, in threads.
  std::vector<ExpressionText> grid;                ///< One to three dimensions, in blocks.
  std::vector<ExpressionText> cluster;             ///< Likewise; empty: blocks by themselves.
  /// Of each thread, as each warpgroup sets them by setmaxnreg; the last are those of all further
  /// warpgroups. 0: those of the launch. Empty: none sets them.
  std::vector<ExpressionText> warpgroup_registers = {};
  std::vector<std::string> arguments;  ///< Names in the entry's order; empty: all.
  std::optional<ExpressionText> static_shared_bytes;
  std::optional<ExpressionText> dynamic_shared_bytes;
  bool cooperative = false;  ///< Its blocks wait for each other, so all must be on the device.

  bool operator==(const LaunchTemplate&) const = default;
};

/// Launches that are repeated together, as by a loop of the host: `"repeat": "i < N / TILE"`.
struct Repeat {
  std::size_t first = 0;  ///< Number of the first launch...
  std::size_t end = 0;    ///< ... and of the one behind the last.
  /// A name in blocks, grids, dynamic shared bytes and scalars: 0, 1, ... in the repetitions, their
  /// number in launches behind them. Empty: none.
  std::string counter;
  ExpressionText times;
  std::vector<std::array<std::string, 2>> swaps;  ///< Buffers that change places after each.

  bool operator==(const Repeat&) const = default;
};

/// How a result is compared: |x - r| <= absolute + relative * |r| + ulps * (the distance of r from
/// the next number of its type), element by element. Without any, the type's default
/// (tolerances.h). Integers are compared exactly unless a tolerance is given.
struct Tolerance {
  std::optional<double> absolute;
  std::optional<double> relative;
  std::optional<double> ulps = std::nullopt;  ///< Units in the last place.
  /// Instead of these, so many times what the reference itself is off a run of it in double
  /// precision (derived_tolerance.h); 1 or more.
  std::optional<double> derived = std::nullopt;

  /// Whether numbers are given; derived ones are not known yet.
  bool is_given() const { return absolute || relative || ulps; }

  bool operator==(const Tolerance&) const = default;
};

/// What a kernel's times are predicted to be, for kernels that show how a device behaves.
struct Expectation {
  ExpressionText time;  ///< In any unit: only the ratio to the default configuration's matters.
  double within_percent = 0;  ///< Seen where measured and predicted differ by no more, either way.

  bool operator==(const Expectation&) const = default;
};

/// One way to solve a space's problems.
struct KernelTemplate {
  std::string name;
  std::string description;
  std::filesystem::path source;  ///< As the file has it.
  enum class Pass { as_template, as_define };
  Pass pass = Pass::as_template;
  std::vector<std::filesystem::path> include;  ///< Folders searched by #include "...".
  std::vector<std::string> options;            ///< NVRTC options from the allow-list.
  bool architecture_specific = false;          ///< Compile for sm_90a instead of sm_90.
  std::vector<std::string> required_features;  ///< `"requires"`: words of core/limits.h.
  std::vector<Parameter> parameters;
  Configuration default_configuration;  ///< Every parameter; the first values where not given.
  bool default_is_a_guess = false;      ///< By `smemtune init`; nobody has confirmed it.
  std::vector<ExpressionText> constraints;
  std::vector<LaunchTemplate> launches;           ///< In order, timed together. Never empty.
  std::vector<Repeat> repeats;                    ///< In order, of different launches.
  std::vector<ArgumentTemplate> arguments;        ///< The space's, or the kernel's own.
  std::map<std::string, ExpressionText> metrics;  ///< The space's, with the kernel's own on top.
  std::optional<Expectation> expect;
  Tolerance tolerance;  ///< The space's, or the kernel's own.
  /// Names of the problems that the source does not use: these are no macros for it.
  std::set<std::string> unused_names;
  std::string where;

  /// Whether a launch takes what `wanted` stands for as a template argument; then it is handed over
  /// so and not as a macro.
  bool names_template_argument(std::string_view wanted) const;

  bool operator==(const KernelTemplate&) const = default;
};

}  // namespace smemtune
