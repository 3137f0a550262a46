#pragma once

#include "tuner/core/result_log.h"

namespace smemtune {

/// A log that stores nothing, for measurements that are looked at once.
class NoLog final : public ResultLog {
 public:
  void begin_attempt(const ResultKey&) override {}
  int lost_attempts(const ResultKey&) override { return 0; }
  void close_attempts(const ResultKey&) override {}
  void record(const std::string&, const Result&) override {}
  void in_transaction(const std::function<void()>& writes) override { writes(); }
  std::optional<Result> find(const ResultKey&) override { return std::nullopt; }
  std::vector<Configuration> known(const ResultKey&) override { return {}; }
  Bests bests(const Problem&, const std::map<std::string, std::string>&) override { return {}; }
};

}  // namespace smemtune
