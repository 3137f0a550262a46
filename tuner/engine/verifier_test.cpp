#include "tuner/engine/verifier.h"

#include "tuner/backend/fake/fake_compiler_test_support.h"
#include "tuner/backend/fake/fake_launcher_test_support.h"
#include "tuner/backend/tolerances.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/expression.h"
#include "tuner/engine/definition_checks.h"
#include "tuner/engine/reference_checks.h"
#include "tuner/engine/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace smemtune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// A scripted kernel loaded on a fake device with workloads 0 (seed 1) and 1 (seed 2).
class OnFakeDevice : public testing::Test {
 protected:
  static Argument argument(const std::string& name, std::vector<std::int64_t> shape, Role role) {
    Argument argument;
    argument.name = name;
    argument.shape = std::move(shape);
    argument.role = role;
    argument.init = {.kind = Init::Kind::iota, .a = 0, .b = 0, .file = {}};
    return argument;
  }

  NumberedWorkload workload(WorkloadId id) const {
    return {.id = id,
            .label = "workload " + std::to_string(id),
            .problem = {{"N", std::int64_t{4}}},
            .workload = {.arguments = arguments_, .seed = static_cast<std::uint64_t>(id) + 1}};
  }

  KernelHandle load(const std::string& script) {
    fake::FakeCompiler compiler;
    const std::string text = "kernel k()\n" + script;
    const auto module = compiler.compile({.architecture = "sm_90",
                                          .source = {.files = {{"k.cu", text}}},
                                          .name_expressions = {"k"},
                                          .symbol_expressions = {},
                                          .options = {}});
    LaunchShape launch;
    launch.name_expression = "k";
    launch.block = {32, 1, 1};
    launch.arguments = {"in", "out"};
    for (const WorkloadId id : {0, 1}) launcher_.prepare(id, workload(id).workload);
    return launcher_.load(-1, *module, {launch}, arguments_)->handle;
  }

  std::vector<Check> checks(KernelHandle handle) const {
    std::vector<Check> checks;
    for (const WorkloadId id : {0, 1}) {
      checks.push_back(
          {.handle = handle, .workload = id, .tolerance = {}, .label = workload(id).label});
    }
    return checks;
  }

  Check check(KernelHandle handle) const { return checks(handle).front(); }

  /// Runs a kernel that doubles `in` on workload 0 and compares its output with a definition.
  Outcome<Comparisons> checked(const std::string& definition) {
    Check reference = check(load("computes out[i] = in[i] * 2"));
    reference.tolerance = tolerance_;
    if (auto failure = keep_outputs(launcher_, reference)) return *failure;
    return DefinitionChecks(launcher_, {workload(0)}, {{definition, "/verify"}}, budget_)
        .compare(reference);
  }

  fake::FakeLauncher launcher_;
  std::vector<Argument> arguments_ = {argument("in", {4}, Role::input),
                                      argument("out", {4}, Role::output)};
  Tolerance tolerance_;
  DefinitionBudget budget_ = {.host_bytes = 4096};
};

using Verifier = OnFakeDevice;
using Sampler = OnFakeDevice;

TEST_F(Verifier, AcceptsWhatIsRightEverywhere) {
  EXPECT_TRUE(verify(launcher_, checks(load("time_ns 1000"))));
}

TEST_F(Verifier, NamesElementValueAndWorkloadOfAMismatch) {
  const auto verdict = verify(launcher_, checks(load("fault mismatch in run when SEED == 2")));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.failure().status, Status::correctness);
  EXPECT_EQ(verdict.failure().reason, "mismatch");
  EXPECT_EQ(verdict.failure().detail, "out[3] is 1.5, expected 1 (1 such elements) on workload 1");
}

TEST_F(Verifier, SaysWhatIsNotWrittenAndWhatAReferenceMayMean) {
  const KernelHandle handle = load("fault unwritten in run");
  const std::string detail = "out[3] is not written (1 such elements) on workload 0";
  EXPECT_EQ(verify(launcher_, checks(handle)).failure().detail, detail);
  EXPECT_EQ(keep_outputs(launcher_, checks(handle)[0])->detail,
            detail + "; if it is to leave elements as they are, the role of out is inout");
}

TEST_F(Verifier, SaysWhatAReferenceNeedsThatCalculatesNoNumbers) {
  const KernelHandle handle = load("fault nan in run");
  EXPECT_THAT(verify(launcher_, checks(handle)).failure().detail, Not(HasSubstr("init")));
  EXPECT_THAT(keep_outputs(launcher_, checks(handle)[0])->detail,
              HasSubstr("; give its inputs an \"init\""));
}

TEST_F(Verifier, PassesOnWhatTheLauncherSays) {
  const auto verdict = verify(launcher_, checks(load("fault context_lost in run")));
  ASSERT_FALSE(verdict);
  EXPECT_EQ(verdict.failure().reason, "illegal_address");
  EXPECT_TRUE(verdict.failure().context_lost);
}

TEST_F(Verifier, TrustsNoBufferBehindAnOverrun) {
  EXPECT_TRUE(verify(launcher_, checks(load("fault overrun in run"))).failure().context_lost);
  EXPECT_FALSE(verify(launcher_, checks(load("fault mismatch in run"))).failure().context_lost);
}

TEST_F(Verifier, TakesAReferenceOnlyWhenItRepeatsItself) {
  const Check steady = checks(load("time_ns 1000"))[0];
  EXPECT_FALSE(keep_outputs(launcher_, steady));
  EXPECT_FALSE(repeat_reference(launcher_, steady));
  const Check changing = checks(load("fault mismatch in run when RUNS % 2 == 1"))[1];
  EXPECT_FALSE(keep_outputs(launcher_, changing));
  const auto failure = repeat_reference(launcher_, changing);
  ASSERT_TRUE(failure);
  EXPECT_THAT(failure->detail, HasSubstr("do not agree"));
}

TEST_F(Verifier, TakesNoToleranceByWhichZerosWouldPass) {
  const auto fitted = [&](const std::string& definition, const Tolerance& given) {
    Check check = checks(load("computes out[i] = " + definition))[0];
    check.tolerance = given;
    EXPECT_FALSE(keep_outputs(launcher_, check));
    return fitted_tolerances(launcher_, check, workload(0).workload);
  };
  EXPECT_TRUE(fitted("in[i] * 2", {}).tolerances.empty());
  EXPECT_TRUE(fitted("in[i] * 2", {}).notes.empty());
  const FittedTolerances small = fitted("in[i] / 1000000000", {});
  EXPECT_LT(small.tolerances.at("out").absolute, 1e-12);
  EXPECT_THAT(small.notes, ElementsAre(HasSubstr("would accept zeros for elements this small")));
  const FittedTolerances lax = fitted("in[i] * 2", {.absolute = 10, .relative = {}});
  EXPECT_TRUE(lax.tolerances.empty());
  EXPECT_THAT(lax.notes, ElementsAre(HasSubstr("larger than most of its elements")));
}

TEST_F(Verifier, HoldsTheReferenceAgainstItsDefinition) {
  const auto held = [&](const std::string& definition) { return checked(definition); };
  const auto right = held("out[i] = in[i] + in[i]");
  ASSERT_TRUE(right);
  EXPECT_THAT(right->compared, ElementsAre(ComparedOutput{.problem = workload(0).problem,
                                                          .output = "out",
                                                          .with = ComparedWith::definition,
                                                          .compared = 4,
                                                          .elements_total = 4}));
  EXPECT_TRUE(held("out[i] = in[i] * (N - 2)"));
  const auto wrong = held("out[i] = in[i] * 3");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.failure().reason, "definition");
  EXPECT_THAT(wrong.failure().detail, HasSubstr("out[1] is 2, but `out[i] = in[i] * 3` gives 3"));
  EXPECT_THROW(held("out[i] = in[i + 1]"), ExpressionError);
  EXPECT_THROW(held("out[i] = nothing[i]"), ExpressionError);
}

TEST_F(Verifier, HoldsWhatReadsAnOutputAgainstItsDefinitionAfterTheRun) {
  arguments_[1].init = {};
  EXPECT_TRUE(checked("out[i] = i < 1 ? 0 : out[i - 1] + 2"));
  const auto wrong = checked("out[i] = i < 1 ? 0 : out[i - 1] + 1");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.failure().detail, HasSubstr("out[1] is 2, but "));
}

TEST_F(Verifier, TellsDefinitionChecksOfOtherWorkloadsApart) {
  const std::vector<ExpressionText> definitions = {{"out[i] = 3", "/verify"}};
  const DefinitionChecks checks(launcher_, {workload(0), workload(1)}, definitions, budget_);
  EXPECT_TRUE(checks.are_of({workload(0), workload(1)}, definitions));
  EXPECT_FALSE(checks.are_of({workload(0)}, definitions));
  EXPECT_FALSE(checks.are_of({workload(0), workload(1)}, {{"out[i] = 4", "/verify"}}));
  NumberedWorkload other = workload(1);
  other.workload.seed = 9;
  EXPECT_FALSE(checks.are_of({workload(0), other}, definitions));
}

TEST_F(Verifier, ShowsAsManyDigitsAsTellTwoNumbersApart) {
  tolerance_ = {.absolute = 0, .relative = 0};
  const auto wrong = checked("out[i] = in[i] * 2.000000000002");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.failure().detail, HasSubstr("out[1] is 2, but "));
  EXPECT_THAT(wrong.failure().detail, HasSubstr(" gives 2.0000000000020002 on "));
}

TEST_F(Verifier, SaysWhatTheHostHasNoMemoryToHoldAgainstADefinition) {
  budget_.host_bytes = 31;
  const auto held = checked("out[i] = 3");
  ASSERT_TRUE(held);
  EXPECT_THAT(held->compared, IsEmpty());
  EXPECT_THAT(held->notes, ElementsAre(HasSubstr("*** out is not compared with its definition")));
}

TEST_F(Verifier, HoldsASumAgainstADefinitionWhollyOrNotAtAll) {
  arguments_[1].compares_sum = true;
  budget_.operations = 0;
  EXPECT_THAT(checked("out[i] = 3")->compared, SizeIs(1)) << "the sum is 12";
  EXPECT_FALSE(checked("out[i] = 4"));
  const auto dear = checked("out[i] = 3 + 0 * sum(k < 10000000, k)");
  ASSERT_TRUE(dear);
  EXPECT_THAT(dear->compared, IsEmpty());
  EXPECT_THAT(dear->notes, ElementsAre(HasSubstr("its sum needs all elements")));
}

TEST_F(Verifier, SamplesMoreOutputsThanTheBudgetHolds) {
  budget_.operations = 0;
  EXPECT_EQ(checked("out[i] = in[i] * 2 + 0 * sum(k < 10000000, k)")->compared.at(0).compared, 3u);
  EXPECT_THAT(checked("out[i] = in[i] + sum(k < 30000000, k)")->notes, SizeIs(1)) << "not even one";
}

TEST_F(Sampler, StopsAtASampleThatIsTooSlow) {
  const KernelHandle handle = load("time_ns 2000000");
  const auto samples = [&](double stop_above_ms, double enough_ms) {
    const auto report =
        screen(launcher_, check(handle),
               {.samples = 5, .stop_above_ms = stop_above_ms, .enough_ms = enough_ms});
    return report->samples_ms;
  };
  EXPECT_THAT(samples(0, 0), SizeIs(5));
  EXPECT_THAT(samples(1.9, 0), SizeIs(1));
  EXPECT_THAT(samples(2.1, 0), SizeIs(5));
  EXPECT_THAT(samples(0, 2), SizeIs(1));
  EXPECT_THAT(samples(2.1, 3.9), SizeIs(2));
  EXPECT_THAT(samples(0, 100), SizeIs(5));
}

TEST_F(Sampler, ATimeThatIsNoneIsAFailure) {
  const auto report = screen(launcher_, check(load("time_ns 0")), {.samples = 3});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.failure().reason, "no_time");
}

TEST_F(Sampler, ALaunchThatIsWrongIsAFailureWhateverItsTime) {
  const Check wrong = check(load("fault mismatch in time when TIMES > 0"));
  EXPECT_TRUE(screen(launcher_, wrong, {.samples = 3}));
  for (const bool each_launch : {false, true}) {
    const auto report = time_compared(launcher_, wrong, {.each_launch = each_launch});
    ASSERT_FALSE(report);
    EXPECT_EQ(report.failure().status, Status::correctness);
    EXPECT_EQ(report.failure().reason, "mismatch");
    EXPECT_EQ(report.failure().detail,
              "out[3] is 1.5, expected 1 (1 such elements) in a timed launch on workload 0");
  }
}

TEST_F(Sampler, ToleratesTwiceAsMuchInTimedLaunchesAndNothingOfIntegers) {
  Check given = check(0);
  std::vector<Argument> arguments = arguments_;
  arguments.push_back(argument("count", {4}, Role::output));
  arguments.back().type = ScalarType::int32;
  arguments.push_back(argument("sums", {4}, Role::inout));
  given.tolerances["sums"] = {.absolute = 1, .relative = {}, .ulps = 8};
  arguments.push_back(argument("halves", {4}, Role::output));
  arguments.back().type = ScalarType::float16;
  given.tolerances["halves"] = {.absolute = 1e-6, .relative = {}, .ulps = 4};
  arguments.push_back(argument("differences", {4}, Role::output));
  given.tolerances["differences"] = {.absolute = {}, .relative = 1e-5, .ulps = {}};
  arguments.push_back(argument("bounded", {4}, Role::output));
  given.tolerances["bounded"] = {.absolute = 1e-9, .relative = {}, .ulps = {}};
  given.largest_values = {{"halves", 100}, {"differences", 100}, {"bounded", 100}};
  const auto tolerances = timed_tolerances(given, {.arguments = arguments, .seed = 1});
  EXPECT_THAT(tolerances, SizeIs(6));
  EXPECT_EQ(tolerances.at("differences"),
            (Tolerance{.absolute = 4 * 0x1p-17, .relative = 2e-5, .ulps = {}}))
      << "where terms cancel";
  EXPECT_EQ(tolerances.at("bounded").absolute, 2e-9);
  given.tolerance.derived = 1;
  EXPECT_EQ(timed_tolerances(given, {.arguments = arguments, .seed = 1}).at("halves").absolute,
            4 * 0.0625);
  EXPECT_EQ(tolerances.at("out").relative, 128 * 0x1p-23);
  EXPECT_EQ(tolerances.at("count").absolute, 0);
  EXPECT_EQ(tolerances.at("sums"), (Tolerance{.absolute = 2, .relative = {}, .ulps = 16}));
}

TEST_F(Sampler, MeasuresEveryoneOfARoundInOrder) {
  const Check slow = check(load("time_ns 3000"));
  const Check fails = check(load("fault error in time"));
  const Check fast = check(load("time_ns 1000"));
  std::vector<int> announced;
  const auto outcomes = sample_round(launcher_, {{slow, 1}, {fails, 1}, {fast, 4}, {slow, 1}},
                                     [&](int number) { announced.push_back(number); });
  ASSERT_THAT(outcomes, SizeIs(4));
  EXPECT_DOUBLE_EQ(outcomes[0]->samples_ms.front(), 0.003);
  EXPECT_EQ(outcomes[1].failure().reason, "launch");
  EXPECT_DOUBLE_EQ(outcomes[2]->samples_ms.front(), 0.001);
  EXPECT_DOUBLE_EQ(outcomes[3]->samples_ms.front(), 0.003);
  EXPECT_EQ(announced, std::vector<int>({0, 1, 2, 3}));
}

TEST_F(Sampler, EndsARoundWithTheContext) {
  const Check fine = check(load("time_ns 1000"));
  const Check loses = check(load("fault context_lost in time"));
  const auto outcomes = sample_round(launcher_, {{fine, 1}, {loses, 1}, {fine, 1}}, [](int) {});
  ASSERT_THAT(outcomes, SizeIs(2));
  EXPECT_TRUE(outcomes[1].failure().context_lost);
}

/// Keeps one output of a workload and compares it by its tolerance.
class KeepingLauncher final : public Launcher {
 public:
  KeepingLauncher(const Argument& output, std::vector<double> elements)
      : output_(output), elements_(std::move(elements)) {}

  Device device() const override { return {}; }
  Outcome<std::int64_t> prepare(WorkloadId, const Workload&) override { return std::int64_t{0}; }
  Outcome<LoadedKernel> load(KernelHandle, const CompiledKernel&, const std::vector<LaunchShape>&,
                             const std::vector<Argument>&) override {
    return LoadedKernel();
  }
  Outcome<RunReport> run(KernelHandle, const RunRequest&) override { return RunReport(); }
  Outcome<bool> draw_data(KernelHandle, WorkloadId) override { return false; }
  Outcome<TimeReport> time(KernelHandle, const TimeRequest&) override { return TimeReport(); }

  std::vector<KeptOutput> kept(WorkloadId) override {
    const bool is_constant = std::ranges::count(elements_, elements_[0]) == std::ssize(elements_);
    return {{.name = output_.name,
             .elements = std::ssize(elements_),
             .changed = changed,
             .is_constant = is_constant}};
  }
  std::vector<std::uint8_t> kept_elements(WorkloadId, const std::string&,
                                          std::span<const std::int64_t> at) override {
    std::vector<double> some;
    for (const std::int64_t i : at) some.push_back(elements_[static_cast<std::size_t>(i)]);
    return encode(some, output_.type);
  }
  Outcome<RunReport> compare(KernelHandle, const RunRequest& request,
                             const std::vector<Edit>& edits) override {
    std::vector<double> edited = elements_;
    for (const Edit& edit : edits) {
      std::ranges::copy(to_doubles(edit.bytes, output_.type), edited.begin() + edit.first);
    }
    RunReport report;
    Mismatch mismatch;
    const Tolerance tolerance = tolerance_for(request.tolerance, output_.type);
    for (std::size_t i = 0; i < edited.size(); ++i) {
      if (std::abs(edited[i] - elements_[i]) >
          allowed_error(tolerance, output_.type, elements_[i])) {
        ++mismatch.count;
      }
    }
    if (output_.compares_sum) {
      if (sum_of(edited) != sum_of(elements_)) report.mismatch = Mismatch();
    } else if (mismatch.count > 0) {
      report.mismatch = mismatch;
    }
    return report;
  }

  std::int64_t changed = 1;

 private:
  Argument output_;
  std::vector<double> elements_;
};

TEST(DefinitionChecks, FailWhereNoKernelHasWrittenTheOutput) {
  NumberedWorkload workload;
  Argument& out = workload.workload.arguments.emplace_back();
  out.name = "out";
  out.role = Role::output;
  out.shape = {4};
  KeepingLauncher launcher(out, {});
  Check reference;
  reference.label = "N=4";
  DefinitionChecks checks(launcher, {workload}, {{"out[i] = 3", "/verify"}}, {.host_bytes = 4096});
  const auto held = checks.compare(reference);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.failure().detail, "the kernel that answers on N=4 does not write out");
}

/// Returns the mutations that go unnoticed in a result with these elements.
std::vector<std::string> unseen(std::vector<double> elements, const Tolerance& tolerance,
                                bool compares_sum = false) {
  Argument out;
  out.name = "out";
  out.role = Role::output;
  out.shape = {std::ssize(elements)};
  out.compares_sum = compares_sum;
  KeepingLauncher launcher(out, std::move(elements));
  const Check check = {.handle = 0, .workload = 0, .tolerance = tolerance, .label = "N=64"};
  const NumberedWorkload workload = {
      .id = 0, .label = "N=64", .problem = {}, .workload = {.arguments = {out}, .seed = 1}};
  return *blind_spots(launcher, launcher.kept(0), check, workload);
}

TEST(BlindSpots, AreNoneWhereTheToleranceFits) {
  std::vector<double> elements;
  for (int i = 0; i < 64; ++i) elements.push_back(i % 2 == 0 ? i + 1 : -i);
  EXPECT_THAT(unseen(elements, {}), testing::IsEmpty());
  EXPECT_THAT(unseen(elements, {}, true), testing::IsEmpty()) << "of sums no order is asked for";
  EXPECT_THAT(unseen({3}, {}), testing::IsEmpty());
  EXPECT_THAT(unseen(std::vector<double>(64, 3), {}), testing::IsEmpty());
}

TEST(BlindSpots, AreNamedWhereTheToleranceIsTooLarge) {
  std::vector<double> near_one;
  for (int i = 0; i < 64; ++i) near_one.push_back(1 + 0.001 * i);
  EXPECT_THAT(unseen(near_one, {.absolute = 0.5, .relative = {}}),
              ElementsAre("*** on N=64 a comparison would not see two swapped elements or a row "
                          "shifted by one element of out: they change it by less than the "
                          "tolerance"));
  EXPECT_THAT(unseen(near_one, {.absolute = 1.5, .relative = {}}),
              ElementsAre(HasSubstr("zeroed elements, two swapped elements or")));
  EXPECT_THAT(unseen(near_one, {.absolute = 10, .relative = {}}),
              ElementsAre(HasSubstr("flipped highest bits")));
}

TEST(OutputNotes, SayWhatShareTheReferenceChanged) {
  ReferenceOutput output = {
      .problem = "N=128", .output = "B", .elements = 16384, .changed = 10240, .constant = {}};
  ReferenceOutput smaller = {
      .problem = "N=3", .output = "B", .elements = 9, .changed = 2, .constant = "7"};
  EXPECT_THAT(notes_on({output, smaller}),
              ElementsAre("of the elements of B the reference changes 10,240 of 16,384 on N=128, "
                          "2 of 9 on N=3"));
  output.changed = 16384;
  EXPECT_THAT(notes_on({output}), testing::IsEmpty());
  output.constant = "7";
  EXPECT_THAT(notes_on({output}), ElementsAre(HasSubstr("*** B of the reference is 7 everywhere")));
  output.constant = "0";
  EXPECT_THAT(notes_on({output}), ElementsAre(HasSubstr("a kernel that writes zeros would count")));
  output.changed = 0;
  EXPECT_THAT(notes_on({output}),
              ElementsAre(HasSubstr("*** the reference changes none of the 16,384 elements of B "
                                    "on N=128")));
}

TEST(OutputNotes, TakeTheDataSetsOfAProblemTogether) {
  Argument out;
  out.name = "out";
  out.role = Role::inout;
  out.shape = {2};
  NumberedWorkload workload = {
      .id = 0, .label = "", .problem = {}, .workload = {.arguments = {out}, .seed = 1}};
  std::vector<ReferenceOutput> outputs;
  KeepingLauncher first(out, {3, 3});
  first.changed = 0;
  add_outputs(first, first.kept(0), workload, outputs);
  EXPECT_EQ("3", outputs.front().constant);
  KeepingLauncher second(out, {4, 4});
  second.changed = 2;
  add_outputs(second, second.kept(0), workload, outputs);
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_EQ(2, outputs.front().changed);
  EXPECT_EQ("", outputs.front().constant) << "it follows the data";
}

}  // namespace
}  // namespace smemtune
