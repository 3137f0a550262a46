#include "reports/figures/figures.h"

#include "reports/figures/plot.h"
#include "reports/report_source_examples_test_support.h"
#include "tuner/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace smemtune {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ReportSource source() {
  std::vector<db::StoredResult> results;
  for (std::int64_t n = 1; n <= 60; ++n) {
    db::StoredResult one = timed(8 << n % 4, 1 + 0.01 * std::abs(static_cast<double>(n - 20)),
                                 n > 55 ? Stage::final : Stage::screen);
    one.result.configuration["ROWS"] = n;
    one.result.metrics = {{"flops", 1e9}, {"bytes", 1e8}};
    one.result.launches = fitting(n, static_cast<int>(n), 50).result.launches;
    one.device = db::planted_device("<b>&H200");
    one.device.sm_count = 132;
    one.device.sm_clock_khz = one.device.memory_clock_khz = 1'000'000;
    one.device.memory_bus_bits = 4096;
    results.push_back(one);
  }
  results.push_back(failed(64, Status::constraints, "shared_bytes"));
  ReportSource source = source_of(std::move(results));
  source.sections[0].convergence = {{1, 0.5, 4}, {20, 3, 2}, {40, 9, 1}};
  return source;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

std::string message(const std::string& name, const ReportSource& of) {
  try {
    figure(name, of);
  } catch (const InputError& error) {
    return error.what();
  }
  return "drawn";
}

TEST(Figures, EachIsADrawingInWhichStoredTextIsText) {
  const ReportSource of = source();
  for (const FigureInfo& one : figures()) {
    if (one.name == "devices" || one.name == "versions") continue;
    const std::string svg = figure(one.name, of);
    EXPECT_THAT(svg, AllOf(StartsWith("<svg "), EndsWith("</svg>\n"), Not(HasSubstr("<b>")),
                           HasSubstr("&lt;b&gt;&amp;H200"), HasSubstr("prefers-color-scheme:dark"),
                           Not(HasSubstr("nan")), Not(HasSubstr("inf"))))
        << one.name;
    EXPECT_EQ(count(svg, "<text"), count(svg, "</text>")) << one.name;
  }
}

TEST(Figures, DrawWhatTheyAreAbout) {
  const ReportSource of = source();
  EXPECT_EQ(count(figure("times", of), "<circle"), 60u);
  EXPECT_THAT(figure("ladder", of), HasSubstr("1.000 ms, 1.00 TFLOP/s"));
  EXPECT_THAT(figure("failures", of), HasSubstr("constraints/shared_bytes"));
  EXPECT_THAT(figure("values", of), HasSubstr(">ROWS<"));
  EXPECT_EQ(count(figure("parallel", of), "<polyline"), 60u + 4u) << "and the legend";
  EXPECT_THAT(figure("parallel", of),
              AllOf(HasSubstr(">8<"), HasSubstr(">64<"), HasSubstr(">60<")));
}

TEST(Figures, LeaveOutWhatIsNotKnownAndWhatSaysNothing) {
  ReportSource of = source();
  for (db::StoredResult& one : of.sections[0].results) {
    for (LaunchResult& launch : one.result.launches) launch.resources.registers_per_thread = 0;
  }
  for (db::StoredSection::Step& step : of.sections[0].convergence) step.seconds = std::nan("");
  EXPECT_THAT(figure("resources", of), AllOf(HasSubstr("shared memory of a block"),
                                             Not(HasSubstr(">registers per thread"))));
  EXPECT_THAT(figure("convergence", of),
              AllOf(HasSubstr(">evaluations<"), Not(HasSubstr("seconds")), Not(HasSubstr("nan"))));
  of = source_of({timed(16, 4)});
  of.sections[0].convergence = {{1, 1, 4}, {1, 1, 4}};
  EXPECT_THAT(message("times", of), HasSubstr("has nothing for the figure 'times'"));
  EXPECT_THAT(message("convergence", of), HasSubstr("has nothing"));
}

TEST(Figures, OfADryRunShowOccupancyAndWhatFits) {
  std::vector<db::StoredResult> results = {fitting(16, 32, 100), fitting(32, 64, 50),
                                           failed(48, Status::constraints, "shared_bytes")};
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].result.configuration["ROWS"] = static_cast<std::int64_t>(i % 2);
  }
  const ReportSource of = source_of(std::move(results));
  EXPECT_EQ(count(figure("resources", of), "<circle"), 4u) << "two panels";
  EXPECT_THAT(figure("heat-map", of), HasSubstr("share that fits"));
  EXPECT_THAT(message("ladder", of), HasSubstr("has nothing for the figure 'ladder'"));
}

TEST(Figures, ThatThereAreNotAreRefusedByName) {
  const ReportSource of = source();
  EXPECT_THAT(message("heatmap", of), HasSubstr("did you mean 'heat-map'?"));
  EXPECT_THAT(message("versions", of), HasSubstr("smemtune diff --json"));
  ReportSource two = of;
  two.sections.push_back(two.sections[0]);
  EXPECT_THAT(message("times", two), HasSubstr("choose with --device and --problem"));
}

TEST(Figures, OfTwoVersionsShowsThePairsThatWereTimed) {
  VersionDiff diff{.space = "gemm", .old_name = "<a>", .new_name = "b", .device = "H200"};
  diff.pairs.push_back(
      {.problem = {}, .what = "winner", .old_one = {}, .new_one = {}, .slower = Slowdown{5, 4, 6}});
  EXPECT_THAT(figure("versions", diff),
              AllOf(HasSubstr("&lt;a&gt;"), HasSubstr("5.00 % slower"), Not(HasSubstr("<a>"))));
  EXPECT_THROW(figure("ladder", diff), InputError);
}

TEST(Axis, HasRoundTicksWithinItsEnds) {
  const Axis axis = Axis::over("", {0, 97});
  const std::vector<double> ticks = axis.ticks();
  EXPECT_THAT(ticks, testing::ElementsAre(0, 20, 40, 60, 80));
  EXPECT_EQ(Axis::plain_number(12500), "12,500");
  EXPECT_EQ(Axis::times_over("", {0.5, 2}).text(0.5), "500 us");
  for (const double tick : Axis::times_over("", {0.5, 2000}).ticks()) {
    EXPECT_GE(tick, 0.4);
    EXPECT_LE(tick, 2200);
  }
}

}  // namespace
}  // namespace smemtune
