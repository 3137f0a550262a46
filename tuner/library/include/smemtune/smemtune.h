#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <smemtune/selection.h>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

// libsmemtune: the stored best configurations in a program of your own. Open results, select the
// best for this device and problem, compile it with NVRTC (once: cubins are cached), launch it.
//
//   const smemtune::Results results("best.json");           // or a database
//   const smemtune::Gpu gpu = smemtune::gpus().front();
//   const auto best = results.select(gpu.target(), "scale", {{"N", 1 << 24}, {"T", "float"}});
//   const smemtune::TunedKernel kernel("scale.json", best, gpu);
//   kernel.launch({{"in", in}, {"out", out}}, stream);
//
// Errors are reported as a std::runtime_error that says what went wrong and where.

namespace smemtune {

/// An integer, or a word: a type's name or an enumerator.
using Value = std::variant<std::int64_t, std::string>;
/// Values by name: a problem, a configuration.
using Bindings = std::map<std::string, Value, std::less<>>;
using Problem = Bindings;
using Configuration = Bindings;

/// A selected configuration and where it comes from.
struct Selection {
  Match match = Match::none;
  double size_ratio = 1;  ///< See Choice.
  std::string space;
  std::string kernel;
  Configuration parameters;
  Problem problem;  ///< The requested problem.
  /// The problem that was measured; empty for defaults, as are the members below.
  Problem measured_problem;
  std::string measured_device;
  double time_ms = 0;  ///< Median, on the measured problem.
  /// Hash of the measured kernel; TunedKernel compares it with the source.
  std::string kernel_hash;
  /// The shared file that it is from; empty when it is from the opened results.
  std::string shared_from;
  /// True if the kernel had been edited since it was measured when the export was written, or when
  /// the database's device was last tuned. KernelPlan::edited compares with the present files.
  bool stale = false;
  /// The reference that its output was compared with when it was measured: `definition`, `expected file`,
  /// `another kernel`, `only itself` or `unknown`.
  std::string compared_with;

  /// Returns `scale ITEMS=2,THREADS=128 (nearest problem: N=1000,T=float, size ratio 2.1)`.
  std::string text() const;
};

/// Results of tuning: a database, a JSON file written by `smemtune export`, or a folder of such
/// files. The files and folders of $SMEMTUNE_SHARED_DB (separated by colons) come after them: of a
/// problem on a device the first file that has it counts. An export's results of a space are read when
/// the space is asked for first. Needs no CUDA.
class Results {
 public:
  explicit Results(const std::filesystem::path& file);
  /// Opens exactly these files and folders, without those of $SMEMTUNE_SHARED_DB. All but the first
  /// are shared ones; an empty path is left out.
  explicit Results(const std::vector<std::filesystem::path>& files);

  /// Selects the best for a device and a problem of a space; among all kernels unless one is named.
  /// For a problem that was not measured, what was measured for others of the space decides, and only
  /// configurations are selected that satisfy their kernel's constraints, as far as the results
  /// have them. The match is Match::none when there is no such configuration.
  Selection select(const Target& target, const std::string& space, const Problem& problem,
                   const std::string& kernel = {}) const;

 private:
  class Contents;
  std::shared_ptr<const Contents> contents_;
};

/// A GPU of this machine.
struct Gpu {
  int index = 0;  ///< Number of the device for cudaSetDevice.
  std::string name;
  int compute_capability = 0;  ///< 90 for 9.0.

  Target target() const { return {name, compute_capability}; }
};

/// Throws when there is no GPU, no driver, or the library was built without CUDA.
std::vector<Gpu> gpus();

/// A device address or the value of a scalar, as bytes.
class LaunchArgument {
 public:
  template <typename T>
  // Implicit, so that lists of them read well. NOLINTNEXTLINE(google-explicit-constructor)
  LaunchArgument(const T& value) : bytes_(sizeof(T)) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }

  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};
using LaunchArguments = std::map<std::string, LaunchArgument, std::less<>>;

/// One launch, for the requested problem.
struct KernelLaunch {
  std::string entry;  ///< The C++ name expression.
  std::int64_t grid[3] = {1, 1, 1};
  std::int64_t block[3] = {1, 1, 1};
  std::int64_t cluster[3] = {1, 1, 1};  ///< In blocks; no clusters if all are 1.
  std::int64_t dynamic_shared_bytes = 0;
  std::vector<std::string> arguments;  ///< Names, in the entry's order.
  bool cooperative = false;            ///< Launch it with cuLaunchCooperativeKernel.
  /// CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT in percent; -1: the driver's own.
  std::int64_t shared_carveout = -1;
  /// Launch it with CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.
  bool programmatic = false;
  /// Values of the scalars that differ between repeated launches.
  std::map<std::string, std::int64_t> scalars;
};

/// A buffer that the launches read or write.
struct KernelBuffer {
  std::string name;
  std::int64_t bytes = 0;
  bool in_constant_memory = false;  ///< Not passed: copy it to TunedKernel::symbol().
  bool is_texture = false;          ///< Pass a cudaTextureObject_t over such linear memory.
  bool is_tensor_map = false;       ///< The kernel takes a CUtensorMap; launch() makes it from the
                                    ///< address.
};

/// The folders of kernel sources and compiled modules.
struct KernelPlaces {
  std::filesystem::path share;  ///< Holds kernel_templates/, for spaces that use them.
  std::filesystem::path cache;  ///< For cubins; empty: $SMEMTUNE_CACHE or ~/.cache/smemtune.
};

/// The launches and buffers of a selection for its problem, by the expressions of the space file.
/// Needs no CUDA.
struct KernelPlan {
  std::vector<KernelLaunch> launches;
  std::vector<KernelBuffer> buffers;
  /// True if the kernel's source, launches or verification were edited since it was measured.
  bool edited = false;
};

/// Plans a selection. `target`: the device that it is for. Throws when the space file has no such
/// kernel, or when the configuration does not satisfy its constraints for this problem.
KernelPlan plan_kernel(const std::filesystem::path& space_file, const Selection& selection,
                       const Target& target, const KernelPlaces& places = {});

/// A selected configuration, compiled and loaded in the GPU's primary context. NVRTC compiles in
/// this process, and ends the process when it runs out of memory. The environment's NVRTC_
/// variables, which would change what is compiled, are cleared.
class TunedKernel {
 public:
  TunedKernel(const std::filesystem::path& space_file, const Selection& selection, const Gpu& gpu,
              const KernelPlaces& places = {});
  ~TunedKernel();
  TunedKernel(TunedKernel&&) noexcept;
  TunedKernel& operator=(TunedKernel&&) noexcept;
  TunedKernel(const TunedKernel&) = delete;
  TunedKernel& operator=(const TunedKernel&) = delete;

  const KernelPlan& plan() const;

  /// Enqueues all launches on `stream` (a cudaStream_t or CUstream; null: the default stream).
  /// Every buffer must be given; a scalar that is not given has the space file's value. Throws for
  /// an unknown name or a wrong size.
  void launch(const LaunchArguments& arguments, void* stream = nullptr) const;

  /// Returns the device address of a buffer in constant memory.
  void* symbol(const std::string& buffer) const;

 private:
  struct Loaded;
  std::unique_ptr<const Loaded> loaded_;
};

}  // namespace smemtune
