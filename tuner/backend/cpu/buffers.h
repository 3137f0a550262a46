#pragma once

#include "tuner/backend/cpu/kernel_abi.h"
#include "tuner/backend/cpu/mapped_memory.h"
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

/// Data that were drawn for timed launches, and what the reference gives for them.
struct DataSet {
  std::uint64_t key = 0;   ///< redraw_for() of each buffer.
  std::uint64_t mask = 0;  ///< The answers are kept under it (apply_mask).
  std::map<std::string, std::vector<std::uint8_t>> answers = {};  ///< By output.
};

/// The arguments of a workload in memory: each buffer between guard zones of at least 4 KB, the
/// whole between pages that cannot be touched.
class Buffers {
 public:
  /// Bytes that the constructor and later as_reference runs take.
  static std::int64_t needed_bytes(const Workload& workload);

  explicit Buffers(const Workload& workload);

  /// What the launcher passes for an argument: the address of a pointer to the buffer or to its
  /// abi::Texture, or of the scalar. Null for an unknown name.
  void* kernel_argument(const std::string& name, bool as_texture);

  const Argument* argument(const std::string& name) const;

  /// Initial contents of a buffer in constant memory.
  const std::vector<std::uint8_t>& initial(const std::string& name) const;

  /// Inputs and inouts as they were at first, outputs poisoned, guard zones as they should be.
  void restore();

  /// The same for a timed launch: with the data of a set, of none (nullptr: the initial contents), or
  /// with such as nobody has seen. Textures and constants stay as they are.
  void refill(const DataSet* set);
  void refill_afresh();

  /// Keeps the outputs, of a reference to which refill() gave this data, as their answers.
  DataSet answered(std::uint64_t key) const;
  /// Whether any buffer can be drawn anew, and the bytes of the outputs.
  bool can_redraw() const;
  std::int64_t result_bytes() const;
  bool has_reference() const;

  /// The memory in which the buffers and their guard zones lie.
  abi::Range range() const;

  /// An access to an address within range().
  std::optional<AccessFault> access(const void* address, std::size_t bytes, abi::Access kind) const;

  /// After a checked run: looks at everything. Fills in mismatch and errors.
  void examine(const RunRequest& request, RunReport& report) const;

  /// After a timed launch for which refill(set) was called: looks at outputs and guard zones.
  std::optional<Mismatch> examine(const RunRequest& request, const DataSet* set);

  /// Keeps the outputs as what examine() compares with, or what is given for them.
  void keep_reference(const std::map<std::string, std::vector<double>>& instead);

  /// The outputs as keep_reference() left them.
  std::vector<KeptOutput> kept() const;
  std::vector<std::uint8_t> kept_elements(const std::string& output, std::int64_t first,
                                          std::int64_t count) const;

  /// Writes what is kept, with these edits, as a kernel would that had written it.
  void write_kept(const std::vector<Edit>& edits);

  /// By name, the buffers that bear names other than their own from now on, until restore(), as
  /// launches have swapped them: what examine(), keep_reference(), elements() and bits() look at.
  void set_holders(std::map<std::string, std::string> holders);

  /// Elements of a buffer as they are now.
  std::vector<double> elements(const std::string& name) const;
  /// Their bits, of a buffer of 64-bit integers; else none.
  std::vector<std::uint64_t> bits(const std::string& name) const;

 private:
  struct Buffer {
    Argument argument;
    std::vector<std::uint8_t> initial;    ///< Empty where it is poison.
    std::vector<std::uint8_t> reference;  ///< Empty until a reference is kept.
    std::vector<std::uint8_t> scalar;
    bool can_redraw = false;
    unsigned char* data = nullptr;  ///< Also what a kernel gets the address of...
    abi::Texture texture;           ///< ... and this.
    const abi::Texture* texture_object = nullptr;
    unsigned char* data_end = nullptr;
    unsigned char* guard = nullptr;  ///< Start of the zone before the data.
    unsigned char* end = nullptr;    ///< End of the zone behind it.

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
  void fill(std::uint64_t key);
  const Buffer& holder(const Buffer& buffer) const;  ///< Which bears its name now.
  std::span<const std::uint8_t> bytes_of(const Buffer& buffer) const;

  std::vector<Buffer> buffers_;
  std::map<std::string, std::string> holders_;
  MappedMemory arena_;
};

}  // namespace smemtune::cpu
