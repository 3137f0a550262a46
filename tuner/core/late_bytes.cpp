#include "tuner/core/late_bytes.h"

#include <algorithm>
#include <utility>

namespace smemtune {

namespace {

constexpr std::size_t kPart = 4096;

}  // namespace

LateBytes::LateBytes(std::size_t bytes, Make make)
    : bytes_(bytes),
      make_(std::move(make)),
      memory_(std::make_unique_for_overwrite<std::uint8_t[]>(bytes)),
      states_((bytes + kPart - 1) / kPart) {}

std::span<const std::uint8_t> LateBytes::with(std::size_t begin, std::size_t end) const {
  for (std::size_t part = begin / kPart; part * kPart < end; ++part) {
    if (states_[part].load(std::memory_order_acquire) != State::made) provide(part);
  }
  return {memory_.get(), bytes_};
}

void LateBytes::provide(std::size_t part) const {
  std::atomic<State>& state = states_[part];
  State known = State::none;
  while (!state.compare_exchange_strong(known, State::in_work, std::memory_order_acquire)) {
    if (known == State::made) return;
    state.wait(State::in_work, std::memory_order_acquire);
    known = State::none;
  }
  const auto set = [&state](State now) {
    state.store(now, std::memory_order_release);
    state.notify_all();
  };
  try {
    const std::size_t begin = part * kPart;
    make_(begin, std::span(memory_.get() + begin, std::min(kPart, bytes_ - begin)));
  } catch (...) {
    set(State::none);
    throw;
  }
  set(State::made);
}

}  // namespace smemtune
