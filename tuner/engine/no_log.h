#pragma once

#include "tuner/engine/result_log.h"

namespace smemtune {

/// A log that keeps nothing and knows nothing: for what is measured to be looked at once.
class NoLog final : public ResultLog {
 public:
  void begin_attempt(const std::string&, const std::string&, const Problem&,
                     const Configuration&) override {}
  int lost_attempts(const std::string&, const std::string&, const Problem&,
                    const Configuration&) override {
    return 0;
  }
  void forgive_attempts(const std::string&, const std::string&, const Problem&,
                        const Configuration&) override {}
  void record(const std::string&, const Result&) override {}
  void together(const std::function<void()>& writes) override { writes(); }
  std::optional<Result> find(const std::string&, const std::string&, const Problem&,
                             const Configuration&) override {
    return std::nullopt;
  }
};

}  // namespace smemtune
