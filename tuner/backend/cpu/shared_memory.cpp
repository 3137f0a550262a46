#include "tuner/backend/cpu/shared_memory.h"

#include <algorithm>
#include <span>

namespace smemtune::cpu {

namespace {

constexpr std::size_t kCellBytes = 4;
constexpr unsigned kWarpSize = abi::kWarpSize;

std::string access_text(abi::Access kind) {
  return kind == abi::Access::read ? "reads" : kind == abi::Access::write ? "writes" : "updates";
}

}  // namespace

/// A record of the accesses to four bytes. A mask has a bit for each byte. Of several reads and
/// writes in one epoch only the last is known, so races may be missed, but none is made up.
struct SharedMemory::Cell {
  std::uint32_t first_epoch;  ///< First epoch of the block that wrote `written`.
  std::uint32_t write_epoch;
  std::uint32_t read_epoch;
  std::uint16_t writer;
  std::uint16_t reader;
  std::uint16_t write_warp_epoch;
  std::uint16_t read_warp_epoch;
  std::uint8_t written;      ///< Bytes that the block has written at all.
  std::uint8_t write_bytes;  ///< Bytes of the last write...
  std::uint8_t read_bytes;   ///< ... and of the last reads.
  std::uint8_t write_is_atomic : 1;
  std::uint8_t several_readers : 1;  ///< In the warp of `reader`.
  std::uint8_t several_warps : 1;
};

std::string coordinates(std::int64_t x, std::int64_t y, std::int64_t z) {
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

std::string thread_coordinates(unsigned linear, const Dim3& block) {
  return coordinates(linear % block[0], linear / block[0] % block[1],
                     linear / (block[0] * block[1]));
}

SharedMemory::SharedMemory()
    : memory_(kSharedBytes), cells_(kSharedBytes / kCellBytes * sizeof(Cell)) {}

void SharedMemory::begin_block(const SharedLayout& layout, std::size_t dynamic_bytes,
                               const Dim3& block) {
  layout_ = &layout;
  dynamic_bytes_ = dynamic_bytes;
  block_ = block;
  variable_ = {};
  first_epoch_ = ++epoch_;
}

/// Sets variable_ to the variable that holds the byte. Returns false if there is none.
bool SharedMemory::find_variable(std::size_t offset) {
  if (offset - variable_.offset < variable_.bytes) return true;
  if (offset < dynamic_bytes_) {
    variable_ = {"dynamic shared memory", 0, dynamic_bytes_};
    return true;
  }
  for (const SharedLayout::Variable& variable : layout_->variables()) {
    if (offset - variable.offset >= variable.bytes) continue;
    variable_ = variable;
    return true;
  }
  return false;
}

std::optional<AccessFault> SharedMemory::access(unsigned thread, const void* address,
                                                std::size_t bytes, abi::Access kind) {
  const auto begin =
      static_cast<std::size_t>(static_cast<const unsigned char*>(address) - memory_.begin());
  const std::size_t end = begin + bytes;
  if (!find_variable(begin) || end > variable_.offset + variable_.bytes) {
    return overrun(begin, bytes, kind);
  }

  auto* const cells = reinterpret_cast<Cell*>(cells_.begin());
  if (kind == abi::Access::read && (begin | bytes) % kCellBytes == 0) {
    const std::span<Cell> read(cells + begin / kCellBytes, bytes / kCellBytes);
    if (std::ranges::all_of(read, [&](Cell& cell) { return note_plain_read(cell, thread); })) {
      return std::nullopt;
    }
  }
  const unsigned warp = thread / kWarpSize;
  std::optional<std::size_t> unwritten;
  for (std::size_t i = begin / kCellBytes; i * kCellBytes < end; ++i) {
    Cell& cell = cells[i];
    const std::size_t first = std::max(begin, i * kCellBytes) - i * kCellBytes;
    const std::size_t last = std::min(end, (i + 1) * kCellBytes) - i * kCellBytes;
    const auto mask = static_cast<std::uint8_t>((1u << last) - (1u << first));
    const std::size_t offset = i * kCellBytes + first;
    const bool was_written = cell.write_epoch == epoch_ && (cell.write_bytes & mask) != 0 &&
                             !is_ordered(thread, cell.writer, cell.write_warp_epoch);

    if (kind != abi::Access::write) {
      const bool is_written = cell.first_epoch == first_epoch_ && (cell.written & mask) == mask;
      if (!is_written && !unwritten) unwritten = offset;
      const bool both_atomic = kind == abi::Access::atomic && cell.write_is_atomic != 0;
      if (was_written && !both_atomic) return race(variable_, offset, kind, wrote(cell));
    }
    if (kind == abi::Access::read) {
      note_read(cell, thread, mask);
      continue;
    }

    if (cell.read_epoch == epoch_ && (cell.read_bytes & mask) != 0) {
      const bool other_warp = cell.several_warps != 0 || cell.reader / kWarpSize != warp;
      const bool other_lane = cell.read_warp_epoch == warp_epochs_[warp] &&
                              (cell.several_readers != 0 || cell.reader != thread);
      if (other_warp || other_lane) {
        // It read after the others, which are not recorded.
        const bool also_read_it = cell.reader == thread;
        return race(variable_, offset, kind,
                    also_read_it ? "other threads have read"
                                 : "thread " + thread_coordinates(cell.reader, block_) + " read");
      }
    }
    if (was_written && kind == abi::Access::write && cell.write_is_atomic != 0) {
      return race(variable_, offset, kind, wrote(cell));
    }
    if (cell.first_epoch != first_epoch_) {
      cell.first_epoch = first_epoch_;
      cell.written = 0;
    }
    cell.written = static_cast<std::uint8_t>(cell.written | mask);
    // A thread's own atomic update does not hide its earlier plain write.
    const bool hides_plain_write = cell.write_epoch == epoch_ && cell.writer == thread &&
                                   cell.write_bytes == mask && cell.write_is_atomic == 0;
    cell.write_epoch = epoch_;
    cell.writer = static_cast<std::uint16_t>(thread);
    cell.write_warp_epoch = warp_epochs_[warp];
    cell.write_bytes = mask;
    cell.write_is_atomic = kind == abi::Access::atomic && !hides_plain_write;
  }
  if (!unwritten) return std::nullopt;
  return AccessFault{{Status::correctness, "uninitialized_shared"},
                     "reads byte " + std::to_string(*unwritten - variable_.offset) + " of " +
                         variable_.name + ", which its block has not written"};
}

void SharedMemory::note_read(Cell& cell, unsigned thread, std::uint8_t mask) const {
  const unsigned warp = thread / kWarpSize;
  if (cell.read_epoch != epoch_ || cell.read_bytes != mask) {
    cell.read_epoch = epoch_;
    cell.read_bytes = mask;
    cell.several_readers = 0;
    cell.several_warps = 0;
  } else if (cell.reader / kWarpSize != warp) {
    cell.several_warps = 1;
  } else if (cell.read_warp_epoch != warp_epochs_[warp]) {
    cell.several_readers = 0;
  } else if (cell.reader != thread) {
    cell.several_readers = 1;
  }
  cell.reader = static_cast<std::uint16_t>(thread);
  cell.read_warp_epoch = warp_epochs_[warp];
}

/// Notes the read of a whole cell if all of it was written, and in this epoch by no other thread, as
/// is so for most reads. Returns whether it was.
bool SharedMemory::note_plain_read(Cell& cell, unsigned thread) const {
  constexpr std::uint8_t kWhole = (1u << kCellBytes) - 1;
  if (cell.first_epoch != first_epoch_ || cell.written != kWhole) return false;
  if (cell.write_epoch == epoch_ && cell.writer != thread) return false;
  note_read(cell, thread, kWhole);
  return true;
}

/// Returns true if what `other` did precedes what `thread` does now, in the same epoch.
bool SharedMemory::is_ordered(unsigned thread, unsigned other, std::uint16_t warp_epoch) const {
  const unsigned warp = thread / kWarpSize;
  return other == thread || (other / kWarpSize == warp && warp_epoch != warp_epochs_[warp]);
}

AccessFault SharedMemory::overrun(std::size_t offset, std::size_t bytes, abi::Access kind) const {
  // Find the nearest variable.
  SharedLayout::Variable nearest = {"dynamic shared memory", 0, dynamic_bytes_};
  const auto distance = [&](const SharedLayout::Variable& variable) {
    return offset < variable.offset ? variable.offset - offset
                                    : offset - std::min(offset, variable.offset + variable.bytes);
  };
  for (const SharedLayout::Variable& variable : layout_->variables()) {
    if (nearest.bytes == 0 || distance(variable) < distance(nearest)) nearest = variable;
  }
  const auto byte = static_cast<std::int64_t>(offset) - static_cast<std::int64_t>(nearest.offset);
  return {{Status::correctness, "shared_overrun"},
          access_text(kind) + " " + std::to_string(bytes) + " bytes at byte " +
              std::to_string(byte) + " of " + nearest.name + ", which has " +
              std::to_string(nearest.bytes)};
}

std::string SharedMemory::wrote(const Cell& cell) const {
  return "thread " + thread_coordinates(cell.writer, block_) + " wrote";
}

AccessFault SharedMemory::race(const SharedLayout::Variable& variable, std::size_t offset,
                               abi::Access kind, const std::string& what_others_did) {
  return {{Status::correctness, "race"},
          access_text(kind) + " byte " + std::to_string(offset - variable.offset) + " of " +
              variable.name + ", which " + what_others_did + " without a barrier between them"};
}

}  // namespace smemtune::cpu
