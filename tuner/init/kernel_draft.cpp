#include "tuner/init/kernel_draft.h"

#include "tuner/config/space_words.h"
#include "tuner/core/text.h"
#include "tuner/init/argument_draft.h"
#include "tuner/init/launch_shape.h"
#include "tuner/init/names.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

/// Adds a constraint to a list that does not have it yet.
void add_once(const Json& constraint, Json& constraints) {
  if (std::ranges::find(constraints, constraint) == constraints.end()) {
    constraints.push_back(constraint);
  }
}

/// Drafts one kernel of a space.
class Drafter {
 public:
  Drafter(const FlatSource& source, const KernelFile& file, const DraftRequest& request,
          const SpaceNames& names, const KernelFunction& kernel, const LaunchSite* site)
      : of_{source, file, names, kernel, site}, request_(request) {}

  KernelDraft draft() {
    add_names();
    const Json launch = draft_launch();
    Json json = beginning(last_name(of_.kernel.name));
    json["entry"] = launch["entry"];
    add_parameters(json);
    json["block"] = launch["block"];
    json["grid"] = launch["grid"];
    if (launch.contains("cooperative")) json["cooperative"] = true;
    Json constraints = constraints_of(launch["block"]);
    if (!constraints.empty()) {
      json["description"] = json["description"].get<std::string>() + " Constraints as asserted.";
    }
    for (std::size_t i = 0; i < launch["grid"].size(); ++i) {
      // A kernel that compares its index may be given a grid that covers the rest.
      const bool is_bare = i >= of_.kernel.extents.size() || of_.kernel.extents[i].empty();
      if (is_bare) add_remainder(launch["grid"][i], constraints);
    }
    if (!constraints.empty()) json["constraints"] = constraints;
    add_dynamic_shared(json);
    return {.kernel = json, .launches = {launch_text(launch["block"], launch["grid"])}};
  }

  /// For one of several launches: continues with the parameters that the previous one has chosen.
  void go_on_from(const Drafter& before) { chosen_ = before.chosen_; }

  /// Adds parameters for the names in the source.
  void add_names() { smemtune::add_names(of_, chosen_); }

  /// Drafts `entry`, `block` and `grid`, and the parameters that they take.
  Json draft_launch() {
    add_template_parameters(of_, chosen_);
    const Json block = draft_block(of_, chosen_);
    const Json grid = draft_grid(of_, block, chosen_);
    describe();
    Json launch = {{"entry", entry()}, {"block", block}, {"grid", grid}};
    const bool waits =
        of_.kernel.reached.contains("this_grid") || of_.kernel.reached.contains("grid_group");
    if (waits || (of_.site != nullptr && of_.site->cooperative)) launch["cooperative"] = true;
    return launch;
  }

  /// Drafts the kernel's name, its description, and its source.
  Json beginning(const std::string& name) const {
    std::string description = upper(of_.source.place(of_.kernel.line).substr(0, 1)) +
                              of_.source.place(of_.kernel.line).substr(1) + " of " +
                              request_.written_from + ".";
    for (const std::string& note : chosen_.notes) description += " " + note;
    Json json = {{"name", name}, {"description", description}};
    json["source"] = request_.source;
    if (chosen_.has_macros) json["pass"] = "define";
    return json;
  }

  void add_parameters(Json& json) const {
    if (chosen_.values.empty()) return;
    json["parameters"] = chosen_.values;
    json["default"] = chosen_.defaults;
    if (!chosen_.guessed.empty()) json["default_is_a_guess"] = true;
  }

  /// Returns the conditions on parameters that the kernel asserts, or the host before it launches,
  /// and those under which loops over parameters come out even.
  Json constraints_of(const Json& block) {
    Json constraints = Json::array();
    const auto add = [&](const std::optional<std::string>& ours) {
      if (ours && has_parameter(*ours)) add_once(*ours, constraints);
    };
    for (const std::string& text : of_.kernel.asserts) add(in_parameters(text));
    for (const std::string& text : of_.kernel.divisions) {
      const std::optional<std::string> ours = in_parameters(text);
      const bool is_of_parameters =
          ours && std::ranges::all_of(identifiers(*ours), [&](std::string_view name) {
            return chosen_.values.contains(std::string(name));
          });
      if (is_of_parameters && holds_by_default(*ours)) add(ours);
    }
    if (of_.site == nullptr) return constraints;
    for (const std::string& text : of_.site->asserted) {
      add(in_our_names(of_, text, block, chosen_));
    }
    return constraints;
  }

  /// Adds `N % TILE == 0` for a grid of N / TILE blocks, which leaves a rest out, or does more than
  /// there is if the number is rounded up.
  void add_remainder(const Json& extent, Json& constraints) const {
    const std::string text = plain_text(extent);
    const CppTokens tokens = cpp_tokens(text);
    std::string by;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const bool is_call = tokens[i].is("ceil_div");
      if (!is_call && !tokens[i].is("/")) continue;
      const std::size_t first =
          is_call ? split(tokens, {i + 2, closing(tokens, i + 1)}).back().first : i + 1;
      const std::size_t end = is_call                 ? closing(tokens, i + 1)
                              : tokens[i + 1].is("(") ? closing(tokens, i + 1) + 1
                                                      : i + 2;
      by += (by.empty() ? "" : " * ") + joined(tokens, {first, std::min(end, tokens.size())});
    }
    if (!has_parameter(by) || of_.kernel.reached.contains("gridDim")) return;
    for (const auto& [size, value] : of_.names.problem().items()) {
      const std::string constraint =
          size + " % " + in_parentheses(without_parentheses(by)) + " == 0";
      if (is_quotient(text, size, by) && holds_by_default(constraint)) {
        add_once(constraint, constraints);
      }
    }
  }

  /// Returns true if a text is the number of parts of a size, each as large as `by`.
  bool is_quotient(const std::string& text, const std::string& size, const std::string& by) const {
    constexpr int kMost = 5;
    const auto part = value_with(by, {&chosen_.defaults});
    Json problem = of_.names.problem();
    if (!part || !has_name(text, size)) return false;
    for (int parts = 1; parts < kMost; ++parts) {
      problem[size] = parts * *part;
      if (value_with(text, {&problem, &chosen_.defaults}) != parts) return false;
    }
    return true;
  }

  bool has_parameter(const std::string& text) const {
    return std::ranges::any_of(identifiers(text), [&](std::string_view name) {
      return chosen_.values.contains(std::string(name));
    });
  }

  /// Returns true if a condition holds for the default on the problems that the draft's are made
  /// from.
  bool holds_by_default(const std::string& condition) const {
    const std::array<Json, 3> problems = {
        of_.names.problem(), of_.names.cpu_problem(),
        of_.names.small_problem(largest_number(chosen_.defaults))};
    return std::ranges::all_of(problems, [&](const Json& problem) {
      return value_with(condition, {&problem, &chosen_.defaults}).value_or(0) != 0;
    });
  }

  /// Returns a text of the kernel in our names; nullopt if it has other names.
  std::optional<std::string> in_parameters(const std::string& text) const {
    LaunchSite none;
    none.frames.emplace_back();
    HostTerms terms = of_.names.terms_of(none, chosen_.values);
    for (const TemplateParameter& parameter : of_.kernel.template_parameters) {
      const std::string ours = of_.in_parameters(parameter.name, chosen_.values);
      if (ours != parameter.name) terms.add(parameter.name, ours);
    }
    return terms.in_our_names(text);
  }

  /// The array may belong to a function that the kernel calls, so the launch decides.
  void add_dynamic_shared(Json& json) {
    const bool said =
        of_.site != nullptr && !of_.site->shared_bytes.empty() && of_.site->shared_bytes != "0";
    if (said) {
      if (const auto ours = in_our_names(of_, of_.site->shared_bytes, json["block"], chosen_)) {
        json["dynamic_shared_bytes"] = as_value(with_block(*ours));
        return;
      }
    }
    if (!said && std::ranges::none_of(of_.kernel.shared, &SharedArray::is_dynamic)) return;
    json["dynamic_shared_bytes"] =
        "TODO: bytes of the extern __shared__ array" +
        (said ? "; " + of_.source.place(of_.site->line) + " passes " +
                    in_full(*of_.site, of_.site->shared_bytes)
              : ", such as " + (chosen_.values.empty() ? std::string("4 * 256")
                                                       : "4 * " + chosen_.values.begin().key()));
  }

  /// Returns a number of bytes that follows the parameter for the block: one that the host makes
  /// of the block's number, and as many bytes for each further thread where it has only a number.
  std::string with_block(const std::string& bytes) const {
    if (chosen_.own_extents.size() != 1) return bytes;
    const auto& [name, threads] = *chosen_.own_extents.begin();
    const std::string followed = substituted(bytes, {{std::to_string(threads), name}});
    const auto number = number_of(bytes);
    if (!number || *number % threads != 0) return followed;
    return "max(" + bytes + ", " + name + " * " + std::to_string(*number / threads) + ")";
  }

  std::string launch_text(const Json& block, const Json& grid) const {
    const auto dimensions = [](const Json& extents) {
      return joined(extents, " x ", [](const Json& extent) {
        const std::string text = plain_text(extent);
        return is_todo(text) ? "TODO" : text;
      });
    };
    std::string text =
        last_name(of_.kernel.name) + ": block " + dimensions(block) + ", grid " + dimensions(grid);
    text += of_.site == nullptr ? "; not launched in this source"
                                : "; " + of_.source.place(of_.site->line);
    text += launched_elsewhere();
    if (!chosen_.guessed.empty()) text += "; a guess: " + listed(chosen_.guessed);
    return text;
  }

  /// Returns the repetition of a loop: `i < N / TILE`.
  std::string repeat_of(const SequenceLoop& loop, const Json& block) {
    if (!loop.times.empty()) {
      if (const auto times = in_our_names(of_, loop.times, block, chosen_)) {
        return loop.counter + " < " + *times;
      }
    }
    return "TODO: " + loop.counter + " < how often the host repeats this; " +
           of_.source.place(loop.line) + " has " + loop.header;
  }

 private:
  /// Returns the first line where the host launches the kernel with other arguments, which a draft
  /// of one launch leaves out.
  std::string launched_elsewhere() const {
    if (of_.site == nullptr || request_.together) return "";
    for (const LaunchSite& other : of_.file.launches) {
      const bool differs = other.kernel == of_.site->kernel && !other.is_chosen &&
                           other.arguments != of_.site->arguments;
      if (differs) return "; not as in " + of_.source.place(other.line) + ", which passes others";
    }
    return "";
  }

  std::string entry() const {
    const std::string text =
        joined(of_.kernel.template_parameters, ", ", [&](const TemplateParameter& parameter) {
          const std::string ours = of_.in_parameters(parameter.name, chosen_.values);
          const bool compares = ours.find_first_of("<>") != std::string::npos;
          return compares ? ours : without_parentheses(ours);
        });
    return text.empty() ? of_.kernel.name : of_.kernel.name + "<" + text + ">";
  }

  void describe() {
    std::vector<std::string> unused;
    for (const NamedNumber& number : of_.file.numbers) {
      if (!of_.kernel.reached.contains(number.name) || chosen_.values.contains(number.name) ||
          of_.names.problem().contains(number.name)) {
        continue;
      }
      unused.push_back(number.name + " = " + std::to_string(number.value));
    }
    if (!unused.empty()) {
      chosen_.notes.push_back(
          "Not searched, because what is computed seems to depend on it: " + listed(unused) + ".");
    }
    describe_shared();
    if (chosen_.values.empty())
      chosen_.notes.emplace_back("Nothing to tune was found: add parameters.");
  }

  void describe_shared() {
    std::vector<std::string> arrays;
    for (const SharedArray& array : of_.kernel.shared) {
      std::string text = array.type + " " + array.name;
      for (const std::string& extent : array.extents) text += "[" + extent + "]";
      arrays.push_back(text + (array.is_dynamic ? "[]" : ""));
    }
    if (!arrays.empty()) chosen_.notes.push_back("Shared memory: " + listed(arrays) + ".");
    if (!of_.kernel.launch_bounds.empty()) {
      chosen_.notes.push_back("Launch bounds: " + listed(of_.kernel.launch_bounds) + ".");
    }
  }

  LaunchedKernel of_;
  const DraftRequest& request_;
  DraftedParameters chosen_;
};

/// Returns ", old and next swapped each time".
std::string swaps_text(const SequenceLoop& loop) {
  std::string text;
  for (const auto& [one, other] : loop.swaps) {
    text += ", " + SpaceNames::argument_name(one) + " and " + SpaceNames::argument_name(other) +
            " swapped each time";
  }
  return text;
}

}  // namespace

KernelDraft draft_kernel(const FlatSource& source, const KernelFile& file,
                         const DraftRequest& request, const SpaceNames& names,
                         const std::string& kernel) {
  return Drafter(source, file, request, names, kernel_named(file, kernel), names.launch_of(kernel))
      .draft();
}

KernelDraft draft_sequence(const FlatSource& source, const KernelFile& file,
                           const DraftRequest& request, const SpaceNames& names,
                           const LaunchSequence& sequence) {
  KernelDraft draft;
  Json launches = Json::array();
  Json constraints = Json::array();
  Drafter before(source, file, request, names, sequence.whole, &sequence.launch);
  before.add_names();
  auto loop = sequence.loops.begin();
  for (std::size_t i = 0; i < sequence.sites.size(); ++i) {
    const LaunchSite& site = sequence.sites[i];
    Drafter drafter(source, file, request, names, *launched_kernel(file, site), &site);
    drafter.go_on_from(before);
    Json launch = drafter.draft_launch();
    launch["arguments"] = Json::array();
    for (const std::string& name : sequence.arguments[i]) {
      launch["arguments"].push_back(SpaceNames::argument_name(name));
    }
    for (const Json& constraint : drafter.constraints_of(launch["block"])) {
      add_once(constraint, constraints);
    }
    drafter.add_dynamic_shared(launch);
    draft.launches.push_back(drafter.launch_text(launch["block"], launch["grid"]));
    while (loop != sequence.loops.end() && loop->end <= i) ++loop;
    if (loop == sequence.loops.end() || i < loop->first) {
      launches.push_back(std::move(launch));
    } else {
      if (i == loop->first) {
        launches.push_back(
            {{"repeat", drafter.repeat_of(*loop, launch["block"])}, {"launches", Json::array()}});
        for (const auto& [one, other] : loop->swaps) {
          launches.back()["swap"].push_back(
              {SpaceNames::argument_name(one), SpaceNames::argument_name(other)});
        }
      }
      draft.launches.back() += "; " + plain_text(launches.back()["repeat"]) + swaps_text(*loop);
      launches.back()["launches"].push_back(std::move(launch));
    }
    before.go_on_from(drafter);
  }
  draft.kernel = before.beginning(request.name);
  before.add_parameters(draft.kernel);
  draft.kernel["launches"] = std::move(launches);
  if (!constraints.empty()) draft.kernel["constraints"] = std::move(constraints);
  return draft;
}

}  // namespace smemtune
