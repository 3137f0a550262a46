#pragma once

#include "tuner/backend/cpu/kernel_abi.h"
#include "tuner/backend/cpu/shared_memory.h"
#include "tuner/backend/launcher.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune::cpu {

/// Data drawn for timed launches, and the reference's answers for them.
struct DataSet {
  std::uint64_t key = 0;   ///< Key of each buffer's redraw_for().
  std::uint64_t mask = 0;  ///< Mask under which the answers are kept (apply_mask).
  std::map<std::string, std::vector<std::uint8_t>> answers = {};  ///< Reference outputs, by name.
};

/// The arguments of a workload in memory: each buffer between guard zones of at least 4 KB, all of
/// them between pages that cannot be accessed.
class Buffers {
 public:
  /// Returns the bytes that the constructor and later as_reference runs take.
  static std::int64_t needed_bytes(const Workload& workload);

  explicit Buffers(const Workload& workload);

  /// Returns the pointer that the launcher passes for an argument: the address of a pointer to the
  /// buffer or to its abi::Texture, or of the scalar. Null for an unknown name.
  void* kernel_argument(const std::string& name, bool as_texture);

  const Argument* argument(const std::string& name) const;

  /// Returns the initial contents of a buffer; none if it begins as poison.
  const std::vector<std::uint8_t>& initial(const std::string& name) const;

  /// Gives scratch of this name the argument's size, which parameters may change. Returns false if
  /// it has no room for that.
  bool resize(const Argument& scratch);

  /// Takes over what keep_reference() has kept in other buffers of the same names.
  void take_reference(Buffers& other);

  /// Fills inputs and inouts with the data of a key (redraw_for; 0: their initial contents), poisons
  /// outputs, and repairs guard zones. Textures and constants stay as they are.
  void fill(std::uint64_t key = 0);

  /// Returns the outputs, as answers, of a reference that ran on the data of `key`.
  DataSet answered(std::uint64_t key) const;
  /// Returns true if any buffer can be drawn anew.
  bool can_redraw() const;
  /// Returns the bytes of the outputs.
  std::int64_t result_bytes() const;
  bool has_reference() const;

  /// Flushes the buffers and their guard zones from all caches to memory. Returns false, and flushes
  /// nothing, if they are larger than `most_bytes` or the processor has no instruction for that.
  bool flush_from_caches(std::size_t most_bytes) const;

  /// Returns the memory in which the buffers and their guard zones lie.
  abi::Range range() const;

  /// Checks an access to an address within range().
  std::optional<AccessFault> access(const void* address, std::size_t bytes, abi::Access kind) const;

  /// Checks everything after a checked run. Fills in mismatch and errors.
  void examine(const RunRequest& request, RunReport& report) const;

  /// Checks outputs and guard zones after a timed launch on the data of a set.
  std::optional<Mismatch> examine(const RunRequest& request, const DataSet* set);

  /// Keeps the outputs, or the values that `instead` has for them, for examine() to compare with.
  void keep_reference(const std::map<std::string, std::vector<double>>& instead);

  /// Returns the outputs as keep_reference() left them.
  std::vector<KeptOutput> kept() const;
  std::vector<std::uint8_t> kept_elements(const std::string& output,
                                          std::span<const std::int64_t> at) const;

  /// Writes the kept outputs, with these edits, as if a kernel had written them.
  void write_kept(const std::vector<Edit>& edits);

  /// Sets which buffer bears the name of another one, by name, until fill(), after launches have
  /// swapped them. examine(), keep_reference() and elements() use these buffers.
  void set_holders(std::map<std::string, std::string> holders);

  /// Returns the elements of a buffer as they are now.
  EncodedArray elements(const std::string& name) const;

 private:
  struct Buffer {
    Argument argument;
    std::vector<std::uint8_t> initial;    ///< Empty if poison.
    std::vector<std::uint8_t> reference;  ///< Empty until a reference is kept.
    std::vector<std::uint8_t> scalar;
    bool can_redraw = false;
    unsigned char* data = nullptr;  ///< Kernels get the address of this...
    abi::Texture texture;           ///< ... or of this.
    const abi::Texture* texture_object = nullptr;
    unsigned char* data_end = nullptr;
    unsigned char* guard = nullptr;     ///< Start of the zone before the data.
    unsigned char* end = nullptr;       ///< End of the zone after the data.
    unsigned char* room_end = nullptr;  ///< End of the memory that is kept for it.

    std::size_t bytes() const { return static_cast<std::size_t>(argument.bytes()); }
    std::size_t element_bytes() const { return size_of(argument.type); }
    bool in_arena() const { return argument.is_buffer() && !argument.in_constant_memory(); }
    bool is_result() const { return in_arena() && argument.is_result(); }
  };

  std::optional<Mismatch> harmed_guard(const Buffer& buffer) const;
  std::optional<Mismatch> modified_input(const Buffer& buffer) const;
  std::optional<Mismatch> wrong_element(const Buffer& buffer, const Tolerance& tolerance,
                                        bool as_reference, RunReport& report) const;
  const Buffer* find(const std::string& name) const;
  std::optional<Mismatch> wrong_results(const RunRequest& request, RunReport& report) const;
  /// Returns the buffer that bears its name now.
  const Buffer& holder(const Buffer& buffer) const;
  std::span<const std::uint8_t> bytes_of(const Buffer& buffer) const;

  std::vector<Buffer> buffers_;
  std::map<std::string, std::string> holders_;
  MappedMemory arena_;
};

}  // namespace smemtune::cpu
