#include "reports/why.h"

#include "db/json_forms.h"
#include "reports/energy.h"
#include "reports/result_texts.h"
#include "reports/table.h"
#include "tuner/core/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

namespace smemtune {
namespace {

using db::StoredResult;

// A figure counts as better from these ratios on.
constexpr double kMuch = 1.5;
constexpr double kFewer = 1.25;  // The least ratio of instructions that counts.

// Above this occupancy more warps seldom hide more.
constexpr double kEnoughOccupancy_percent = 50;

constexpr std::size_t kMostDifferences = 8;

double fact(const Facts& facts, const std::string& name) {
  return find_figure(facts, name).value_or(0);
}

/// The known facts of a launch, and figures that follow from them.
class Figures {
 public:
  explicit Figures(const LaunchResult& launch)
      : launch_(launch),
        scope_(launch.facts.contains(std::string(kMainLoopFacts) + "instructions") ? kMainLoopFacts
                                                                                   : kCodeFacts) {}

  bool known() const { return launch_.facts.contains("code.instructions"); }
  const LaunchResult& launch() const { return launch_; }

  /// Instructions of a kind in the main loop; in all code where there is no loop.
  double count(const std::string& kind) const { return fact(launch_.facts, scope_ + kind); }

  struct Moves {
    double count = 0;
    double bytes = 0;  ///< Bytes of a thread that executes each once.
    double mean() const { return count > 0 ? bytes / count : 0; }
  };
  /// `kind`: `shared_load`.
  Moves moves(const std::string& kind) const {
    Moves moves;
    for (const int bytes : {1, 2, 4, 8, 16, 32}) {
      const double number = count(kind + "_" + std::to_string(bytes) + "_bytes");
      moves.count += number;
      moves.bytes += number * bytes;
    }
    return moves;
  }
  Moves global_moves() const {
    Moves moves = this->moves("global_load");
    for (const char* kind : {"global_store", "async_copy"}) {
      const Moves more = this->moves(kind);
      moves.count += more.count;
      moves.bytes += more.bytes;
    }
    return moves;
  }
  double math() const { return count("fp32_fma") + 2 * count("fp32_fma_2") + count("fp64"); }
  double tensor() const { return fact(launch_.facts, "code.tensor"); }
  /// The value of a hardware counter; nullopt if it was not read.
  std::optional<double> counter(const std::string& name) const {
    return find_figure(launch_.facts, kCounterFacts + name);
  }
  double spilled() const {
    return static_cast<double>(launch_.resources.spill_store_bytes +
                               launch_.resources.spill_load_bytes);
  }
  double local() const { return moves("local_load").count + moves("local_store").count; }
  /// Occupancy in per cent with no more blocks than the grid has for each multiprocessor.
  double reached_percent(int sm_count) const {
    const Occupancy& occupancy = launch_.occupancy;
    if (sm_count == 0 || occupancy.blocks_per_sm == 0) return occupancy.percent;
    const double most = std::max(1.0, blocks() / sm_count);
    return occupancy.percent * std::min(1.0, most / occupancy.blocks_per_sm);
  }
  double blocks() const {
    const Dim3& grid = launch_.shape.grid;
    return static_cast<double>(grid[0]) * static_cast<double>(grid[1]) *
           static_cast<double>(grid[2]);
  }

 private:
  const LaunchResult& launch_;
  std::string scope_;
};

std::string number(double value) {
  return value == std::floor(value) ? decimal(value, 0) : decimal(value, 1);
}

/// A rule: a figure by which the faster configuration may be better.
struct Rule {
  const char* cause;
  /// Says it with both figures; empty where the faster one is not better by it.
  std::string (*sentence)(const Figures& fast, const Figures& slow, int sm_count);
};

std::string tensor_cores(const Figures& fast, const Figures& slow, int /*sm_count*/) {
  if (fast.tensor() == 0 || slow.tensor() > 0) return "";
  return "computes on tensor cores; the other does not";
}

std::string spills(const Figures& fast, const Figures& slow, int /*sm_count*/) {
  if (slow.spilled() == 0 || fast.spilled() * 2 > slow.spilled()) return "";
  return "keeps in registers what the other spills: " + number(slow.spilled()) +
         " bytes per thread there, " + number(fast.spilled()) + " here";
}

std::string local_memory(const Figures& fast, const Figures& slow, int /*sm_count*/) {
  if (slow.local() == 0 || fast.local() > 0 || slow.spilled() > 0) return "";
  return "keeps in registers what the other has in local memory, " + number(slow.local()) +
         " accesses in its main loop: an array that is indexed at run time, or a stack";
}

std::string atomics(const Figures& fast, const Figures& slow, int /*sm_count*/) {
  const bool here = fast.count("shared_atomic") > 0 && fast.count("global_atomic") == 0;
  if (!here || slow.count("global_atomic") == 0) return "";
  return "does its atomics in shared memory; the other does them in global memory";
}

std::string shared_memory(const Figures& fast, const Figures& slow, int /*sm_count*/) {
  const bool here = fast.moves("shared_load").count > 0 && fast.moves("global_load").count == 0;
  const bool there = slow.moves("shared_load").count == 0 && slow.moves("global_load").count > 0;
  if (!here || !there) return "";
  return "reads shared memory in its main loop, where the other reads global memory";
}

std::string few_blocks(const Figures& fast, const Figures& slow, int sm_count) {
  const double all = sm_count;
  if (sm_count == 0 || slow.blocks() >= all) return "";
  if (std::min(fast.blocks(), all) < kMuch * slow.blocks()) return "";
  return "has " + number(fast.blocks()) + " blocks for " + std::to_string(sm_count) +
         " multiprocessors; the other leaves some idle with " + number(slow.blocks());
}

std::string occupancy_rule(const Figures& fast, const Figures& slow, int sm_count) {
  const double here = fast.reached_percent(sm_count);
  const Occupancy& there = slow.launch().occupancy;
  if (there.percent > kEnoughOccupancy_percent || here < kMuch * there.percent) return "";
  if (slow.reached_percent(sm_count) < there.percent) return "";  // Blocks are what it lacks.
  return "hides latency with more warps: " + decimal(here, 0) + " % occupancy; the other has " +
         decimal(there.percent, 0) + " %, limited by " + joined(there.limiters(), " and ");
}

std::string wide(const Figures::Moves& fast, const Figures::Moves& slow, const std::string& where) {
  if (slow.mean() == 0 || fast.mean() < kMuch * slow.mean()) return "";
  return "moves more with each access to " + where + ": " + number(fast.mean()) +
         " bytes per thread; the other " + number(slow.mean());
}

std::string wide_global(const Figures& fast, const Figures& slow, int /*sm_count*/) {
  return wide(fast.global_moves(), slow.global_moves(), "global memory");
}

std::string wide_shared(const Figures& fast, const Figures& slow, int /*sm_count*/) {
  return wide(fast.moves("shared_load"), slow.moves("shared_load"), "shared memory");
}

/// Multiply-adds for each word of 4 bytes read from shared memory.
double reuse_of(const Figures& figures) {
  const double bytes = figures.moves("shared_load").bytes;
  return bytes > 0 ? 4 * figures.math() / bytes : 0;
}

std::string reuse(const Figures& fast, const Figures& slow, int /*sm_count*/) {
  const double here = reuse_of(fast);
  const double there = reuse_of(slow);
  if (there == 0 || here < kMuch * there) return "";
  return "uses what it reads from shared memory more often: " + number(here) +
         " multiply-adds for each 4 bytes; the other " + number(there);
}

std::string async_copies(const Figures& fast, const Figures& slow, int /*sm_count*/) {
  const auto copies = [](const Figures& one) {
    double count = 0;
    for (const auto& [name, number] : one.launch().facts) {
      if (name.starts_with("code.async_copy") || name == "code.bulk_copy") count += number;
    }
    return count;
  };
  if (copies(fast) == 0 || copies(slow) > 0) return "";
  return "copies to shared memory while it computes; the other waits for its copies in registers";
}

/// Returns which part of the wavefronts of shared memory conflicts cost; nullopt if not known.
std::optional<double> conflicts_of(const Figures& figures) {
  const auto wavefronts = figures.counter("shared_wavefronts");
  const auto conflicts = figures.counter("shared_bank_conflicts");
  if (!wavefronts || !conflicts) return std::nullopt;
  return *wavefronts > 0 ? *conflicts / *wavefronts : 0;
}

std::string bank_conflicts(const Figures& fast, const Figures& slow, int /*sm_count*/) {
  constexpr double kMany = 0.2;
  const auto here = conflicts_of(fast);
  const auto there = conflicts_of(slow);
  if (!here || !there || *there < kMany || *here * 2 > *there) return "";
  return "has fewer bank conflicts: they cost " + decimal(100 * *here, 0) +
         " % of its passes through shared memory; of the other's " + decimal(100 * *there, 0) +
         " %";
}

std::optional<double> dram_bytes(const Figures& figures) {
  const auto read = figures.counter("dram_read_bytes");
  const auto written = figures.counter("dram_write_bytes");
  return read && written ? std::optional(*read + *written) : std::nullopt;
}

std::string less_traffic(std::optional<double> here, std::optional<double> there,
                         const std::string& where) {
  if (!here || !there || *there < kMuch * *here) return "";
  return "moves less through " + where + ": " + format_bytes(*here) + "; the other " +
         format_bytes(*there);
}

std::string traffic(const Figures& fast, const Figures& slow, int /*sm_count*/) {
  std::string sentence = less_traffic(dram_bytes(fast), dram_bytes(slow), "DRAM");
  if (!sentence.empty()) return sentence;
  return less_traffic(fast.counter("l2_bytes"), slow.counter("l2_bytes"), "the L2 cache");
}

double overhead_of(const Figures& figures) {
  return figures.math() > 0 ? figures.count("instructions") / figures.math() : 0;
}

std::string instructions(const Figures& fast, const Figures& slow, int /*sm_count*/) {
  const double here = overhead_of(fast);
  const double there = overhead_of(slow);
  if (here == 0 || there < kFewer * here) return "";
  return "spends fewer instructions on each multiply-add: " + decimal(here, 2) +
         " in its main loop; the other " + decimal(there, 2);
}

/// The rules, in the order in which docs/why.md explains them.
constexpr Rule kRules[] = {{"spills", spills},
                           {"local memory", local_memory},
                           {"atomics", atomics},
                           {"shared memory", shared_memory},
                           {"blocks", few_blocks},
                           {"occupancy", occupancy_rule},
                           {"wide global accesses", wide_global},
                           {"wide shared accesses", wide_shared},
                           {"reuse in registers", reuse},
                           {"copies", async_copies}};
// The rule that explains the others by itself, those that need counters, and the one that all others
// explain.
constexpr Rule kFirst = {"tensor cores", tensor_cores};
constexpr Rule kCounted[] = {{"bank conflicts", bank_conflicts}, {"traffic", traffic}};
constexpr Rule kLast = {"instructions", instructions};

void single_out(const Figures& fast, const Figures& slow, int sm_count, Why& why) {
  const auto try_rule = [&](const Rule& rule) {
    std::string sentence = rule.sentence(fast, slow, sm_count);
    if (sentence.empty()) return false;
    why.cause = rule.cause;
    why.sentence = std::move(sentence);
    return true;
  };
  if (try_rule(kFirst)) return;
  for (const std::span<const Rule> rules :
       {std::span<const Rule>(kRules), std::span<const Rule>(kCounted)}) {
    const auto found = std::ranges::count_if(rules, try_rule);
    if (found > 1) why.cause = why.sentence = "";
    if (found > 0) return;
  }
  try_rule(kLast);
}

/// Returns the launch that takes most of the time; null if that is not known.
const LaunchResult* main_launch(const Result& result) {
  if (result.launches.size() == 1) return &result.launches.front();
  const LaunchResult* longest = nullptr;
  for (const LaunchResult& launch : result.launches) {
    if (launch.time_ms <= 0) return nullptr;
    if (longest == nullptr || launch.time_ms > longest->time_ms) longest = &launch;
  }
  return longest;
}

/// `shared_load_16_bytes` becomes `16-byte shared loads`.
std::string kind_text(std::string_view kind) {
  std::string text(kind);
  std::ranges::replace(text, '_', ' ');
  constexpr std::string_view kBytes = " bytes";
  if (!text.ends_with(kBytes)) return text;
  text.resize(text.size() - kBytes.size());
  const std::size_t space = text.rfind(' ');
  const std::string what = text.substr(0, space);
  return text.substr(space + 1) + "-byte " + (what.ends_with('y') ? "async copies" : what + "s");
}

/// Lists counts of the main loop (of all code where neither has one) that differ, the most first.
std::vector<std::string> code_differences(const Facts& ours, const Facts& theirs) {
  const std::string loop = std::string(kMainLoopFacts) + "instructions";
  const std::string_view scope =
      ours.contains(loop) && theirs.contains(loop) ? kMainLoopFacts : kCodeFacts;
  Facts all = ours;
  all.insert(theirs.begin(), theirs.end());
  std::vector<std::pair<double, std::string>> found;
  for (const auto& [name, unused] : all) {
    const std::string_view kind =
        std::string_view(name).substr(std::min(scope.size(), name.size()));
    if (!name.starts_with(scope)) continue;
    const double here = fact(ours, name);
    const double there = fact(theirs, name);
    if (here == there) continue;
    found.emplace_back(std::abs(std::log((here + 0.5) / (there + 0.5))),
                       kind_text(kind) + " " + number(here) + ", there " + number(there));
  }
  std::ranges::stable_sort(found, std::greater(), &std::pair<double, std::string>::first);
  std::vector<std::string> texts;
  for (auto& [weight, text] : found) texts.push_back(std::move(text));
  if (!texts.empty()) {
    texts.front().insert(0, scope == kMainLoopFacts ? "in the main loop: " : "in the code: ");
  }
  if (texts.size() > kMostDifferences) texts.resize(kMostDifferences);
  return texts;
}

std::vector<std::string> differences(const LaunchResult& ours, const LaunchResult& theirs) {
  std::vector<std::string> texts;
  const auto add = [&](const char* what, double here, double there) {
    if (here != there) texts.push_back(what + number(here) + ", there " + number(there));
  };
  add("threads of a block ", static_cast<double>(ours.shape.threads_per_block()),
      static_cast<double>(theirs.shape.threads_per_block()));
  add("blocks ", Figures(ours).blocks(), Figures(theirs).blocks());
  add("registers ", ours.resources.registers_per_thread, theirs.resources.registers_per_thread);
  add("bytes spilled ", Figures(ours).spilled(), Figures(theirs).spilled());
  add("bytes of shared memory ", static_cast<double>(ours.shared_bytes()),
      static_cast<double>(theirs.shared_bytes()));
  add("% occupancy ", std::round(ours.occupancy.percent), std::round(theirs.occupancy.percent));
  std::ranges::move(code_differences(ours.facts, theirs.facts), std::back_inserter(texts));
  return texts;
}

/// Returns the bytes that all threads ask global memory for if each executes every instruction
/// once; nullopt where a launch has loops, TMA copies or code that is not known.
std::optional<double> requested_bytes(const Result& result) {
  double bytes = 0;
  for (const LaunchResult& launch : result.launches) {
    const Figures figures(launch);
    const Facts& facts = launch.facts;
    const bool is_known = figures.known() && fact(facts, "code.loops") == 0 &&
                          fact(facts, "code.bulk_copy") == 0 && fact(facts, "code.call") == 0 &&
                          launch.shape.times == 1;
    if (!is_known) return std::nullopt;
    bytes += figures.global_moves().bytes * figures.blocks() *
             static_cast<double>(launch.shape.threads_per_block());
  }
  return bytes;
}

/// "1.00x the bytes that its space declares", after a comma; empty where it declares none.
std::string of_declared(const Result& result, double bytes) {
  const double declared = metric(result, "bytes");
  if (!(declared > 0)) return "";
  return ", " + times(bytes / declared) + " the bytes that its space declares";
}

std::string bytes_text(const Result& result) {
  const std::optional<double> bytes = requested_bytes(result);
  if (!bytes || *bytes == 0) return "";
  return "its threads ask global memory for " + format_bytes(*bytes) + " at most" +
         of_declared(result, *bytes);
}

/// Returns how many times as long the only launch took when it was counted as when it was timed,
/// which the shares of its time that units were at work are to be multiplied by: beginning and
/// ending to count takes tens of microseconds of it. Nullopt where that is not known.
std::optional<double> counted_longer(const Result& result) {
  if (result.launches.size() != 1 || result.launches.front().shape.times != 1) return std::nullopt;
  const std::optional<double> counted_ns = Figures(result.launches.front()).counter("duration_ns");
  if (!counted_ns || !(result.measurement.median_ms > 0)) return std::nullopt;
  return std::max(1.0, *counted_ns * 1e-6 / result.measurement.median_ms);
}

/// The unit that counters show most at work in the main launch; empty where they were not read.
/// Says nothing of latency where it is not known how much of the time is that of counting.
std::string bound_text(const Result& result) {
  constexpr std::array<std::pair<const char*, const char*>, 5> kUnits = {
      {{"dram_percent", "DRAM"},
       {"l2_percent", "the L2 cache"},
       {"l1_percent", "L1 and shared memory"},
       {"issue_percent", "issuing instructions"},
       {"tensor_percent", "tensor cores"}}};
  constexpr std::array<std::pair<const char*, const char*>, 6> kWaits = {
      {{"stalled_for_global_memory_warps", "for global memory"},
       {"stalled_for_shared_memory_warps", "for shared memory"},
       {"stalled_at_barrier_warps", "at barriers"},
       {"stalled_for_memory_queue_warps", "for the queue of shared memory"},
       {"stalled_for_global_queue_warps", "for the queue of global memory"},
       {"stalled_for_math_pipe_warps", "for arithmetic units"}}};
  constexpr double kBusy_percent = 60;
  constexpr double kIdle_percent = 40;
  const LaunchResult* launch = main_launch(result);
  if (launch == nullptr) return "";
  const Figures figures(*launch);
  const auto most = [&](const auto& names) {
    std::pair<double, const char*> found = {-1, ""};
    for (const auto& [name, words] : names) {
      const double value = figures.counter(name).value_or(-1);
      if (value > found.first) found = {value, words};
    }
    return found;
  };
  const std::optional<double> longer = counted_longer(result);
  const auto [share, unit] = most(kUnits);
  const double percent = std::min(100.0, share * longer.value_or(1));
  if (percent >= kBusy_percent) {
    return std::string("bound by ") + unit + ": " + decimal(percent, 0) + " % of its peak";
  }
  const auto [warps, wait] = most(kWaits);
  if (!longer || percent < 0 || percent > kIdle_percent || warps < 0) return "";
  return "bound by latency: no unit is above " + decimal(percent, 0) + " % (" + unit +
         "); its warps wait mostly " + wait;
}

std::string dram_text(const Result& result) {
  const std::optional<double> bytes = measured_dram_bytes(result);
  return bytes ? format_bytes(*bytes) + " pass through DRAM" + of_declared(result, *bytes) : "";
}

/// Returns the sentences about the best by itself, compared with nothing.
std::vector<std::string> of_best_texts(const Result& best) {
  std::vector<std::string> texts = {bytes_text(best), dram_text(best), bound_text(best)};
  std::erase(texts, "");
  return texts;
}

bool has_code_facts(const Result& result) {
  const LaunchResult* launch = main_launch(result);
  return launch != nullptr && Figures(*launch).known();
}

/// Why there is nothing to say of a problem; empty if there may be.
std::string silence(const db::ProblemResults& section) {
  if (section.best.empty()) return "nothing was timed";
  const Result& best = section.best.front().result;
  if (section.device.kind == DeviceKind::cpu)
    return "the CPU device compiles no machine code of a GPU";
  if (best.stage != Stage::final) return "it was screened only: no finals compared it with others";
  if (best.launches.size() > 1 && main_launch(best) == nullptr) {
    return "it has several launches whose times are not known";
  }
  if (best.launches.empty()) return "nothing is stored of its launches";
  if (!has_code_facts(best)) {
    return "nothing is stored of its machine code: an earlier release stored it, or the device's "
           "encoding is not known";
  }
  return "";
}

std::string beats_text(const WhyBeats& beats) {
  std::string text = "    " + times(beats.factor) + " over " + beats.other + ", " +
                     beats.slower->result.kernel + " " + key(beats.slower->result.configuration) +
                     "\n";
  text += "      " +
          (beats.why.sentence.empty() ? std::string("no single figure tells why")
                                      : beats.why.cause + ": it " + beats.why.sentence) +
          "\n";
  if (!beats.why.differences.empty()) {
    text += "      " + joined(beats.why.differences, "; ") + "\n";
  }
  return text;
}

}  // namespace

Why why_faster(const Result& faster, const Result& slower, int sm_count) {
  Why why;
  const LaunchResult* const ours = main_launch(faster);
  const LaunchResult* const theirs = main_launch(slower);
  if (ours == nullptr || theirs == nullptr) return why;
  const Figures fast(*ours);
  const Figures slow(*theirs);
  if (!fast.known() || !slow.known()) return why;
  why.differences = differences(*ours, *theirs);
  single_out(fast, slow, sm_count, why);
  return why;
}

std::vector<WhyBeats> why_best_beats(const ReportSource& source,
                                     const db::ProblemResults& section) {
  std::vector<WhyBeats> beaten;
  if (!silence(section).empty()) return beaten;
  const StoredResult& best = section.best.front();
  const auto add = [&](const char* other, const StoredResult& slower) {
    const double factor = slower.result.measurement.median_ms / best.result.measurement.median_ms;
    const bool is_comparable = slower.result.stage == Stage::final &&
                               slower.run_id == best.run_id && !slower.result.tied && factor > 1;
    if (!is_comparable || !has_code_facts(slower.result)) return false;
    beaten.push_back({.other = other,
                      .slower = &slower,
                      .factor = factor,
                      .why = why_faster(best.result, slower.result, section.device.sm_count)});
    return true;
  };
  const StoredResult* standard = default_of(source, section, best.result.kernel);
  if (standard != nullptr) add("its default", *standard);
  for (const StoredResult* other : by_time(section)) {
    if (other != standard && add("the runner-up", *other)) break;
  }
  return beaten;
}

std::string why_text(const ReportSource& source, const Objective& objective) {
  std::string all;
  for (const db::ProblemResults& section : source.sections) {
    std::string text =
        source.space + "  " + key(section.problem) + "  on " + device_label(section.device) + "\n";
    if (!section.best.empty()) {
      const Result& best = section.best.front().result;
      text += "  best: " + best.kernel + " " + key(best.configuration) + "  " +
              format_time(best.measurement.median_ms) + "\n";
      for (const std::string& line : of_best_texts(best)) text += "    " + line + "\n";
    }
    const std::string why_not = silence(section);
    const std::vector<WhyBeats> beaten = why_best_beats(source, section);
    if (beaten.empty()) {
      text += "    " +
              (why_not.empty() ? "none of its finals is slower with certainty, or compared with it"
                               : why_not) +
              "\n";
    }
    for (const WhyBeats& one : beaten) text += beats_text(one);
    all += wrapped(text) + energy_text(of_best_run(section), objective);
  }
  return all;
}

nlohmann::ordered_json why_json(const ReportSource& source, const db::ProblemResults& section) {
  const auto form = [](const WhyBeats& one) -> db::Json {
    const Result& slower = one.slower->result;
    return {{"other", one.other},
            {"kernel", slower.kernel},
            {"configuration", db::bindings_json(slower.configuration)},
            {"factor", rounded_json(one.factor)},
            {"cause", one.why.cause},
            {"sentence", one.why.sentence},
            {"differences", one.why.differences}};
  };
  std::vector<std::string> of_best;
  if (!section.best.empty()) of_best = of_best_texts(section.best.front().result);
  return {{"silent_because", silence(section)},
          {"of_best", of_best},
          {"beats", db::list_json(why_best_beats(source, section), form)}};
}

std::string why_document(const ReportSource& source, const Objective& objective) {
  db::Json problems = db::Json::array();
  for (const db::ProblemResults& section : source.sections) {
    problems.push_back({{"problem", db::bindings_json(section.problem)},
                        {"device", section.device.name},
                        {"best", nullptr}});
    problems.back().update(why_json(source, section));
    if (section.best.empty()) continue;
    const Result& best = section.best.front().result;
    problems.back()["bound"] = bound_text(best);
    problems.back()["energy"] = energy_json(of_best_run(section), objective);
    problems.back()["best"] = {{"kernel", best.kernel},
                               {"configuration", db::bindings_json(best.configuration)},
                               {"launches", db::list_json(best.launches, db::launch_json)}};
  }
  return db::document_text("smemtune-why", 1,
                           {{"space", source.space}, {"problems", std::move(problems)}});
}

}  // namespace smemtune
