#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace smemtune {

/// Operations that may be spent. Copies, each used by one thread, share them.
class OperationBudget {
 public:
  /// Sets the number of operations that may be spent from now on. REQUIRES: no copy is in use.
  void allow(std::uint64_t operations) {
    spent_before_ += spent();
    allowed_ = operations;
    taken_ = 0;
    pool_->store(operations);
  }

  std::uint64_t allowed() const { return allowed_; }
  /// Returns the operations that may still be spent.
  std::uint64_t left() const { return pool_->load() + taken_; }
  /// Returns the operations spent since the last allow().
  std::uint64_t spent() const { return allowed_ - left(); }
  /// Returns the operations spent before the last allow().
  std::uint64_t spent_before() const { return spent_before_; }

  /// Spends all of the operations or none of them; returns whether there were so many.
  bool spend(std::uint64_t operations) {
    while (taken_ < operations) {
      if (!take()) return false;
    }
    taken_ -= operations;
    return true;
  }

  /// Gives back what this copy took and did not spend.
  void give_back() { *pool_ += std::exchange(taken_, 0); }

 private:
  /// Takes operations from those that all copies share; returns whether there were any.
  bool take() {
    constexpr std::uint64_t kTaken = 4096;
    std::uint64_t left = pool_->load();
    while (!pool_->compare_exchange_weak(left, left - std::min(left, kTaken))) {
    }
    taken_ += std::min(left, kTaken);
    return left > 0;
  }

  std::shared_ptr<std::atomic<std::uint64_t>> pool_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::uint64_t taken_ = 0;  ///< Taken from the pool, and not spent.
  std::uint64_t allowed_ = 0;
  std::uint64_t spent_before_ = 0;
};

}  // namespace smemtune
