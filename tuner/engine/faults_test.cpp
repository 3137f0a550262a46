// Everything that can go wrong with one configuration, while the run goes on.

#include "tuner/backend/fake/fake_launcher_test_support.h"
#include "tuner/core/error.h"
#include "tuner/engine/engine_test_support.h"
#include "tuner/engine/tuning_loop.h"
#include "tuner/engine/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace smemtune::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Returns a short deadline for hangs, which are waited for, and a long one for what is just slow.
double deadline_s(const std::string& fault) { return fault.starts_with("hang") ? 3 : 600; }

/// The configuration that would be the best has a fault.
constexpr const char* kWouldBeBest = "TILE=8,ITEMS=2";
constexpr const char* kWhenWouldBeBest = " when TILE == 8 && ITEMS == 2";

struct Fault {
  std::string script;
  Status status = Status::correct;
  std::string reason;
};

void PrintTo(const Fault& fault, std::ostream* stream) { *stream << fault.script; }

std::string fault_name(const testing::TestParamInfo<Fault>& info) {
  std::string name = info.param.script;
  std::ranges::replace(name, ' ', '_');
  return name;
}

class EachFault : public testing::TestWithParam<Fault> {};

TEST_P(EachFault, IsRecordedAndTheRunGoesOn) {
  const FakeFolder folder;
  FakeSpace fake;
  fake.add("tiled", "fault " + GetParam().script + kWhenWouldBeBest);
  FakeRun run(fake);
  run.request.options.max_deadline_s = deadline_s(GetParam().script);
  run.request.options.min_deadline_s = run.request.options.max_deadline_s;
  run.workers.compile_timeout_s = run.request.options.max_deadline_s;
  const TuningSummary summary = run.run();
  const ProblemSummary& problem = summary.problems.front();
  ASSERT_THAT(problem.results, SizeIs(16));
  const Result& faulty = result_of(problem, "tiled", kWouldBeBest);
  EXPECT_EQ(to_text(faulty.status), to_text(GetParam().status)) << faulty.detail;
  EXPECT_EQ(faulty.reason, GetParam().reason) << faulty.detail;
  EXPECT_EQ(run.log->last("tiled", kWouldBeBest)->status, GetParam().status);
  EXPECT_THAT(run.log->open, IsEmpty());
  for (const Result& result : problem.results) {
    if (&result == &faulty) continue;
    EXPECT_TRUE(result.timed()) << key(result.configuration);
  }
  const bool is_best = problem.best()->configuration == faulty.configuration;
  EXPECT_EQ(is_best, GetParam().status == Status::correct);
  EXPECT_EQ(is_best, faulty.detail.empty());
}

INSTANTIATE_TEST_SUITE_P(
    WhileCompiling, EachFault,
    testing::Values(Fault{"error in compile", Status::compile, "error"},
                    Fault{"crash in compile", Status::compile, "crash"},
                    Fault{"exit in compile", Status::compile, "crash"},
                    Fault{"killed in compile", Status::compile, "crash"},
                    Fault{"killed_once in compile", Status::correct, ""},
                    Fault{"shortage_once in compile", Status::correct, ""},
                    Fault{"hang in compile", Status::compile, "compile_timeout"},
                    Fault{"memory in compile", Status::compile, "out_of_memory"},
                    Fault{"garbage in compile", Status::compile, "crash"},
                    Fault{"torn in compile", Status::compile, "crash"},
                    Fault{"flood in compile", Status::correct, ""}),
    fault_name);

INSTANTIATE_TEST_SUITE_P(
    WhileLoading, EachFault,
    testing::Values(Fault{"error in load", Status::runtime, "launch"},
                    Fault{"device_memory in load", Status::runtime, "device_memory"},
                    Fault{"crash in load", Status::runtime, "crash"},
                    Fault{"killed in load", Status::runtime, "crash"},
                    Fault{"killed_once in load", Status::correct, ""},
                    Fault{"hang in load", Status::timeout, "hang"},
                    Fault{"context_lost in load", Status::runtime, "illegal_address"}),
    fault_name);

INSTANTIATE_TEST_SUITE_P(
    WhileVerifying, EachFault,
    testing::Values(Fault{"mismatch in run", Status::correctness, "mismatch"},
                    Fault{"nan in run", Status::correctness, "nan"},
                    Fault{"unwritten in run", Status::correctness, "unwritten"},
                    Fault{"overrun in run", Status::correctness, "overrun"},
                    Fault{"input_modified in run", Status::correctness, "input_modified"},
                    Fault{"error in run", Status::runtime, "launch"},
                    Fault{"context_lost in run", Status::runtime, "illegal_address"},
                    Fault{"crash in run", Status::runtime, "crash"},
                    Fault{"exit in run", Status::runtime, "crash"},
                    Fault{"memory in run", Status::runtime, "crash"},
                    Fault{"broken in run", Status::runtime, "crash"},
                    Fault{"garbage in run", Status::runtime, "crash"},
                    Fault{"torn in run", Status::runtime, "crash"},
                    Fault{"killed in run", Status::runtime, "crash"},
                    Fault{"killed_once in run", Status::correct, ""},
                    Fault{"shortage_once in run", Status::correct, ""},
                    Fault{"hang in run", Status::timeout, "hang"},
                    Fault{"flood in run", Status::correct, ""}),
    fault_name);

INSTANTIATE_TEST_SUITE_P(
    WhileSampling, EachFault,
    testing::Values(Fault{"error in time", Status::runtime, "launch"},
                    Fault{"context_lost in time", Status::runtime, "illegal_address"},
                    Fault{"crash in time", Status::runtime, "crash"},
                    Fault{"mismatch in time", Status::correctness, "mismatch"},
                    Fault{"nan in time", Status::correctness, "nan"},
                    Fault{"unwritten in time", Status::correctness, "unwritten"},
                    Fault{"overrun in time", Status::correctness, "overrun"},
                    Fault{"garbage in time", Status::runtime, "crash"},
                    Fault{"torn in time", Status::runtime, "crash"},
                    Fault{"killed_once in time", Status::correct, ""},
                    Fault{"hang in time", Status::timeout, "hang"}),
    fault_name);

TEST(Faults, WhileBuffersAreFilledEarlyCostAWorkerOnly) {
  const FakeFolder folder;
  std::ofstream(folder.path() / "abort_when_filled");
  FakeSpace fake;
  fake.add("naive", "fault pause in compile");
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  EXPECT_EQ(summary.evaluated, kConfigurations);
  EXPECT_EQ(summary.worker_deaths, 1u);
  EXPECT_NE(summary.problems.front().best(), nullptr);
}

class Shortages : public testing::TestWithParam<const char*> {};

TEST_P(Shortages, EndTheRunAndNothingIsStoredOfThem) {
  const FakeFolder folder;
  FakeSpace fake;
  fake.add("tiled", std::string("fault shortage in ") + GetParam() + kWhenWouldBeBest);
  FakeRun run(fake);
  EXPECT_THROW(run.run(), UnavailableError);
  EXPECT_EQ(run.log->last("tiled", kWouldBeBest), nullptr);
}

// An earlier version reported here that the reference does not compile.
TEST_P(Shortages, OfTheReferenceAreNoFaultOfTheReference) {
  const FakeFolder folder;
  FakeSpace fake;
  fake.add("naive", std::string("fault shortage in ") + GetParam());
  FakeRun run(fake);
  try {
    run.run();
    FAIL();
  } catch (const ReferenceError& error) {
    FAIL() << error.what();
  } catch (const UnavailableError& error) {
    EXPECT_THAT(error.what(), HasSubstr("Too many open files"));
  }
}

INSTANTIATE_TEST_SUITE_P(Places, Shortages, testing::Values("compile", "load", "run"),
                         [](const auto& place) { return std::string(place.param); });

// TIMES > 0 is true after the screen, and so while racing.
class EachFaultInTheRace : public testing::TestWithParam<Fault> {};

TEST_P(EachFaultInTheRace, PutsTheVariantOutAndTheRaceGoesOn) {
  const FakeFolder folder;
  FakeSpace fake;
  fake.add("tiled", "fault " + GetParam().script + kWhenWouldBeBest + " && TIMES > 0");
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  const ProblemSummary& problem = summary.problems.front();
  const Result& faulty = result_of(problem, "tiled", kWouldBeBest);
  EXPECT_EQ(to_text(faulty.status), to_text(GetParam().status)) << faulty.detail;
  EXPECT_EQ(faulty.reason, GetParam().reason) << faulty.detail;
  EXPECT_EQ(run.log->last("tiled", kWouldBeBest)->status, GetParam().status);
  ASSERT_TRUE(problem.best());
  EXPECT_EQ(problem.best()->stage, Stage::final);
  const bool is_best = problem.best()->configuration == faulty.configuration;
  EXPECT_EQ(is_best, GetParam().status == Status::correct);
}

INSTANTIATE_TEST_SUITE_P(Race, EachFaultInTheRace,
                         testing::Values(Fault{"error in time", Status::runtime, "launch"},
                                         Fault{"context_lost in time", Status::runtime,
                                               "illegal_address"},
                                         Fault{"mismatch in time", Status::correctness, "mismatch"},
                                         Fault{"overrun in time", Status::correctness, "overrun"},
                                         Fault{"killed_once in time", Status::correct, ""}),
                         fault_name);

// Wrong in timed launches only, from some round of the race on.
TEST(Faults, ALaunchThatIsWrongOnlyWhileItIsTimedIsNeverTheBest) {
  for (const char* const after : {"0", "1", "5", "20"}) {
    FakeSpace fake;
    fake.add("tiled",
             std::string("fault unwritten in time") + kWhenWouldBeBest + " && TIMES > " + after);
    FakeRun run(fake);
    const TuningSummary summary = run.run();
    const ProblemSummary& problem = summary.problems.front();
    const Result& wrong = result_of(problem, "tiled", kWouldBeBest);
    EXPECT_EQ(wrong.status, Status::correctness) << after;
    EXPECT_EQ(wrong.reason, "unwritten");
    EXPECT_THAT(wrong.detail, HasSubstr("in a timed launch on N="));
    ASSERT_TRUE(problem.best());
    EXPECT_NE(key(problem.best()->configuration), "ITEMS=2,TILE=8");
    EXPECT_EQ(problem.best()->stage, Stage::final);
  }
}

TEST(Faults, WhereTheReferenceHasNoFurtherAnswersTheRunGoesOn) {
  FakeSpace fake;
  fake.add("naive", "fault error in draw when TIMES > 0");
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  ASSERT_THAT(summary.problems.front().results, SizeIs(16));
  for (const Result& result : summary.problems.front().results) {
    EXPECT_TRUE(result.timed()) << key(result.configuration) << result.detail;
  }
}

TEST(Faults, AReferenceThatFailsOnDataThatAreDrawnAnewIsNone) {
  FakeSpace fake;
  fake.add("naive", "fault error in draw");
  FakeRun run(fake);
  EXPECT_THROW(run.run(), ReferenceError);
}

TEST(Faults, ACrashInTheRaceIsThatOfTheVariantWhoseTurnItWas) {
  for (const unsigned seed : {1u, 2u, 3u}) {  // Each seed gives another order of turns.
    const FakeFolder folder;
    FakeSpace fake;
    fake.add("tiled", std::string("fault crash_once in time") + kWhenWouldBeBest + " && TIMES > 0");
    FakeRun run(fake);
    run.request.options.seed = seed;
    const TuningSummary summary = run.run();
    const Result& faulty = result_of(summary.problems.front(), "tiled", kWouldBeBest);
    EXPECT_EQ(faulty.reason, "crash");
    for (const Result& result : summary.problems.front().results) {
      if (&result == &faulty) continue;
      EXPECT_EQ(result.status, Status::correct);
    }
  }
}

TEST(Faults, AFinalistThatIsWrongAfterItsTimingIsNeverTheBest) {
  FakeSpace fake;
  fake.add("tiled", std::string("fault mismatch in run") + kWhenWouldBeBest + " && TIMES > 3");
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  const ProblemSummary& problem = summary.problems.front();
  EXPECT_EQ(result_of(problem, "tiled", kWouldBeBest).status, Status::correctness);
  EXPECT_EQ(run.log->last("tiled", kWouldBeBest)->status, Status::correctness);
  ASSERT_TRUE(problem.best());
  EXPECT_NE(key(problem.best()->configuration), "ITEMS=2,TILE=8");
  EXPECT_EQ(problem.best()->stage, Stage::final);
}

TEST(Faults, ASecondSeedFindsWhatIsRightByLuck) {
  FakeSpace fake;
  fake.add("tiled", "fault mismatch in run when TILE == 8 && SEED == 2");
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  const Result& wrong = result_of(summary.problems.front(), "tiled", kWouldBeBest);
  EXPECT_EQ(wrong.status, Status::correctness);
  EXPECT_THAT(wrong.detail, HasSubstr("second seed"));
}

TEST(Faults, AreNotLookedForOnSecondDataThatEqualTheFirst) {
  FakeSpace fake;
  for (const char* const name : {"naive", "tiled"}) {
    fake.kernel(name).arguments.front().init = {.kind = Init::Kind::iota, .file = {}};
  }
  fake.add("tiled", "fault mismatch in run when TILE == 8 && SEED == 2");
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  EXPECT_EQ(result_of(summary.problems.front(), "tiled", kWouldBeBest).status, Status::correct);
}

TEST(Faults, AFurtherSizeFindsWhatIsWrongOnlyThere) {
  FakeSpace fake;
  fake.space.verify.also = {parse_key("N=999")};
  fake.add("tiled", "fault mismatch in run when TILE == 8 && n % 2 == 1");
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  const Result& wrong = result_of(summary.problems.front(), "tiled", kWouldBeBest);
  EXPECT_EQ(wrong.status, Status::correctness);
  EXPECT_THAT(wrong.detail, HasSubstr("N=999"));
  EXPECT_EQ(result_of(summary.problems.front(), "tiled", "TILE=4,ITEMS=2").status, Status::correct);
}

TEST(Faults, AFurtherSizeThatAConfigurationDoesNotAllowIsLeftOut) {
  FakeSpace fake;
  fake.space.verify.also = {parse_key("N=999")};
  fake.kernel("tiled").constraints = {{"N % TILE == 0", "/test"}};
  fake.add("tiled", "fault mismatch in run when n % TILE != 0");
  FakeRun run(fake);
  EXPECT_FALSE(run.run().first_failure);
}

TEST(Faults, TheFirstFailureIsToldWhenNothingWorks) {
  FakeSpace fake;
  fake.add("tiled", "fault error in compile");
  FakeRun run(fake);
  run.request.kernels = {&fake.space.kernels[1]};
  const TuningSummary summary = run.run();
  EXPECT_FALSE(summary.problems.front().best());
  ASSERT_TRUE(summary.first_failure);
  EXPECT_EQ(summary.first_failure->status, Status::compile);
  EXPECT_THAT(summary.first_failure->detail, HasSubstr("the script asks for one"));
}

TEST(Faults, WhatACrashingCompilerPrintedIsKeptUpToALimit) {
  FakeSpace fake;
  fake.add("tiled", std::string("fault flood in compile") + kWhenWouldBeBest);
  fake.add("tiled", std::string("fault crash in load") + kWhenWouldBeBest);
  fake.add("tiled", std::string("fault flood in run when TILE == 4"));
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  EXPECT_LT(result_of(summary.problems.front(), "tiled", kWouldBeBest).detail.size(), 65536u);
}

/// Returns the message of the error that a run ends with.
template <typename ExpectedError>
std::string error_of(FakeRun& run) {
  try {
    run.run();
  } catch (const ExpectedError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Reference, ThatDoesNotCompileIsAnErrorOfTheInput) {
  FakeSpace fake;
  fake.add("naive", "fault error in compile");
  FakeRun run(fake);
  EXPECT_THAT(error_of<InputError>(run), HasSubstr("naive (BLOCK=64) on N=1000"));
}

TEST(Reference, ThatCannotBeLaunchedIsAnErrorOfTheInput) {
  FakeSpace fake;
  fake.kernel("naive").launches.front().block = {{"4096", "/test"}};
  FakeRun run(fake);
  EXPECT_THAT(error_of<InputError>(run), HasSubstr("4096"));
}

TEST(Reference, WhoseRunsDoNotAgreeIsAnErrorOfTheInput) {
  FakeSpace fake;
  fake.add("naive", "fault mismatch in run when RUNS % 3 == 1");
  FakeRun run(fake);
  EXPECT_THAT(error_of<InputError>(run), HasSubstr("do not agree"));
}

TEST(Reference, ThatCrashesIsAnErrorOfTheInput) {
  FakeSpace fake;
  fake.add("naive", "fault crash in run");
  FakeRun run(fake);
  EXPECT_THAT(error_of<InputError>(run), HasSubstr("signal 6"));
}

TEST(Reference, ThatIsNotWhatTheDefinitionSaysIsAnErrorOfTheInput) {
  FakeSpace fake;
  fake.space.verify.definitions = {{"out[i] = in[i] + 2", "/verify/definition"}};
  FakeRun run(fake);
  const std::string message = error_of<InputError>(run);
  EXPECT_THAT(message, HasSubstr("out[i] = in[i] + 2"));
  EXPECT_THAT(message, HasSubstr("definition"));
}

TEST(Reference, ThatIsWhatTheDefinitionSaysIsTrusted) {
  FakeSpace fake;
  fake.space.verify.definitions = {{"out[i] = 1 + in[i]", "/verify/definition"}};
  FakeRun run(fake);
  EXPECT_TRUE(run.run().problems.front().best());
  EXPECT_THAT(run.notes, IsEmpty());
}

TEST(Reference, IsOnlyToldToDifferFromADefinitionThatIsAGuess) {
  for (const std::string text : {"out[i] = in[i] + 2", "out[i] = in[i + 1]"}) {
    FakeSpace fake;
    fake.space.verify.definitions = {{text, "/verify/definition"}};
    fake.space.verify.definition_is_a_guess = true;
    FakeRun run(fake);
    const TuningSummary summary = run.run();
    const Result* best = summary.problems.front().best();
    ASSERT_NE(best, nullptr) << text;
    EXPECT_NE(best->compared_with, ComparedWith::definition);
    EXPECT_THAT(run.notes, Contains(HasSubstr("correct or remove it"))) << text;
  }
}

/// Returns the error of a run whose reference is wrong only on problems of this size.
std::string error_where_wrong_at(std::int64_t wrong_n) {
  FakeSpace fake;
  fake.space.problems = {parse_key("N=3000")};
  fake.space.verify.also = {parse_key("N=100"), parse_key("N=5000")};
  fake.space.verify.definitions = {
      {"out[i] = in[i] + (N == " + std::to_string(wrong_n) + " ? 2 : 1)", "/verify/definition"}};
  FakeRun run(fake);
  return error_of<InputError>(run);
}

TEST(Reference, IsHeldAgainstTheDefinitionOnEveryProblem) {
  EXPECT_EQ(error_where_wrong_at(1), "no error");
  for (const std::int64_t n : {3000, 100, 5000}) {
    EXPECT_THAT(error_where_wrong_at(n), HasSubstr("N=" + std::to_string(n)));
  }
}

std::string verdict_of(FakeSpace& fake, const std::string& kernel = "naive") {
  FakeRun run(fake);
  const TuningSummary summary = run.run();
  for (const Result& result : summary.problems.front().results) {
    if (result.kernel == kernel && result.is_default) return to_text(result.coverage());
  }
  return "no result";
}

TEST(VerdictOf, AResultFollowsFromWhatWasCompared) {
  FakeSpace fake;
  EXPECT_EQ(verdict_of(fake), "only itself");
  EXPECT_EQ(verdict_of(fake, "tiled"), "another kernel");
  fake.space.verify.also = {parse_key("N=100")};
  fake.space.verify.definitions = {{"out[i] = in[i] + 1", "/verify/definition"}};
  EXPECT_EQ(verdict_of(fake), "definition");
  EXPECT_EQ(verdict_of(fake, "tiled"), "definition") << "as the reference it is equal to";
  fake.space.verify.definition_is_a_guess = true;
  EXPECT_EQ(verdict_of(fake), "only itself");
  fake.space.verify.definition_is_a_guess = false;
  fake.space.verify.definitions = {
      {"out[i] = in[i] + 1 + (N < 1000 ? 0 : 0 * sum(k < N, sum(j < 250, k)))", "/definition"}};
  EXPECT_EQ(verdict_of(fake), "definition (sampled)");
}

TEST(VerdictOf, AWorkerThatWasReplacedIsThatOfTheFirst) {
  FakeSpace fake;
  fake.space.verify.definitions = {{"out[i] = in[i] + 1", "/verify/definition"}};
  fake.add("tiled", std::string("fault crash in run") + kWhenWouldBeBest);
  EXPECT_EQ(verdict_of(fake, "tiled"), "definition");
}

TEST(Reference, ADefinitionThatReadsOutsideAnArrayIsAnErrorOfTheInput) {
  FakeSpace fake;
  fake.space.verify.definitions = {{"out[i] = in[i + 1]", "/verify/definition"}};
  FakeRun run(fake);
  EXPECT_THAT(error_of<InputError>(run), HasSubstr("in[i + 1]"));
}

TEST(Reference, FurtherSizesThatItDoesNotAllowAreLeftOutWithANote) {
  FakeSpace fake;
  fake.space.verify.also = {parse_key("N=999")};
  fake.kernel("naive").constraints = {{"N % 2 == 0", "/test"}};
  FakeRun run(fake);
  EXPECT_TRUE(run.run().problems.front().best());
  EXPECT_THAT(run.notes, Contains(HasSubstr("not verified on N=999")));
}

TEST(Device, ThatIsUnhealthyAfterARestartEndsTheRunAfterRecording) {
  const FakeFolder folder;
  FakeSpace fake;
  fake.add("tiled", std::string("fault crash_once in run") + kWhenWouldBeBest);
  fake.add("naive", "fault error in run when HAPPENED");
  FakeRun run(fake);
  EXPECT_THAT(error_of<UnavailableError>(run), HasSubstr("twice in a row"));
  EXPECT_EQ(std::ranges::count_if(run.notes,
                                  [](const std::string& note) {
                                    return note.find("trying again") != std::string::npos;
                                  }),
            1);
  ASSERT_NE(run.log->last("tiled", kWouldBeBest), nullptr);
  EXPECT_EQ(run.log->last("tiled", kWouldBeBest)->reason, "crash");
}

TEST(Device, ThatTheProblemDoesNotFitIsAnErrorOfTheInput) {
  FakeSpace fake;
  fake.space.problems = {parse_key("N=2000000000")};
  fake.kernel("tiled").launches.front().grid =
      fake.kernel("naive").launches.front().grid = {{"1", "/test"}};
  fake.kernel("tiled").arguments.front().shape =
      fake.kernel("naive").arguments.front().shape = {{"16 * N", "/test"}};
  FakeRun run(fake);
  EXPECT_THAT(error_of<InputError>(run), HasSubstr("device_memory"));
}

TEST(Workers, KilledFromOutsideAreReplacedAndNothingIsLost) {
  const FakeSpace fake;
  FakeRun run(fake);
  run.request.options.window = 2;
  std::size_t seen = 0;
  run.observer.result = [&](const Result&, bool) {
    ++seen;
    if (seen != 3 && seen != 7) return;
    for (const int id : run.pool->process_ids()) kill(id, SIGKILL);
  };
  run.pool = std::make_shared<WorkerPool>(run.workers);
  const TuningSummary summary = run.run();
  EXPECT_EQ(summary.evaluated, 16u);
  EXPECT_FALSE(summary.first_failure);
  EXPECT_GE(summary.worker_deaths, 2u);
  EXPECT_EQ(key(summary.problems.front().best()->configuration), "ITEMS=2,TILE=8");
}

TEST(Workers, ThatEndRightBehindTheirReplyAreReplacedAndNothingIsLost) {
  const FakeSpace fake;
  constexpr int kMoments = 12;
  for (int moment = 1; moment <= kMoments; ++moment) {
    FakeRun run(fake);
    run.pool = std::make_shared<WorkerPool>(run.workers);
    const std::uint64_t first = run.pool->device_generation(0);
    int requests = 0;
    const auto kill_once = [&](const Progress&) {
      if (run.pool->device_generation(0) != first || run.pool->device_is_idle(0)) return;
      if (++requests != moment) return;
      // Its reply has been sent by then, and is found together with its end.
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const pid_t worker = run.pool->process_ids().front();
      kill(worker, SIGKILL);
      EXPECT_TRUE(eventually([&] { return !is_alive(worker); }));
    };
    run.observer.progress = kill_once;
    const TuningSummary summary = run.run();
    EXPECT_EQ(summary.worker_deaths, 1u) << moment;
    EXPECT_FALSE(summary.first_failure) << moment << ": " << summary.first_failure->detail;
    EXPECT_EQ(key(summary.problems.front().best()->configuration), "ITEMS=2,TILE=8") << moment;
    for (const Result& record : run.own_log.records) EXPECT_TRUE(record.timed()) << moment;
  }
}

TEST(Workers, OfAParentThatIsKilledEndWithIt) {
  const FakeFolder folder;
  const std::string self = executable();
  std::string word = kParentWord;
  std::string path = folder.path().string();
  std::string program = self;
  std::vector<char*> argv = {program.data(), word.data(), path.data(), nullptr};
  pid_t parent = 0;
  ASSERT_EQ(posix_spawn(&parent, self.c_str(), nullptr, nullptr, argv.data(), environ), 0);
  const std::string ids_file = path + "/ids";
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(ids_file); }));
  std::vector<int> ids;
  std::ifstream file(ids_file);
  for (int id = 0; file >> id;) ids.push_back(id);
  ASSERT_THAT(ids, SizeIs(3));  // One device worker, two compile workers.
  for (const int id : ids) ASSERT_TRUE(is_alive(id));

  ASSERT_EQ(kill(parent, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(parent, &status, 0), parent);
  for (const int id : ids) {
    EXPECT_TRUE(eventually([&] { return !is_alive(id); })) << id;
  }
}

TEST(Workers, EndWithTheirPool) {
  auto pool = std::make_shared<WorkerPool>(fake_workers(3));
  const std::vector<int> ids = pool->process_ids();
  EXPECT_THAT(ids, SizeIs(4));
  pool.reset();
  for (const int id : ids) EXPECT_FALSE(is_alive(id));
}

TEST(Workers, GreetWithDeviceAndCompiler) {
  const auto pool = std::make_shared<WorkerPool>(fake_workers(1));
  EXPECT_EQ(pool->greeting().devices.front().name, "Fake 90");
  EXPECT_EQ(pool->greeting().compiler, "fake 1");
  EXPECT_EQ(pool->greeting().compiler_sha256.size(), 64u);
}

TEST(Workers, ThatCannotBeStartedAreUnavailable) {
  WorkerCommand command = fake_workers(1);
  command.devices.front().front() = "/nowhere/at/all";
  try {
    std::make_shared<WorkerPool>(command);
    FAIL();
  } catch (const UnavailableError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/at/all: No such file or directory"));
  }
}

TEST(Workers, ThatEndAtTheirStartAreUnavailable) {
  WorkerCommand command = fake_workers(1);
  command.devices.front() = {"/bin/sh", "-c", "echo no driver here >&2; exit 9"};
  try {
    std::make_shared<WorkerPool>(command);
    FAIL();
  } catch (const UnavailableError& error) {
    EXPECT_THAT(error.what(), HasSubstr("status 9"));
    EXPECT_THAT(error.what(), HasSubstr("no driver here"));
  }
}

TEST(Workers, ThatAreLostAgainAreReplacedByASpareThatIsReady) {
  FakeSpace fake;
  fake.add("tiled", "fault context_lost in run");
  FakeRun run(fake);
  run.pool = std::make_shared<WorkerPool>(run.workers);
  std::vector<std::vector<pid_t>> seen;
  run.observer.progress = [&](const Progress&) { seen.push_back(run.pool->process_ids()); };
  run.run();
  int replaced = 0;
  int by_spare = 0;
  for (std::size_t i = 1; i < seen.size(); ++i) {
    if (seen[i].front() == seen[i - 1].front()) continue;
    ++replaced;
    if (std::ranges::count(seen[i - 1], seen[i].front()) > 0) ++by_spare;
  }
  EXPECT_GT(replaced, 5);
  EXPECT_GE(by_spare, replaced - 1) << "all but the first";
}

/// Returns a command for a unit whose first two device workers start at once; a third one waits for
/// let_happen().
WorkerCommand one_slow_to_replace(const FakeFolder& folder) {
  const std::string path = "'" + folder.path().string() + "'";
  WorkerCommand command = fake_workers(1);
  command.compile.clear();
  command.known_devices = {fake::fake_device()};
  command.devices = {{"/bin/sh", "-c",
                      "cd " + path +
                          " && mkdir first 2>/dev/null || mkdir second 2>/dev/null || "
                          "while ! [ -e happened ]; do sleep 0.01; done; exec \"$0\" " +
                          kDeviceWord,
                      executable()}};
  return command;
}

bool eventually_idle(WorkerPool& pool) {
  return eventually([&] {
    pool.wait(0.01);
    return pool.device_is_idle(0);
  });
}

TEST(Workers, HaveMoreSparesWhereTheyAreNeededFasterThanTheyStart) {
  const FakeFolder folder;
  WorkerPool pool(one_slow_to_replace(folder));
  ASSERT_TRUE(eventually_idle(pool));
  EXPECT_THAT(pool.process_ids(), SizeIs(1));
  pool.restart_device(0);
  ASSERT_TRUE(eventually_idle(pool));
  EXPECT_THAT(pool.process_ids(), SizeIs(2));
  pool.restart_device(0);  // The spare has not greeted yet.
  EXPECT_THAT(pool.process_ids(), SizeIs(1));
  folder.let_happen();
  ASSERT_TRUE(eventually_idle(pool));
  EXPECT_THAT(pool.process_ids(), SizeIs(3));
  double pause_s = 0.01;
  ASSERT_TRUE(eventually([&] {
    using Clock = std::chrono::steady_clock;
    // A restart ends spares that have not greeted; how long they take depends on the machine.
    for (const auto end = Clock::now() + std::chrono::duration<double>(pause_s);
         Clock::now() < end;) {
      pool.wait(0.01);
    }
    pause_s *= 2;
    pool.restart_device(0);
    return pool.device_is_idle(0);
  })) << "no spare was ready";
  EXPECT_GE(pool.process_ids().size(), 3u) << "the next one is started when one is taken";
  EXPECT_LE(pool.process_ids().size(), 1 + most_spares(fake::fake_device()));
}

TEST(Workers, HaveNoSpareWhereAllMemoryMayBeNeeded) {
  const FakeFolder folder;
  WorkerPool pool(one_slow_to_replace(folder));
  ASSERT_TRUE(eventually_idle(pool));
  pool.restart_device(0);
  ASSERT_TRUE(eventually_idle(pool));
  EXPECT_THAT(pool.process_ids(), SizeIs(2));
  pool.end_spares(0);
  EXPECT_THAT(pool.process_ids(), SizeIs(1));
  folder.let_happen();
  pool.restart_device(0);
  ASSERT_TRUE(eventually_idle(pool));
  EXPECT_THAT(pool.process_ids(), SizeIs(1));
}

TEST(Workers, HaveAsManySparesAsLeaveTheMemoryToTheProblem) {
  Device device;
  for (const auto& [gigabytes, spares] : {std::pair(4, 1), std::pair(24, 1), std::pair(80, 4)}) {
    device.memory_bytes = std::int64_t{gigabytes} << 30;
    EXPECT_EQ(most_spares(device), static_cast<std::size_t>(spares)) << gigabytes;
  }
}

TEST(Workers, ThatDoNotGreetInTimeAreUnavailable) {
  WorkerCommand command = fake_workers(1);
  command.devices.front() = {"/bin/sh", "-c", "exec sleep 60"};
  command.hello_timeout_s = 0.2;
  EXPECT_THROW(std::make_shared<WorkerPool>(command), UnavailableError);
}

/// Starts a pool in a separate process and stops its device worker before that has greeted, and
/// with `with_parent` the pool's process, too, for longer than the worker may take. Returns whether
/// the pool started.
bool starts_in_spite_of_a_stop(bool with_parent) {
  const FakeFolder folder;
  const std::string file = (folder.path() / "worker").string();
  WorkerCommand command = fake_workers(1);
  command.compile.clear();
  command.hello_timeout_s = 5;
  command.devices = {{"/bin/sh", "-c",
                      "echo $$ > '" + file + ".part'; mv '" + file + ".part' '" + file +
                          "'; sleep 1; exec \"$0\" " + kDeviceWord,
                      executable()}};
  const pid_t parent = fork();
  if (parent == 0) {
    int status = 0;
    try {
      const WorkerPool pool(command);
    } catch (const UnavailableError&) {
      status = 1;
    }
    _exit(status);
  }
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file); }));
  pid_t worker = 0;
  std::ifstream(file) >> worker;
  kill(-worker, SIGSTOP);
  if (with_parent) kill(parent, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(7000));
  if (with_parent) kill(parent, SIGCONT);
  kill(-worker, SIGCONT);
  int status = -1;
  EXPECT_EQ(waitpid(parent, &status, 0), parent);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Workers, ThatWereStoppedTogetherWithTheirParentAreNotLate) {
  EXPECT_TRUE(starts_in_spite_of_a_stop(true));
}

TEST(Workers, ThatWereStoppedAloneAreLate) { EXPECT_FALSE(starts_in_spite_of_a_stop(false)); }

TEST(Workers, ThatSayWhatIsMissingAreQuoted) {
  WorkerCommand command = fake_workers(1);
  command.devices.front().push_back("broken");
  try {
    std::make_shared<WorkerPool>(command);
    FAIL();
  } catch (const UnavailableError& error) {
    EXPECT_STREQ(error.what(), "the fake driver is missing");
  }
}

/// Lets the event happen that the device waits for, once this much is compiled.
void let_happen_when_compiled(FakeRun& run, const FakeFolder& folder, std::uint64_t enough) {
  run.observer.progress = [&folder, enough](const Progress& progress) {
    if (progress.compiled >= enough) folder.let_happen();
  };
}

TEST(Workers, CompileBeforeTheDeviceIsThere) {
  const FakeFolder folder;
  const FakeSpace fake;
  FakeRun run(fake);
  run.request.options.window = 16;
  run.workers.devices.front().push_back("late");
  run.workers.known_devices = {fake::fake_device()};
  let_happen_when_compiled(run, folder, 16);
  EXPECT_EQ(run.run().evaluated, 16u);
  EXPECT_THAT(run.log->open, IsEmpty());
}

TEST(Workers, CompileWhileTheReferenceIsChecked) {
  const FakeFolder folder;
  FakeSpace fake;
  fake.add("naive", "fault wait in run");
  FakeRun run(fake);
  run.request.options.window = 16;
  let_happen_when_compiled(run, folder, 16);
  EXPECT_EQ(run.run().evaluated, 16u);
}

TEST(Workers, AreWaitedForWhileTheReferenceIsChecked) {
  const FakeFolder folder;
  FakeSpace fake;
  fake.add("naive", "fault wait in run");
  FakeRun run(fake);
  run.request.options.window = 16;
  std::set<std::string> waited_for;
  run.observer.progress = [&](const Progress& progress) {
    if (progress.phase != "prepare" || progress.compiled < 16) return;
    waited_for.insert(progress.waiting_for);
    folder.let_happen();
  };
  run.run();
  EXPECT_THAT(waited_for, ElementsAre("device"));
}

TEST(Workers, CompileWhileTheDeviceMayNotBeUsed) {
  const FakeSpace fake;
  FakeRun run(fake);
  run.request.options.window = 16;
  std::uint64_t compiled = 0;
  run.observer.progress = [&](const Progress& progress) {
    compiled = progress.compiled;
    if (compiled < 16) {
      EXPECT_THAT(run.log->attempts, IsEmpty());
    }
  };
  run.observer.may_use_devices = [&] { return compiled == 16; };
  EXPECT_EQ(run.run().evaluated, 16u);
}

TEST(Workers, OnAnotherDeviceThanWasKnownAreUnavailable) {
  const FakeSpace fake;
  FakeRun run(fake);
  run.workers.known_devices = {fake::fake_device(1)};
  EXPECT_THAT(error_of<UnavailableError>(run),
              HasSubstr("found another device: Fake 90 GPU-fake instead of Fake 90 GPU-fake-1"));
}

TEST(Workers, WithABrokenCompilerEndTheRunWithOneMessage) {
  FakeSpace fake;
  fake.add("tiled", "fault broken in compile");
  FakeRun run(fake);
  EXPECT_EQ(error_of<UnavailableError>(run), "the fake device fell off the bus");
}

}  // namespace
}  // namespace smemtune::test
