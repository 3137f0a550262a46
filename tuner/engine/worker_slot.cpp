#include "tuner/engine/worker_slot.h"

#include <algorithm>

namespace smemtune {

std::optional<Spares::Spare> Spares::take(std::size_t most) {
  auto spare = std::ranges::find(spares_, true, &Spare::greeted);
  if (spare == spares_.end()) {
    if (wanted_ < most) ++wanted_;
    spare = spares_.begin();
  }
  if (spare == spares_.end()) return std::nullopt;
  const Spare taken = *spare;
  spares_.erase(spare);
  return taken;
}

Spares::Spare* Spares::find(std::uint32_t number) {
  const auto spare = std::ranges::find(spares_, number, &Spare::number);
  return spare == spares_.end() ? nullptr : &*spare;
}

void Spares::fail(std::uint32_t number) {
  std::erase_if(spares_, [&](const Spare& one) { return one.number == number; });
  limit();
}

void FreeCompilers::add(WorkerSlot& worker) {
  const std::size_t line = worker.asked.size();
  if (!std::exchange(worker.in_line[line], true)) lines_[line].push_back(&worker);
}

}  // namespace smemtune
