#include "tuner/engine/compile_queue.h"

#include "tuner/engine/engine_test_support.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace smemtune::test {
namespace {

CompileRequest request_for(int tile, const std::string& more = "") {
  return {.architecture = "sm_90",
          .source = {.files = {{"k.cu", "kernel k(TILE)\n" + more}}},
          .name_expressions = {"k<" + std::to_string(tile) + ">"},
          .symbol_expressions = {},
          .options = {}};
}

class CompileQueueTest : public testing::Test {
 protected:
  /// Lets the workers work until `number` is ready.
  static bool wait_for(CompileQueue& queue, WorkerPool& pool, std::uint64_t number) {
    return eventually([&] {
      queue.pump();
      for (const WorkerEvent& event : pool.wait(0.05)) queue.handle(event);
      return queue.ready(number);
    });
  }

  static WorkerCommand compilers_only(int count) {
    WorkerCommand command = fake_workers(count);
    command.devices.clear();
    return command;
  }

  static constexpr std::size_t kPlenty = 1 << 20;
};

TEST_F(CompileQueueTest, CompilesWhatIsWantedTwiceOnce) {
  WorkerPool pool(compilers_only(2));
  CompileQueue queue(pool, kPlenty);
  const std::uint64_t first = queue.add(request_for(1));
  const std::uint64_t same = queue.add(request_for(1));
  ASSERT_TRUE(wait_for(queue, pool, first));
  ASSERT_TRUE(queue.ready(same));
  EXPECT_EQ(*queue.take(first), *queue.take(same));
  EXPECT_TRUE(queue.ready(queue.add(request_for(1))));
  EXPECT_EQ(queue.compiled(), 1u);
}

TEST_F(CompileQueueTest, TellsTheFailureOfEachRequest) {
  WorkerPool pool(compilers_only(1));
  CompileQueue queue(pool, kPlenty);
  const std::uint64_t bad = queue.add(request_for(1, "fault error in compile\n"));
  const std::uint64_t good = queue.add(request_for(2));
  ASSERT_TRUE(wait_for(queue, pool, bad));
  ASSERT_TRUE(wait_for(queue, pool, good));
  EXPECT_EQ(queue.take(bad).failure().reason, "error");
  EXPECT_NE((*queue.take(good))->entry("k<2>"), nullptr);
}

TEST_F(CompileQueueTest, HoldsNoMoreThanItMay) {
  WorkerPool pool(compilers_only(1));
  CompileQueue queue(pool, 10);  // Less than one module.
  const std::uint64_t first = queue.add(request_for(1));
  const std::uint64_t second = queue.add(request_for(2));
  ASSERT_TRUE(wait_for(queue, pool, first));
  for (int i = 0; i < 5; ++i) {
    queue.pump();
    for (const WorkerEvent& event : pool.wait(0.01)) queue.handle(event);
  }
  EXPECT_FALSE(queue.ready(second));  // The first still waits to be taken.
  const std::uint64_t urgent = queue.add(request_for(3), /*first=*/true);
  const std::uint64_t next = queue.add(request_for(4), /*first=*/true);
  EXPECT_TRUE(wait_for(queue, pool, urgent));
  EXPECT_FALSE(queue.ready(next));
  EXPECT_FALSE(queue.ready(second));
  EXPECT_TRUE(wait_for(queue, pool, next));
  queue.take(first);
  queue.take(urgent);
  queue.take(next);
  EXPECT_TRUE(wait_for(queue, pool, second));
}

TEST_F(CompileQueueTest, DoesNotCompileWhatNobodyWantsAnyMore) {
  WorkerPool pool(compilers_only(1));
  CompileQueue queue(pool, kPlenty);
  const std::uint64_t unwanted = queue.add(request_for(1));
  queue.forget(unwanted);
  const std::uint64_t wanted = queue.add(request_for(2));
  ASSERT_TRUE(wait_for(queue, pool, wanted));
  EXPECT_FALSE(queue.ready(unwanted));
  EXPECT_EQ(queue.compiled(), 1u);
}

TEST_F(CompileQueueTest, CompilesSeveralOfOneProgramTogether) {
  WorkerPool pool(compilers_only(1));
  CompileQueue queue(pool, kPlenty);
  std::vector<std::uint64_t> numbers;
  for (int tile = 1; tile <= 20; ++tile) numbers.push_back(queue.add(request_for(tile)));
  std::size_t most = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_TRUE(wait_for(queue, pool, numbers[i]));
    const Module module = *queue.take(numbers[i]);
    EXPECT_NE(module->entry("k<" + std::to_string(i + 1) + ">"), nullptr);
    most = std::max(most, module->entries.size());
  }
  EXPECT_GT(most, 4u);  // The fake compiler takes as long for many as for one.
  EXPECT_EQ(queue.compiled(), 20u);
}

TEST_F(CompileQueueTest, FindsWhichOfABatchEndsTheCompiler) {
  WorkerPool pool(compilers_only(1));
  CompileQueue queue(pool, kPlenty);
  const std::string fault = "fault crash in compile when TILE == 13\n";
  std::vector<std::uint64_t> numbers;
  for (int tile = 1; tile <= 20; ++tile) numbers.push_back(queue.add(request_for(tile, fault)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_TRUE(wait_for(queue, pool, numbers[i]));
    const Outcome<Module> module = queue.take(numbers[i]);
    EXPECT_EQ(static_cast<bool>(module), i != 12) << i;
    if (!module) {
      EXPECT_EQ(module.failure().reason, "crash");
    }
  }
  EXPECT_EQ(pool.deaths(), 2u);  // First together with others, then by itself.
}

}  // namespace
}  // namespace smemtune::test
