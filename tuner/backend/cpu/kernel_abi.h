#pragma once

// The interface between a compiled kernel and the process that runs it. Included here, and
// compiled into every kernel; so it includes nothing, and is C++17.

namespace smemtune::abi {

/// Every CUDA thread runs on a stack that begins at a multiple of its size. Its Thread lies at the
/// stack's upper end, so code finds it from the address of its own frame, without thread-local
/// variables.
inline constexpr unsigned long kStackBytes = 65536;

inline constexpr unsigned long kPageBytes = 4096;

inline constexpr unsigned long kWarpSize = 32;

struct Block;

struct Thread {
  unsigned x = 0, y = 0, z = 0;  ///< threadIdx
  unsigned linear = 0;           ///< Within the block; its warp is linear / 32.
  Block* block = nullptr;
};

/// A __shared__ variable of one instantiation of a function.
struct Slot {
  unsigned long bytes;  ///< The first two are also read from the object file.
  unsigned long alignment;
  const char* name;
  unsigned long offset;  ///< From the start of shared memory; 0 until it is reserved.
};

enum class Access : int { read, write, atomic };

/// How a barrier's predicates are combined.
enum class Vote : int { none, count, all, any };

/// Services of the running process for a kernel.
struct Services {
  int (*barrier)(Thread& thread, Vote vote, int predicate);

  /// Meets the other lanes of `mask`; each gives a value and takes that of lane `source`. With a
  /// negative source it takes the mask of the lanes whose value is not 0.
  unsigned long long (*exchange)(Thread& thread, unsigned mask, unsigned long long value,
                                 int source);

  /// Lanes of the thread's warp that have not returned.
  unsigned (*active_lanes)(Thread& thread);

  void (*reserve)(Thread& thread, Slot& slot);

  /// Reports an access to memory within `shared` or `buffers` by the code at `place`.
  void (*access)(Thread& thread, const void* address, unsigned long bytes, Access kind,
                 const void* place);

  /// Ends the block. Does not return. `reason` is a word; `detail` is for people.
  void (*fail)(Thread& thread, const char* reason, const char* detail);

  int (*print)(const char* format, __builtin_va_list arguments);
};

/// A texture; a cudaTextureObject_t is its address.
struct Texture {
  const unsigned char* texels = nullptr;
  unsigned long count = 0;
  unsigned long bytes = 0;  ///< Size of a texel.
  /// The rest is of a texture of two dimensions, else 0.
  long width = 0;
  long height = 0;
  int address = 0;  ///< Reads beyond its ends give: 0 the nearest texel, 1 zeros, 2 it again, 3 its
                    ///< mirror image.
  bool is_linear = false;      ///< True if neighboring texels are interpolated.
  bool is_normalized = false;  ///< True if coordinates run from 0 to 1.
};

struct Range {
  unsigned char* begin = nullptr;
  unsigned long bytes = 0;
};

/// The block that an OS thread runs.
struct Block {
  unsigned index[3] = {};
  unsigned grid[3] = {};
  unsigned dimensions[3] = {};
  Range shared;   ///< Dynamic shared memory lies at its start.
  Range buffers;  ///< The workload's, with their guard zones.
  const Services* services = nullptr;
};

}  // namespace smemtune::abi
