#include "tuner/core/reasons.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace smemtune {
namespace {

TEST(Reasons, StandInTheTableOnce) {
  std::set<std::pair<Status, std::string_view>> seen;
  for (const ReasonRow& row : kReasons) {
    EXPECT_TRUE(seen.emplace(row.status, row.word).second) << row.word;
    EXPECT_NE(Status::correct, row.status) << row.word;
  }
}

TEST(Reasons, ThatMayPassAreThoseOfTimeMemoryAndLostProcesses) {
  EXPECT_TRUE(is_transient(Status::timeout, "hang"));
  EXPECT_TRUE(is_transient(Status::compile, "crash"));
  EXPECT_TRUE(is_transient(Status::compile, "compile_timeout"));
  EXPECT_TRUE(is_transient(Status::compile, "out_of_memory"));
  EXPECT_TRUE(is_transient(Status::runtime, "crash"));
  EXPECT_TRUE(is_transient(Status::runtime, "lost"));
  EXPECT_TRUE(is_transient(Status::runtime, "no_time"));
  EXPECT_TRUE(is_transient(Status::runtime, "device_memory"));
  EXPECT_FALSE(is_transient(Status::compile, "error"));
  EXPECT_FALSE(is_transient(Status::correctness, "mismatch"));
  EXPECT_FALSE(is_transient(Status::runtime, "quarantined"));
  EXPECT_FALSE(is_transient(Status::runtime, "a word of a later version"));
}

TEST(Reasons, MakeFailures) {
  const Failure lost = failure({Status::runtime, "illegal_address"}, "at 0", true);
  EXPECT_EQ(lost, (Failure{.status = Status::runtime,
                           .reason = "illegal_address",
                           .detail = "at 0",
                           .context_lost = true}));
}

}  // namespace
}  // namespace smemtune
