#include "tuner/backend/cuda/refill.h"

#include "tuner/backend/contents.h"
#include "tuner/backend/fresh_data.h"

#include <algorithm>

namespace smemtune::cuda {

void Refiller::add(const DeviceBuffer& buffer, std::size_t copy, std::uint64_t key) {
  const Argument& argument = buffer.argument();
  const Redraw how = buffer.can_redraw() ? redraw_for(argument, key) : Redraw{};
  const bool moves = how.offset != 0 || how.noise != 0;
  refills_.push_back({.to = buffer.data(copy),
                      .from = buffer.has_contents() ? buffer.pristine() : 0,
                      .bytes = argument.bytes(),
                      .bytes_after = buffer.memory(copy).bytes_after(argument.bytes()),
                      .offset = how.offset,
                      .low = how.low,
                      .high = how.high,
                      .noise = how.noise,
                      .salt = buffer.salt(),
                      .element_bytes = moves ? static_cast<int>(size_of(argument.type)) : 0,
                      .poison = poison_byte(argument.type)});
}

void Refiller::add(const BoundKernel::Scratch& scratch, std::size_t copy) {
  const GuardedMemory& memory = (*scratch.copies)[copy];
  const std::int64_t bytes = scratch.argument.bytes();
  refills_.push_back({.to = memory.data(),
                      .bytes = bytes,
                      .bytes_after = memory.bytes_after(bytes),
                      .salt = scratch.salt,
                      .poison = poison_byte(scratch.argument.type)});
}

void Refiller::run() {
  if (refills_.empty()) return;
  if (room_ < refills_.size()) {
    room_ = std::max(2 * room_, refills_.size());
    there_ = allocate(room_ * sizeof(Refill));
  }
  // The source is pageable memory, which is read before the call returns.
  copy(there_.get(), refills_.data(), refills_.size() * sizeof(Refill), cudaMemcpyHostToDevice,
       stream_);
  std::int64_t largest = 0;
  for (const Refill& one : refills_) largest = std::max({largest, one.bytes, one.bytes_after});
  kernels_.refill(stream_, as_address(there_.get()), static_cast<int>(refills_.size()), largest);
  refills_.clear();
}

}  // namespace smemtune::cuda
