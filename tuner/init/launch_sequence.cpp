#include "tuner/init/launch_sequence.h"

#include "tuner/core/text.h"
#include "tuner/init/copies.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/space_names.h"
#include "tuner/source/cpp_tokens.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace smemtune {
namespace {

constexpr std::size_t kMostLaunches = 16;

/// Returns true if a text uses a name, by itself or by the values of its variables.
bool uses(const std::string& text, const std::string& name, const LaunchSite& site) {
  const HostFrame& frame = site.frames.front();
  const auto value = [&](const std::string& word) {
    // A list's values are tried one after the other, in place of each other.
    return frame.choices.contains(word) ? std::vector<std::string>()
                                        : value_among(frame.variables, word);
  };
  return names_behind({text}, value).contains(name);
}

/// Returns an argument after the host has swapped two things: `a[next]` for `a[old]`.
std::string swapped_text(const std::string& text, const std::pair<std::string, std::string>& swap) {
  if (text == swap.first) return swap.second;
  if (text == swap.second) return swap.first;
  if (!is_name(swap.first) || !is_name(swap.second)) return text;
  return substituted(text, {{swap.first, swap.second}, {swap.second, swap.first}});
}

/// Returns true if a launch is passed something that a loop swaps with something else.
bool swaps_arguments(const CountingLoop& loop, const LaunchSite& site) {
  return std::ranges::any_of(loop.swaps, [&](const auto& swap) {
    return std::ranges::any_of(
        site.arguments, [&](const std::string& text) { return swapped_text(text, swap) != text; });
  });
}

bool is_in(const LaunchSite& site, const CountingLoop& loop) {
  return std::ranges::find(site.loops, loop.place, &CountingLoop::place) != site.loops.end();
}

bool falls(const CountingLoop& loop) { return loop.operation == '-' || loop.operation == '/'; }

/// Returns the number of turns of a loop that doubles or halves its counter; empty if it cannot be
/// said.
std::string doublings_of(const CountingLoop& loop) {
  if (loop.step != "2") return "";
  const std::string first = in_parentheses(loop.first);
  const std::string bound = in_parentheses(loop.bound);
  if (falls(loop)) {
    const bool to_zero = (loop.bound == "0" && (loop.compares == ">" || loop.compares == "!=")) ||
                         (loop.bound == "1" && loop.compares == ">=");
    const bool to_one = (loop.bound == "1" && (loop.compares == ">" || loop.compares == "!=")) ||
                        (loop.bound == "2" && loop.compares == ">=");
    if (to_zero) return "log2(" + loop.first + ") + 1";
    return to_one ? "log2(" + loop.first + ")" : "";
  }
  const std::string ratio = loop.first == "1" ? bound : bound + " / " + first;
  if (loop.compares == "<=") return "log2(" + ratio + ") + 1";
  const std::string times = loop.first == "1" ? bound : "ceil_div(" + bound + ", " + first + ")";
  return loop.compares == "<" ? "log2(2 * " + times + " - 1)" : "";
}

/// Returns the number of turns of a loop; empty if it cannot be said.
std::string times_of(const CountingLoop& loop) {
  if (loop.counter.empty()) return "";
  if (loop.operation == '*' || loop.operation == '/') return doublings_of(loop);
  const std::string low = in_parentheses(falls(loop) ? loop.bound : loop.first);
  const std::string high = in_parentheses(falls(loop) ? loop.first : loop.bound);
  const std::string length = low == "0" ? without_parentheses(high) : high + " - " + low;
  if (loop.compares == "<=" || loop.compares == ">=") {
    return loop.step == "1" ? length + " + 1"
                            : "(" + length + ") / " + in_parentheses(loop.step) + " + 1";
  }
  return loop.step == "1" ? length : "ceil_div(" + length + ", " + loop.step + ")";
}

/// Returns the value of the host's counter after `counter` turns of the loop.
std::string value_of(const CountingLoop& loop, const std::string& counter) {
  if (loop.operation == '*' || loop.operation == '/') {
    const bool is_power = loop.operation == '*' && loop.first == "1";
    const std::string factor = "pow2(" + counter + ")";
    return is_power ? factor
                    : "(" + in_parentheses(loop.first) + " " + loop.operation + " " + factor + ")";
  }
  const std::string steps =
      loop.step == "1" ? counter : counter + " * " + in_parentheses(loop.step);
  if (falls(loop)) return "(" + loop.first + " - " + steps + ")";
  return loop.first == "0" ? (steps == counter ? counter : "(" + steps + ")")
                           : "(" + in_parentheses(loop.first) + " + " + steps + ")";
}

class SequenceReader {
 public:
  SequenceReader(const KernelFile& file, const std::string& kernel)
      : file_(file), wanted_(last_name(kernel)) {
    const auto first = std::ranges::find(file.launches, last_name(kernel), &LaunchSite::kernel);
    if (first == file.launches.end()) return;
    auto begin = first;
    while (begin->follows && begin != file.launches.begin()) --begin;
    auto end = first + 1;
    while (end != file.launches.end() && end->follows) ++end;
    for (auto site = begin; site != end; ++site) {
      for (const CountingLoop& loop : site->loops) {
        const bool is_innermost = loop == site->loops.back();
        const bool is_conditional = is_innermost && !site->conditions.empty();
        const bool is_other = is_copy(site->kernel) ? feeds_back(*site, loop)
                                                    : is_used(loop, *site) || is_conditional;
        if (is_other) used_.insert(loop.place);
      }
    }
    // Copies before and behind all kernels give them their inputs and take their results.
    while (begin != first && is_apart(*begin)) ++begin;
    while (end != first + 1 && is_apart(*(end - 1))) --end;
    for (auto site = begin; site != end && sequence_.sites.size() < kMostLaunches; ++site) {
      add(*site);
    }
    // A copy that begins a repetition of these launches is behind them without it.
    while (sequence_.sites.size() > 1 && is_apart(sequence_.sites.back())) {
      sequence_.sites.pop_back();
    }
  }

  std::optional<LaunchSequence> read() {
    if (sequence_.loops.empty()) leave_out_unrelated();
    std::set<std::string> kernels;
    for (const LaunchSite& site : sequence_.sites) {
      if (!is_copy(site.kernel)) kernels.insert(site.kernel);
    }
    if (kernels.size() < 2 && sequence_.loops.empty()) return std::nullopt;
    if (sequence_.loops.empty() && compares_kernels()) return std::nullopt;
    for (LaunchSite& site : sequence_.sites) add_arguments(site);
    find_swaps();
    make_launch();
    for (LaunchSite& site : sequence_.sites) {
      site.arguments = sequence_.launch.arguments;
      share_variables(site);
    }
    return std::move(sequence_);
  }

 private:
  /// Returns true if a loop's turns begin with what a copy takes from an argument of a kernel in
  /// it.
  bool feeds_back(const LaunchSite& copy, const CountingLoop& loop) const {
    return std::ranges::any_of(file_.launches, [&](const LaunchSite& site) {
      const std::vector<std::string>& passed = site.arguments;
      return !is_copy(site.kernel) && is_in(site, loop) &&
             std::ranges::find(passed, copy.arguments[1]) != passed.end();
    });
  }

  /// Returns true for a copy that no loop repeats.
  bool is_apart(const LaunchSite& site) const {
    return is_copy(site.kernel) && std::ranges::none_of(site.loops, [&](const CountingLoop& loop) {
             return used_.contains(loop.place);
           });
  }

  /// Adds a launch, unless it repeats one before it, as for a measurement. A copy does if the
  /// launch before it does.
  void add(LaunchSite site) {
    if (launched_kernel(file_, site) == nullptr) return;
    const std::optional<CountingLoop> loop = loop_around(site);
    const bool is_known = std::ranges::any_of(known_, [&](const auto& known) {
      return known.first == loop && known.second.kernel == site.kernel &&
             known.second.arguments == site.arguments && known.second.grid == site.grid;
    });
    was_again_ = is_known && (was_again_ || !is_copy(site.kernel));
    if (was_again_) return;
    known_.emplace_back(loop, site);
    if (loop) enter(*loop);
    for (const auto& [counter, value] : counters_) replace(site, counter, value);
    const auto nest = loop ? nests_.find(loop->place) : nests_.end();
    if (nest != nests_.end() && !nest->second.holds.empty() && !site.grid.empty()) {
      site.grid[0] = nest->second.holds + " ? " + in_parentheses(site.grid[0]) + " : 0";
    }
    sequence_.sites.push_back(std::move(site));
    if (loop) sequence_.loops.back().end = sequence_.sites.size();
  }

  /// Returns the innermost loop that the launch, or another launch in the loop, uses. Where another
  /// such loop is around it, or a condition in it, nothing tells how often it is launched.
  std::optional<CountingLoop> loop_around(const LaunchSite& site) {
    std::optional<CountingLoop> loop;
    std::string around;
    std::vector<CountingLoop> nest;
    for (const CountingLoop& one : site.loops) {
      if (!used_.contains(one.place)) continue;
      nest.push_back(one);
      loop = one;
      around += (around.empty() ? "" : " around ") + one.header;
    }
    for (const auto& [line, condition] : site.conditions) around += ", if (" + condition + ")";
    const bool is_only =
        sequence_.loops.empty() || (!nest.empty() && nests_.contains(nest.back().place));
    const bool is_nest =
        is_only && nest.size() == 2 && site.conditions.empty() && add_nest(nest[0], nest[1], site);
    if (loop && around != loop->header) {
      loop->header = around;
      if (!is_nest) loop->counter.clear();
    }
    return loop;
  }

  /// Two loops of which the inner one has all launches, as one loop with as many turns for each
  /// turn of the outer one as the inner one has at most.
  struct Nest {
    CountingLoop outer;
    std::string most;        ///< Turns of the inner loop.
    std::string holds = {};  ///< True in a turn that the inner loop has; empty if it has them all.
  };

  /// Returns false if the two loops cannot be said as one.
  bool add_nest(const CountingLoop& outer, const CountingLoop& inner, const LaunchSite& site) {
    const bool is_filled = std::ranges::all_of(file_.launches, [&](const LaunchSite& one) {
      return !is_in(one, outer) || is_in(one, inner);
    });
    const std::string turns = times_of(outer);
    const std::string inner_turns = times_of(inner);
    if (!is_filled || turns.empty() || inner_turns.empty() || !outer.swaps.empty() ||
        !inner.swaps.empty()) {
      return false;
    }
    const auto in_turn = [&](const std::string& turn) {
      return in_parentheses(substituted(inner_turns, {{outer.counter, value_of(outer, turn)}}));
    };
    Nest nest = {.outer = outer, .most = in_parentheses(inner_turns)};
    if (uses(inner_turns, outer.counter, site)) {
      // It may use the counter only through other variables.
      if (substituted(inner_turns, {{outer.counter, "0"}}) == inner_turns) return false;
      // Its number of turns rises or falls from one turn of the outer loop to the next.
      const std::string last = in_turn("(" + turns + " - 1)");
      const bool begins_with_one = constant_value(in_turn("0")).value_or(2) <= 1;
      nest.most = begins_with_one ? last : "max(" + in_turn("0") + ", " + last + ")";
      nest.holds = "turn % " + nest.most + " < " + in_turn("(turn / " + nest.most + ")");
    }
    nests_.insert_or_assign(inner.place, nest);
    return true;
  }

  /// Goes on in the turns of two loops.
  void enter_nest(const Nest& nest, const CountingLoop& loop) {
    const std::string before = value_of(nest.outer, "(turn / " + nest.most + ")");
    CountingLoop inner = loop;
    for (std::string* const text : {&inner.first, &inner.bound, &inner.step}) {
      *text = substituted(*text, {{nest.outer.counter, before}});
    }
    sequence_.loops.push_back({.counter = "turn",
                               .times = in_parentheses(times_of(nest.outer)) + " * " + nest.most,
                               .header = loop.header,
                               .line = loop.line,
                               .first = sequence_.sites.size(),
                               .end = sequence_.sites.size()});
    counters_[nest.outer.counter] = before;
    counters_[loop.counter] = value_of(inner, "(turn % " + nest.most + ")");
  }

  /// Leaves out launches that share no buffer with the wanted kernel, not even through other
  /// launches: they do other work.
  void leave_out_unrelated() {
    std::set<std::string> buffers;
    std::vector<bool> belongs(sequence_.sites.size());
    for (bool has_grown = true; has_grown;) {
      has_grown = false;
      for (std::size_t i = 0; i < belongs.size(); ++i) {
        const std::set<std::string> its = buffers_of(sequence_.sites[i]);
        const bool shares =
            last_name(sequence_.sites[i].kernel) == wanted_ ||
            std::ranges::any_of(its, [&](const auto& one) { return buffers.contains(one); });
        if (belongs[i] || !shares) continue;
        belongs[i] = has_grown = true;
        buffers.insert(its.begin(), its.end());
      }
    }
    std::size_t place = 0;
    std::erase_if(sequence_.sites, [&](const LaunchSite&) { return !belongs[place++]; });
  }

  /// Returns the buffers by the host's names.
  std::set<std::string> buffers_of(const LaunchSite& site) const {
    const std::vector<KernelParameter>& parameters = launched_kernel(file_, site)->parameters;
    std::set<std::string> buffers;
    for (std::size_t i = 0; i < std::min(parameters.size(), site.arguments.size()); ++i) {
      if (parameters[i].pointers > 0) buffers.insert(site.arguments[i]);
    }
    return buffers;
  }

  /// Returns true if the later of two launches writes anew everything that the earlier one has
  /// written, which means that the host tries one kernel after the other.
  bool compares_kernels() const {
    std::vector<LaunchSite> sites = sequence_.sites;
    std::erase_if(sites, [](const LaunchSite& site) { return is_copy(site.kernel); });
    for (std::size_t i = 0; i + 1 < sites.size(); ++i) {
      const LaunchSite& next = sites[i + 1];
      if (passes_the_same(file_, sites[i], next) && sites[i].kernel != next.kernel &&
          writes_only(next) && writes_only(sites[i])) {
        return true;
      }
    }
    return false;
  }

  /// Returns true if a launch reads nothing that it writes.
  bool writes_only(const LaunchSite& site) const {
    return std::ranges::all_of(launched_kernel(file_, site)->parameters, [](const auto& parameter) {
      return !parameter.may_be_written() || parameter.access == Access::written;
    });
  }

  void enter(const CountingLoop& loop) {
    if (loop == current_ && !sequence_.loops.empty() &&
        sequence_.loops.back().end == sequence_.sites.size()) {
      return;
    }
    current_ = loop;
    const auto nest = nests_.find(loop.place);
    if (nest != nests_.end() && sequence_.loops.empty()) return enter_nest(nest->second, loop);
    const bool counts_alike =
        !loop.counter.empty() && loop.first == "0" && loop.step == "1" && loop.operation == '+';
    const std::string number =
        sequence_.loops.empty() ? "" : "_" + std::to_string(sequence_.loops.size() + 1);
    const bool is_free = std::ranges::none_of(
        sequence_.loops, [&](const SequenceLoop& other) { return other.counter == loop.counter; });
    const std::string counter = counts_alike && is_free ? loop.counter : "turn" + number;
    sequence_.loops.push_back({.counter = counter,
                               .times = times_of(loop),
                               .header = loop.header,
                               .line = loop.line,
                               .first = sequence_.sites.size(),
                               .end = sequence_.sites.size(),
                               .swaps = loop.swaps});
    if (!loop.counter.empty()) counters_[loop.counter] = value_of(loop, counter);
  }

  /// Replaces the host's counter, and variables that are made of it, in the texts of a launch.
  static void replace(LaunchSite& site, const std::string& counter, const std::string& value) {
    constexpr int kMostSteps = 8;
    std::map<std::string, std::string>& variables = site.frames.front().variables;
    variables.erase(counter);
    Terms terms = {{counter, value}};
    for (int step = 0; step < kMostSteps && !terms.empty(); ++step) {
      Terms next;
      const auto change = [&](std::string& text) {
        const std::string before = text;
        text = substituted(text, terms);
        return text != before;
      };
      std::ranges::for_each(site.arguments, change);
      std::ranges::for_each(site.grid, change);
      std::ranges::for_each(site.block, change);
      change(site.shared_bytes);
      for (auto& [name, text] : variables) {
        if (change(text)) next.emplace_back(name, in_parentheses(text));
      }
      for (const auto& [name, text] : next) variables.erase(name);
      terms = std::move(next);
    }
  }

  /// Adds a launch's arguments; arguments that are passed by the same text are the same.
  void add_arguments(const LaunchSite& site) {
    const KernelFunction& kernel = *launched_kernel(file_, site);
    std::vector<std::string>& passed = sequence_.arguments.emplace_back();
    const std::size_t known_before = sequence_.whole.parameters.size();
    for (std::size_t i = 0; i < std::min(kernel.parameters.size(), site.arguments.size()); ++i) {
      const std::string& text = site.arguments[i];
      const KernelParameter& parameter = kernel.parameters[i];
      const auto [known, is_new] = places_.emplace(text, sequence_.whole.parameters.size());
      if (is_new) {
        const KernelParameter& same = as_of_kernel(text, parameter);
        KernelParameter own = parameter;
        own.name = free_name(same.name);
        own.type = same.type;
        sequence_.whole.parameters.push_back(own);
        sequence_.launch.arguments.push_back(text);
      } else {
        KernelParameter& all = sequence_.whole.parameters[known->second];
        // A launch that is passed a buffer twice may read what it has not written yet.
        const bool is_twice = known->second >= known_before;
        const bool reads = parameter.is_const || parameter.access != Access::written;
        if (is_twice && reads && all.access == Access::written) all.access = Access::both;
        merge(all, parameter);
      }
      passed.push_back(sequence_.whole.parameters[known->second].name);
    }
  }

  /// Returns the parameter that the first kernel has for such an argument: a copy takes any
  /// pointer.
  const KernelParameter& as_of_kernel(const std::string& text, const KernelParameter& own) const {
    for (const LaunchSite& site : sequence_.sites) {
      if (is_copy(site.kernel)) continue;
      const std::vector<KernelParameter>& all = launched_kernel(file_, site)->parameters;
      const auto number = static_cast<std::size_t>(std::ranges::find(site.arguments, text) -
                                                   site.arguments.begin());
      if (number < std::min(all.size(), site.arguments.size())) return all[number];
    }
    return own;
  }

  /// Finds the arguments among the things that the host swaps; the kernel then reads and writes
  /// both.
  void find_swaps() {
    for (SequenceLoop& loop : sequence_.loops) {
      std::vector<std::pair<std::string, std::string>> found;
      std::set<std::size_t> known;
      for (const auto& swap : loop.swaps) {
        for (const auto& [text, place] : places_) {
          const auto other = places_.find(swapped_text(text, swap));
          if (other ==
              places_.end()) {  // No launch has the other one, so that a space has no name.
            loop.times.clear();
            loop.header += ", which swaps " + swap.first + " and " + swap.second;
          }
          if (other == places_.end() || other->second == place) continue;
          const auto [first, second] = std::minmax(place, other->second);
          KernelParameter& one = sequence_.whole.parameters[first];
          KernelParameter& two = sequence_.whole.parameters[second];
          if (one.pointers != 1 || two.pointers != 1 || known.contains(place)) continue;
          known.insert({place, other->second});
          for (KernelParameter* const swapped : {&one, &two}) {
            swapped->is_const = false;
            swapped->access = Access::both;
          }
          found.emplace_back(one.name, two.name);
        }
      }
      loop.swaps = std::move(found);
    }
  }

  std::string free_name(const std::string& wanted) const {
    std::string name = wanted;
    for (int n = 2; std::ranges::find(sequence_.whole.parameters, name, &KernelParameter::name) !=
                    sequence_.whole.parameters.end();
         ++n) {
      name = wanted + "_" + std::to_string(n);
    }
    return name;
  }

  /// Merges the uses of a parameter by two launches, one after the other.
  static void merge(KernelParameter& all, const KernelParameter& next) {
    all.leaves_elements = all.leaves_elements || next.leaves_elements;
    all.indexes = all.indexes || next.indexes;
    all.counts = all.counts || next.counts;
    const bool reads = next.is_const || next.access == Access::read;
    if (all.is_const || all.access == Access::read) {
      all.is_const = all.is_const && next.is_const;
      if (!reads) all.access = next.access == Access::written ? Access::both : next.access;
    } else if (all.access == Access::unknown && !reads) {
      all.access = next.access;
    }
  }

  void make_launch() {
    KernelFunction& whole = sequence_.whole;
    const KernelFunction& first = *launched_kernel(file_, sequence_.sites.front());
    whole.name = "sequence of " + last_name(first.name);  // No kernel has such a name.
    whole.line = first.line;
    for (const LaunchSite& site : sequence_.sites) {
      const KernelFunction& kernel = *launched_kernel(file_, site);
      for (const TemplateParameter& parameter : kernel.template_parameters) {
        const auto known =
            std::ranges::find(whole.template_parameters, parameter.name, &TemplateParameter::name);
        if (known != whole.template_parameters.end()) continue;
        whole.template_parameters.push_back(parameter);
        const auto number =
            static_cast<std::size_t>(&parameter - kernel.template_parameters.data());
        sequence_.launch.template_arguments.push_back(
            number < site.template_arguments.size() ? site.template_arguments[number] : "");
      }
      whole.add_uses_of(kernel);
      whole.shared.insert(whole.shared.end(), kernel.shared.begin(), kernel.shared.end());
      for (std::size_t i = 0; i < whole.extents.size(); ++i) {
        if (whole.extents[i].empty()) whole.extents[i] = kernel.extents[i];
      }
    }
    LaunchSite& launch = sequence_.launch;
    launch.kernel = whole.name;
    launch.line = sequence_.sites.front().line;
    launch.frames = sequence_.sites.front().frames;
    for (const LaunchSite& site : sequence_.sites) {
      launch.loops.insert(launch.loops.end(), site.loops.begin(), site.loops.end());
    }
    share_variables(launch);
    name_indexed_arrays();
  }

  /// Sets KernelParameter::index_of and bounds_of of the whole kernel, whose parameters have names
  /// of their own.
  void name_indexed_arrays() {
    for (KernelParameter& parameter : sequence_.whole.parameters) {
      parameter.index_of.clear();
      parameter.bounds_of.clear();
    }
    for (std::size_t number = 0; number < sequence_.sites.size(); ++number) {
      const KernelFunction& kernel = *launched_kernel(file_, sequence_.sites[number]);
      const std::vector<std::string>& names = sequence_.arguments[number];
      const auto renamed = [&](const std::string& name) {
        const auto found = std::ranges::find(kernel.parameters, name, &KernelParameter::name);
        const auto place = static_cast<std::size_t>(found - kernel.parameters.begin());
        return place < names.size() ? names[place] : std::string();
      };
      for (const KernelParameter& own : kernel.parameters) {
        const auto all = std::ranges::find(sequence_.whole.parameters, renamed(own.name),
                                           &KernelParameter::name);
        if (all == sequence_.whole.parameters.end()) continue;
        for (const std::string& name : own.index_of) all->index_of.insert(renamed(name));
        for (const std::string& name : own.bounds_of) all->bounds_of.insert(renamed(name));
      }
    }
  }

  /// Adds the variables of all launches: the texts of one may name what only another has as an
  /// argument.
  void share_variables(LaunchSite& site) const {
    for (const LaunchSite& other : sequence_.sites) {
      for (std::size_t i = 0; i < std::min(site.frames.size(), other.frames.size()); ++i) {
        site.frames[i].variables.insert(other.frames[i].variables.begin(),
                                        other.frames[i].variables.end());
        site.frames[i].allocated.insert(other.frames[i].allocated.begin(),
                                        other.frames[i].allocated.end());
      }
    }
  }

  const KernelFile& file_;
  std::string wanted_;  ///< Name of the kernel that was asked for.
  LaunchSequence sequence_;
  std::vector<std::pair<std::optional<CountingLoop>, LaunchSite>> known_;
  std::set<std::size_t> used_;  ///< CountingLoop::place of the loops that matter.
  /// Counters of the host, and what they are in the space.
  std::map<std::string, std::string> counters_;
  std::optional<CountingLoop> current_;
  bool was_again_ = false;             ///< True if the previous launch repeats one before it.
  std::map<std::size_t, Nest> nests_;  ///< Keyed by CountingLoop::place of the inner loop.
  std::map<std::string, std::size_t> places_;  ///< Places of arguments, by the text that is passed.
};

}  // namespace

bool is_used(const CountingLoop& loop, const LaunchSite& site) {
  if (loop.counter.empty() || swaps_arguments(loop, site)) return true;
  return std::ranges::any_of(
      site.texts(), [&](const std::string& text) { return uses(text, loop.counter, site); });
}

std::optional<LaunchSequence> sequence_of(const KernelFile& file, const std::string& kernel) {
  return SequenceReader(file, kernel).read();
}

bool passes_the_same(const KernelFile& file, const LaunchSite& one, const LaunchSite& other) {
  const std::vector<KernelParameter>& parameters = launched_kernel(file, one)->parameters;
  if (one.arguments.size() != other.arguments.size()) return false;
  for (std::size_t i = 0; i < std::min(parameters.size(), one.arguments.size()); ++i) {
    if (!parameters[i].may_be_written() && one.arguments[i] != other.arguments[i]) return false;
  }
  return true;
}

}  // namespace smemtune
