#include "tuner/init/space_names.h"

#include "tuner/config/space_words.h"
#include "tuner/core/text.h"
#include "tuner/core/tokens.h"
#include "tuner/init/copies.h"
#include "tuner/init/elements.h"
#include "tuner/init/macro_expansion.h"
#include "tuner/init/names.h"

#include <algorithm>
#include <string_view>

namespace smemtune {

Bindings bindings_of(const Json& names) {
  Bindings bindings;
  for (const auto& [name, value] : names.items()) {
    if (value.is_string()) bindings.emplace(name, value.get<std::string>());
    if (value.is_number_integer()) bindings.emplace(name, value.get<std::int64_t>());
  }
  return bindings;
}

Terms terms_of_values(const Json& values) {
  Terms terms;
  for (const auto& [name, value] : values.items()) terms.emplace_back(name, plain_text(value));
  return terms;
}

std::int64_t largest_number(const Json& values) {
  std::int64_t largest = 0;
  for (const auto& [name, value] : values.items()) {
    if (value.is_number_integer()) largest = std::max(largest, value.get<std::int64_t>());
  }
  return largest;
}
namespace {

constexpr std::int64_t kGuessedFactor = 64;  ///< A guess for a size that another is a multiple of.

std::int64_t guessed_size(const MissingName& missing) {
  return holds_any(missing.name, {"radius", "filter", "kernel", "iter"}) ? 3 : 4096;
}

/// Returns a size of at most `most` that blocks divide as they divide `size`, so that faults in the
/// tail show there too.
std::int64_t smaller(std::int64_t size, std::int64_t most) {
  if (size <= most) return size;
  const std::int64_t block = most > 1024 ? 1024 : std::clamp<std::int64_t>(most / 4, 1, 64);
  const std::int64_t rest = size % block;
  return rest == 0 ? most : most - block + rest;
}

/// Returns `rows` of `matrix->rows`.
std::string last_word(const std::string& text) {
  const std::vector<std::string_view> words = identifiers(text);
  return words.empty() ? text : std::string(words.back());
}

/// Returns true if a text changes with the turns of a loop around the launch.
bool changes(const LaunchSite& site, const std::string& text) {
  return std::ranges::any_of(site.loops, [&](const CountingLoop& loop) {
    if (!loop.counter.empty()) return has_name(text, loop.counter);
    return std::ranges::any_of(loop.changes,
                               [&](const std::string& name) { return has_name(text, name); });
  });
}

/// `type`: the parameter's, that of a template parameter as the host passes it.
bool is_size(const KernelParameter& parameter, const std::string& type) {
  if (parameter.pointers > 0) return false;
  const Elements elements = elements_of(type);
  return !elements.type.empty() && elements.count == 1 && !is_floating_name(elements.type) &&
         type != "bool" && scalar_bytes_of(elements.type) >= 4 &&
         !holds_any(parameter.name,
                    {"radius", "iter",  "step", "offset", "shift", "seed", "flag",  "mode",
                     "start",  "begin", "end",  "index",  "idx",   "pow",  "value", "pitch",
                     "stride", "power", "gpu",  "border", "halo",  "pad",  "tile"}) &&
         !lower_case(parameter.name).starts_with("ld");
}

}  // namespace

SpaceNames::SpaceNames(const KernelFile& file, const DraftRequest& request,
                       const LaunchSequence* sequence)
    : file_(file), request_(request), first_(kernel_named(file, request.kernels.front())) {
  if (sequence != nullptr) {
    for (const SequenceLoop& loop : sequence->loops) counters_.push_back(loop.counter);
  }
  for (const LaunchSite& site : file.launches) {
    if (is_transfer(site.kernel)) continue;
    const auto [known, is_new] = launches_.emplace(site.kernel, &site);
    const bool is_better = !is_new && names_its_block(site) && !names_its_block(*known->second);
    if (is_better) known->second = &site;
  }
  numbers_ = tunable_numbers(file);
  for (const NamedNumber& number : problem_numbers(file)) add_number(number.name, number.value);
  for (const MissingName& missing : file.missing) {
    if (meaning_of(missing.name) != Meaning::problem || missing.name.size() < 2) continue;
    if (is_limit(missing.name)) continue;
    if (!reserved_meaning(missing.name).empty()) continue;
    add_number(missing.name, guessed_size(missing), /*is_guess=*/true);
  }
  for (const KernelParameter& parameter : first_.parameters) taken_.insert(parameter.name);
  for (const std::string& name : request_.kernels) {
    for (const auto& parameter : kernel_named(file_, name).template_parameters) {
      taken_.insert(parameter.name);
    }
  }
  // Names of the problem become macros, so they must not be words of the source.
  if (!numbers_.empty() || !problem_.empty() || !file_.missing.empty())
    taken_.insert(file_.names.begin(), file_.names.end());
  add_type_problems();
  choose_sizes_of_witness();
  choose_sizes();
  choose_host_sizes(sequence);
  add_template_numbers();
  keep_line_length();
}

/// Lets the CPU device have several blocks where the problem's only size is the length of all
/// arrays: a kernel may count on as many elements as its blocks have threads.
void SpaceNames::keep_line_length() {
  constexpr std::int64_t kMost = 4096;
  constexpr std::int64_t kBytesOfOne = 16;
  const LaunchSite* const site = launch_of(first_.name);
  const bool has_one = problem_.size() == 1 && problem_.front().is_number_integer();
  if (!has_one || site == nullptr || first_.grid_dimensions != 1) return;
  const auto size = problem_.front().get<std::int64_t>();
  for (const HostFrame& frame : site->frames) {
    for (const auto& [pointer, text] : frame.allocated) {
      const auto ours = terms_of(*site).in_our_names(text);
      const auto bytes = ours ? value_with(*ours, {&problem_}) : std::nullopt;
      if (!bytes || *bytes > kBytesOfOne * size) return;
    }
  }
  Json& on_cpu = cpu_problem_.front();
  on_cpu = std::max(on_cpu.get<std::int64_t>(), smaller(size, kMost));
}

/// Returns true if a template argument is the number of threads that are launched. In
/// `if (n == 16) k<16><<<..., n>>>() else k<32><<<..., n>>>()` it tells which number applies.
bool SpaceNames::names_its_block(const LaunchSite& site) const {
  if (site.block.empty() || site.template_arguments.empty()) return false;
  const auto threads = number_at(site, site.block.front());
  return threads && std::ranges::find(site.template_arguments, std::to_string(*threads)) !=
                        site.template_arguments.end();
}

/// Makes variables sizes that only the host's function takes and that a size of the kernel is made
/// of: `B` and `T` where the kernel takes `B * T`.
void SpaceNames::choose_sizes_of_witness() {
  const LaunchSite* const site = launch_of(first_.name);
  if (!request_.witness || site == nullptr) return;
  for (const HostFunction::Scalar& scalar : request_.witness->scalars) {
    const HostTerms terms = terms_of(*site);  // It knows the sizes that were added before.
    const bool is_variable = cpp_tokens(scalar.passed).size() == 1 && !number_of(scalar.passed);
    bool is_in_a_size = false;
    for (std::size_t i = 0; i < first_.parameters.size(); ++i) {
      if (!is_size(first_.parameters[i], first_.parameters[i].type)) continue;
      const bool is_itself = terms.passed(i, scalar.frame) == scalar.passed;
      const std::string value = terms.passed_value(i, scalar.frame);
      is_in_a_size = is_in_a_size || (!is_itself && has_name(value, scalar.passed));
    }
    if (!is_variable || !is_in_a_size) continue;
    const auto ours = terms.in_our_names(scalar.passed, scalar.frame);
    const auto number = ours ? constant_value(*ours) : std::nullopt;
    if (ours && !number) continue;  // Other sizes already say it.
    const std::string chosen = free_name(upper(scalar.passed));
    host_sizes_.push_back({.function = site->frames[scalar.frame].function,
                           .variable = scalar.passed,
                           .chosen = chosen});
    const std::int64_t size = number.value_or(kGuessedFactor);
    add_problem(chosen, size, smaller(size, 256), !number);
  }
}

/// Chooses names for sizes that the host reads from its command line, `atoi(argv[1])`, or that a
/// caller outside of the source passes.
void SpaceNames::choose_host_sizes(const LaunchSequence* sequence) {
  std::vector<const LaunchSite*> sites;
  if (sequence != nullptr) {
    for (const LaunchSite& site : sequence->sites) sites.push_back(&site);
  } else {
    for (const std::string& name : request_.kernels) {
      if (const LaunchSite* const site = launch_of(name)) sites.push_back(site);
    }
  }
  for (const LaunchSite* const site : sites) {
    // Kernels that are compared are launched with the same buffers.
    const bool has_own_buffers = sequence != nullptr || site == sites.front();
    for (std::size_t frame = 0; has_own_buffers && frame < site->frames.size(); ++frame) {
      for (const auto& [pointer, bytes] : site->frames[frame].allocated) {
        add_constant_sizes(*site, frame, bytes);
      }
    }
    for (const HostFrame& frame : site->frames) {
      for (const auto& [pointer, bytes] : frame.allocated) add_host_sizes(*site, bytes);
    }
    for (const std::string& text : site->grid) add_host_sizes(*site, text);
  }
  if (sequence == nullptr) return;
  for (const SequenceLoop& loop : sequence->loops) {
    add_host_sizes(sequence->sites[loop.first], loop.times, true);
  }
}

/// Returns what a variable, a parameter or a macro that no kernel uses stands for in a frame of the
/// host; nullopt for any other name.
std::optional<SpaceNames::SizeMeaning> SpaceNames::size_meaning(const LaunchSite& site,
                                                                std::size_t frame,
                                                                const std::string& name) const {
  const std::map<std::string, std::string>& variables = site.frames[frame].variables;
  if (const auto value = variables.find(name); value != variables.end()) {
    return SizeMeaning{.text = value->second, .frame = frame};
  }
  if (frame + 1 < site.frames.size()) {
    const std::map<std::string, std::string>& passed = site.frames[frame + 1].parameters;
    const auto value = passed.find(name);
    if (value != passed.end()) return SizeMeaning{.text = value->second, .frame = frame + 1};
  }
  const bool is_of_kernels = std::ranges::any_of(
      kernels(), [&](const KernelFunction* kernel) { return kernel->reached.contains(name); });
  if (is_of_kernels || !file_.meanings.contains(name)) return std::nullopt;
  return SizeMeaning{.text = meaning_in_source(name), .frame = frame, .is_macro = true};
}

/// Makes sizes of the names that a number of bytes is made of and that the host gives a number.
// NOLINTNEXTLINE(misc-no-recursion): as deep as variables are made of each other.
void SpaceNames::add_constant_sizes(const LaunchSite& site, std::size_t frame,
                                    const std::string& text, int depth) {
  constexpr int kMostSteps = 6;
  constexpr std::int64_t kLeast = 64;  // Smaller numbers are mostly no sizes.
  if (frame >= site.frames.size() || depth == kMostSteps) return;
  const HostFrame& here = site.frames[frame];
  const auto is_of_block = [&](std::string_view name) {
    const bool is_size = std::ranges::find(site.arguments, name) != site.arguments.end();
    return !is_size &&
           (name == site.block_name || std::ranges::find(site.block, name) != site.block.end());
  };
  const bool has_block_sums =
      std::ranges::any_of(first_.parameters, &KernelParameter::is_block_sum);
  const std::string in_terms = terms_of(site).in_terms(text, frame);
  for (const std::string_view word : identifiers(in_terms)) {
    const std::string name(word);
    if (problem_.contains(name)) continue;
    const auto ours = terms_of(site).in_our_names(name, frame);
    const std::int64_t number = ours ? value_with(*ours, {&problem_}).value_or(0) : 0;
    if (number < kLeast || is_of_block(name)) continue;
    const std::optional<SizeMeaning> meaning = size_meaning(site, frame, name);
    if (!meaning) continue;
    // A size that is made of the block's stays the same where the block is another, but for results
    // of which each block has one.
    const std::vector<std::string_view> parts = identifiers(meaning->text);
    if (!parts.empty() && std::ranges::none_of(parts, is_of_block)) {
      add_constant_sizes(site, meaning->frame, meaning->text, depth + 1);
      continue;
    }
    const bool follows_block = !parts.empty();  // Such a size does not shrink with the problem.
    const bool is_of_each_block =
        substituted(without_blanks(in_terms), {{"/" + name, ""}}) != without_blanks(in_terms);
    const bool varies = has_block_sums || meaning->is_macro || is_of_each_block;
    if (follows_block && varies) continue;
    const auto alike = std::ranges::find_if(host_sizes_, [&](const HostSize& size) {
      return size.variable == name && problem_[size.chosen] == number;
    });
    const bool is_new = alike == host_sizes_.end();
    const std::string chosen =
        is_new ? free_name(upper(name.substr(0, name.find("__")))) : std::string(alike->chosen);
    host_sizes_.push_back({.function = here.function, .variable = name, .chosen = chosen});
    if (is_new) add_problem(chosen, number, follows_block ? number : smaller(number, 256), false);
  }
}

void SpaceNames::add_host_sizes(const LaunchSite& site, const std::string& text, bool is_repeat) {
  constexpr std::size_t kMost = 6;
  const HostTerms terms = terms_of(site);
  std::vector<std::string> of_block = {"blockDim", "gridDim", "argv", "argc"};
  for (const std::string& extent : site.block) {
    for (const std::string_view name : identifiers(extent)) of_block.emplace_back(name);
    for (const auto& [frame, name] : terms.unknown_names(extent)) of_block.push_back(name);
  }
  for (const std::string& argument : site.template_arguments) {
    for (const std::string_view name : identifiers(argument)) of_block.emplace_back(name);
  }
  of_block.push_back(site.block_name);
  const auto unknown = terms.unknown_names(text);
  for (const auto& [frame, name] : unknown) {
    const bool is_whole = cpp_tokens(text).size() == 1;
    const bool is_blocks = std::ranges::find(of_block, name) != of_block.end() ||
                           (is_whole && holds_any(name, {"grid", "block", "thread"}));
    const auto changed = site.frames[frame].changed.find(name);
    const bool is_known = changed == site.frames[frame].changed.end() || changed->second > 0;
    if (is_blocks || (is_whole && !is_known) || changes(site, name) ||
        host_sizes_.size() == kMost) {
      return;
    }
  }
  for (const auto& [frame, name] : unknown) {
    const std::string& function = site.frames[frame].function;
    const auto is_this = [&, variable = name](const HostSize& known) {
      return known.variable == variable && known.function == function;
    };
    const bool is_known = std::ranges::any_of(host_sizes_, is_this);
    if (is_known) continue;
    // `rows__1` is what rows was before the host changed it.
    const std::string chosen = free_name(upper(last_word(name.substr(0, name.find("__")))));
    host_sizes_.push_back({.function = function, .variable = name, .chosen = chosen});
    const std::int64_t size =
        is_repeat ? 10
        : holds_any(name, {"batch", "head", "chan", "iter", "step", "rep", "dim", "layer"})
            ? 16
            : host_size_;
    add_problem(chosen, size, std::min<std::int64_t>(size, is_repeat ? 2 : 256), true);
  }
}

std::size_t SpaceNames::loop_that_changes(const std::string& name) const {
  const auto size = std::ranges::find(host_sizes_, name, &HostSize::chosen);
  if (size == host_sizes_.end()) return 0;
  for (const LaunchSite& site : file_.launches) {
    for (const HostFrame& frame : site.frames) {
      const auto changed = frame.changed.find(size->variable);
      const bool is_its = frame.function == size->function && changed != frame.changed.end();
      if (is_its && changed->second > 0) return changed->second;
    }
  }
  return 0;
}

std::string SpaceNames::argument_name(const std::string& name) {
  return reserved_meaning(name).empty() ? name : name + "_";
}

std::string SpaceNames::free_name(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 0; taken_.contains(name) || !reserved_meaning(name).empty(); ++i) {
    name = i == 0 ? "PROBLEM_" + wanted : "PROBLEM_" + wanted + "_" + std::to_string(i);
  }
  taken_.insert(name);
  return name;
}

/// Adds a number of the problem that the kernels or the host's function have as a macro.
void SpaceNames::add_number(const std::string& name, std::int64_t value, bool is_guess) {
  constexpr std::int64_t kMostOnCpu = 256;
  std::vector<std::string> all = request_.kernels;
  if (request_.witness) all.push_back(request_.witness->kernel_name);
  const bool is_reached = std::ranges::any_of(all, [&](const std::string& wanted) {
    const KernelFunction& kernel = kernel_named(file_, wanted);
    const auto& own = kernel.parameters;  // A parameter of the same name hides it.
    return kernel.reached.contains(name) &&
           std::ranges::find(own, name, &KernelParameter::name) == own.end();
  });
  if (!is_reached) return;
  macro_sizes_.push_back(name);
  add_problem(name, value, smaller(value, kMostOnCpu), is_guess);
}

void SpaceNames::add_problem(const std::string& name, const Json& value, const Json& cpu_value,
                             bool is_guess) {
  if (is_guess) guessed_.insert(name);
  problem_[name] = value;
  cpu_problem_[name] = cpu_value;
}

Bindings SpaceNames::numbers_of_problem() const {
  Bindings numbers = bindings_of(problem_);
  std::erase_if(numbers,
                [](const auto& one) { return std::holds_alternative<std::string>(one.second); });
  for (const std::string& counter : counters_) numbers.emplace(counter, 1);
  return numbers;
}

Json SpaceNames::small_problem(std::int64_t least) const {
  constexpr std::int64_t kUsual = 64;
  constexpr std::int64_t kLargest = 256;
  const std::int64_t most = std::clamp(least, kUsual, kLargest);
  constexpr std::int64_t kMostOfOne = 4096;
  std::size_t sizes = 0;
  for (const auto& [name, value] : problem_.items()) {
    if (value.is_number_integer() && value.get<std::int64_t>() > most) ++sizes;
  }
  Json small = problem_;
  for (auto& [name, value] : small.items()) {
    if (!value.is_number_integer()) continue;
    value = std::min(value.get<std::int64_t>(), sizes == 1   ? kMostOfOne
                                                : sizes == 2 ? 4 * most
                                                             : most);
  }
  return small;
}

std::vector<const KernelFunction*> SpaceNames::kernels() const {
  std::vector<const KernelFunction*> kernels;
  for (const std::string& name : request_.kernels) kernels.push_back(&kernel_named(file_, name));
  return kernels;
}

const LaunchSite* SpaceNames::launch_of(const std::string& kernel) const {
  const auto site = launches_.find(last_name(kernel));
  if (site != launches_.end()) return site->second;
  // The launch may be through a pointer to the function, which may be any of them.
  if (launches_.size() != 1) return nullptr;
  const LaunchSite* const only = launches_.begin()->second;
  return launched_kernel(file_, *only) == nullptr ? only : nullptr;
}

std::vector<std::int64_t> SpaceNames::dispatched_values(const KernelFunction& kernel,
                                                        std::size_t i) const {
  std::set<std::int64_t> values;
  for (const LaunchSite& site : file_.launches) {
    if (site.kernel != last_name(kernel.name)) continue;
    if (!site.is_chosen || i >= site.template_arguments.size()) return {};
    const auto number = number_at(site, site.template_arguments[i]);
    if (!number) return {};
    values.insert(*number);
  }
  return {values.begin(), values.end()};
}

std::optional<std::int64_t> SpaceNames::number_at(const LaunchSite& site, const std::string& text,
                                                  const Json& parameters) const {
  const HostTerms terms(site, Scope(),
                        [&](const std::string& inner) { return expanded(inner, parameters); });
  const auto value = terms.in_our_names(text);
  return value ? constant_value(*value) : std::nullopt;
}

HostTerms SpaceNames::terms_of(const LaunchSite& site, const Json& parameters) const {
  HostTerms terms(site, scope(parameters), [this, parameters](const std::string& text) {
    return expanded(text, parameters);
  });
  for (const auto& [name, number] : file_.enumerators) terms.add_everywhere(name, number);
  for (std::size_t i = 0; i < first_.parameters.size(); ++i) {
    for (const auto& [argument, size] : sizes_) {
      if (argument == first_.parameters[i].name) terms.add_argument(i, size);
    }
  }
  for (const auto& [name, value] : problem_.items()) {
    if (!value.is_string()) continue;
    terms.add_everywhere("(" + name + ")", "");  // A cast to a type of the problem.
    terms.add_everywhere("sizeof(" + name + ")", "sizeof(" + name + ")");
  }
  for (const HostSize& size : host_sizes_) {
    for (std::size_t i = 0; i < site.frames.size(); ++i) {
      if (site.frames[i].function == size.function) terms.add(size.variable, size.chosen, i);
    }
  }
  return terms;
}

Scope SpaceNames::scope(const Json& parameters) const {
  Scope scope;
  std::size_t slots = 0;
  for (const Json* const names : {&parameters, &problem_}) {
    for (const auto& [name, value] : names->items()) {
      const Json& one = value.is_array() ? value.front() : value;
      const auto kind = one.is_string() ? Scope::Kind::word : Scope::Kind::integer;
      if (!scope.contains(name)) scope.add_variable(name, slots++, kind);
    }
  }
  for (const std::string& counter : counters_) {
    if (!scope.contains(counter)) scope.add_variable(counter, slots++);
  }
  const std::string sm_count(kSmCount);
  if (!scope.contains(sm_count)) scope.add_variable(sm_count, slots++);
  return scope;
}

bool SpaceNames::counts(const std::string& text) const {
  return std::ranges::any_of(counters_,
                             [&](const std::string& counter) { return has_name(text, counter); });
}

/// Adds template arguments that are types.
void SpaceNames::add_type_problems() {
  for (const KernelFunction* const kernel : kernels()) {
    for (std::size_t i = 0; i < kernel->template_parameters.size(); ++i) {
      const TemplateParameter& parameter = kernel->template_parameters[i];
      if (!parameter.is_type()) continue;
      const std::string text = template_type(*kernel, i);
      const Elements elements = elements_of(text);
      const bool is_vector = elements.count > 1;  // No argument has such a type.
      const bool is_passed = std::ranges::find(kernel->parameters, parameter.name,
                                               &KernelParameter::type) != kernel->parameters.end();
      const std::string type = !is_vector ? elements.type : is_passed ? "" : text;
      const std::string shown = type.empty() ? "float" : type;
      add_problem(parameter.name, shown, shown, type.empty());
    }
  }
}

/// Adds template arguments that change what is computed, unless they follow from other sizes.
void SpaceNames::add_template_numbers() {
  for (const KernelFunction* const kernel : kernels()) {
    const LaunchSite* const site = launch_of(kernel->name);
    for (std::size_t i = 0; i < kernel->template_parameters.size(); ++i) {
      const TemplateParameter& parameter = kernel->template_parameters[i];
      if (parameter.is_type() || meaning_of(parameter.name) != Meaning::problem) continue;
      const std::string text = template_value(*kernel, i);
      const auto ours = site == nullptr ? std::optional(text) : terms_of(*site).in_our_names(text);
      const auto said = ours ? constant_value(*ours) : std::nullopt;
      if (ours && !said && is_of_problem(*ours)) {
        template_formulas_.emplace(parameter.name, *ours);
      } else {
        add_problem(parameter.name, said.value_or(3), said.value_or(3), !said);
      }
    }
  }
}

void SpaceNames::set_launch(const Json& kernel) {
  if (!kernel.contains("block") || !kernel.contains("grid")) return;
  Json values = kernel.value("default", Json::object());
  values.update(most_blocks_);
  Terms launch = terms_of_values(values);
  for (const TemplateParameter& parameter : first_.template_parameters) {
    const std::string formula = template_formula(first_, parameter.name, parameters_);
    const std::string own = substituted(formula, terms_of_values(values));
    if (!formula.empty()) launch.emplace_back(parameter.name, in_parentheses(own));
  }
  for (const auto& [key, name] :
       {std::pair("block", "blockDim.x"), std::pair("grid", "gridDim.x")}) {
    const std::string extent = plain_text(kernel[key][0]);
    if (is_todo(extent)) return;
    launch.emplace_back(name, in_parentheses(substituted(extent, terms_of_values(values))));
  }
  launch_ = std::move(launch);
}

std::string SpaceNames::template_formula(const KernelFunction& kernel, const std::string& parameter,
                                         const Json& parameters) const {
  const auto found = template_formulas_.find(parameter);
  if (found != template_formulas_.end()) return found->second;
  const auto own =
      std::ranges::find(kernel.template_parameters, parameter, &TemplateParameter::name);
  if (own == kernel.template_parameters.end() || own->is_type()) return "";
  const auto i = static_cast<std::size_t>(own - kernel.template_parameters.begin());
  const std::string text = template_text(kernel, i);
  if (own->is_template()) return text;
  const LaunchSite* const site = launch_of(kernel.name);
  if (site == nullptr || dispatched_values(kernel, i).size() > 1) return "";
  Json macros = Json::object();  // A template parameter of that name may be another number.
  const auto add = [&](const auto& named) {
    const bool is_other = named.name != parameter && parameters.contains(named.name);
    if (is_other) macros[named.name] = parameters[named.name];
  };
  std::ranges::for_each(numbers_, add);
  std::ranges::for_each(file_.missing, add);
  const auto ours = terms_of(*site, macros).in_our_names(text);
  const bool has_macro =
      ours && std::ranges::any_of(identifiers(*ours), [&](std::string_view name) {
        return macros.contains(std::string(name));
      });
  return has_macro ? *ours : "";
}

std::string SpaceNames::template_type(const KernelFunction& kernel, std::size_t i) const {
  const std::string& name = kernel.template_parameters[i].name;
  std::string text = template_value(kernel, i);
  const LaunchSite* const site = launch_of(kernel.name);
  if (site == nullptr) return text;
  for (std::size_t frame = 1; frame < site->frames.size(); ++frame) {  // It may be a caller's.
    const auto passed = site->frames[frame].parameters.find(text);
    if (passed != site->frames[frame].parameters.end()) text = passed->second;
  }
  if (i < site->template_arguments.size()) return text;
  for (std::size_t j = 0; j < std::min(kernel.parameters.size(), site->types.size()); ++j) {
    if (kernel.parameters[j].type == name && !site->types[j].empty()) return site->types[j];
  }
  return text;
}

std::string SpaceNames::template_value(const KernelFunction& kernel, std::size_t i) const {
  const std::string text = template_text(kernel, i);
  const auto number = std::ranges::find(file_.numbers, text, &NamedNumber::name);
  return number == file_.numbers.end() ? text : std::to_string(number->value);
}

/// Returns the text that the launch or the default has for a template parameter; may be empty.
std::string SpaceNames::template_text(const KernelFunction& kernel, std::size_t i) const {
  const LaunchSite* const site = launch_of(kernel.name);
  const bool is_passed = site != nullptr && i < site->template_arguments.size();
  return is_passed ? site->template_arguments[i] : kernel.template_parameters[i].default_text;
}

/// Makes every integer that looks like a size a name of the problem.
void SpaceNames::choose_sizes() {
  std::vector<std::string> names;
  const LaunchSite* const site = launch_of(first_.name);
  for (std::size_t i = 0; i < first_.parameters.size(); ++i) {
    const std::string passed = passed_text(first_.parameters[i].name);
    const bool is_counted = !passed.empty() && (counts(passed) || changes(*site, passed));
    const auto number = passed.empty() ? std::nullopt : constant_value(passed);
    const bool is_none = number && *number <= 0;  // Like an `offset` for which the host passes 0.
    const std::string& type = first_.parameters[i].type;
    const Json passed_type = problem_.value(type, Json(without_parentheses(expanded(type))));
    const bool may_count = passed_type.is_string() && is_size(first_.parameters[i], passed_type);
    if (may_count && !is_counted && !is_none) {
      names.push_back(first_.parameters[i].name);
    }
  }
  const bool is_line = names.size() == 1 && first_.grid_dimensions == 1;
  // The data grow with the product of nx, ny, nz, but for a matrix product with that of two sizes.
  const bool is_volume =
      names.size() == 3 && std::ranges::all_of(names, [](const auto& name) {
        return std::string_view("xyz").find(lower_case(name).back()) != std::string_view::npos;
      });
  const std::int64_t size = is_line ? 1 << 24 : names.size() <= 2 ? 4096 : is_volume ? 256 : 1024;
  const std::int64_t cpu_size = is_line             ? 1 << 16
                                : names.size() <= 2 ? 256
                                : names.size() == 3 ? 64
                                                    : 16;
  if (!is_line && !names.empty()) host_size_ = size;  // Other sizes of the host are as large.
  std::ranges::stable_sort(names, {}, [&](const std::string& name) { return is_product(name); });
  for (const std::string& name : names) {
    if (const auto macro = passed_name(name)) {
      sizes_.emplace_back(name, *macro);
      continue;
    }
    const std::string text = passed_text(name);
    const auto alike = std::ranges::find_if(sizes_, [&](const auto& other) {
      return !text.empty() && identifiers(text).size() == 1 && passed_text(other.first) == text;
    });
    if (alike != sizes_.end()) {
      sizes_.emplace_back(name, std::string(alike->second));
      continue;
    }
    if (follows_from_sizes(name) || is_part_of_memory(name)) continue;
    const std::string chosen = free_name(upper(name));
    sizes_.emplace_back(name, chosen);
    const std::optional<std::int64_t> passed = passed_size(name);
    add_problem(chosen, passed.value_or(size), smaller(passed.value_or(size), cpu_size), !passed);
  }
}

std::string SpaceNames::passed_text(const std::string& argument) const {
  const LaunchSite* const site = launch_of(first_.name);
  const auto parameter = std::ranges::find(first_.parameters, argument, &KernelParameter::name);
  const auto number = static_cast<std::size_t>(parameter - first_.parameters.begin());
  return site == nullptr ? "" : site->argument(number);
}

/// Returns the same, or what it stands for if it is a variable.
std::string SpaceNames::calculated_text(const std::string& argument) const {
  const std::string text = passed_text(argument);
  return text.empty() ? text : launch_of(first_.name)->frames.front().value_of(text);
}

/// Returns true if the host calculates the value that it passes for an argument from several
/// variables, `rows * columns`, which are sizes that are known, or from the size of a type.
bool SpaceNames::follows_from_sizes(const std::string& argument) const {
  const std::string text = passed_text(argument);
  if (!is_product(argument)) return false;
  Json parameters = Json::object();
  for (const NamedNumber& number : numbers_) parameters[number.name] = number.value;
  const auto ours = terms_of(*launch_of(first_.name), parameters).in_our_names(text);
  return ours && (has_name(calculated_text(argument), "sizeof") || !constant_value(*ours));
}

bool SpaceNames::is_part_of_memory(const std::string& argument) const {
  const std::string plain = without_parentheses(without_casts(calculated_text(argument)));
  const CppTokens tokens = cpp_tokens(plain);
  const bool is_quotient = tokens.size() == 3 && tokens[0].is_word() && tokens[1].is("/") &&
                           number_of(tokens[2].text).has_value();
  if (!is_quotient) return false;
  const HostFrame& frame = launch_of(first_.name)->frames.front();
  return std::ranges::any_of(frame.allocated, [&](const auto& allocated) {
    const auto values = [&](const std::string& name) { return value_among(frame.variables, name); };
    return names_behind({allocated.second}, values).contains(std::string(tokens[0].text));
  });
}

bool SpaceNames::is_product(const std::string& argument) const {
  const std::string plain = without_casts(calculated_text(argument));
  const CppTokens tokens = cpp_tokens(plain);
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {  // `atoi(argv[1])`
    const bool is_call =
        tokens[i].is_word() && !tokens[i].is("ceil_div") && !tokens[i].is("sizeof");
    if (is_call && tokens[i + 1].is("(", "[")) return false;
  }
  return identifiers(plain).size() > 1;
}

/// Returns the name of the problem that already stands for the value that the host passes.
std::optional<std::string> SpaceNames::passed_name(const std::string& argument) const {
  const std::string text = passed_text(argument);
  if (text.empty()) return std::nullopt;
  const HostTerms terms(*launch_of(first_.name), scope(),
                        [&](const std::string& inner) { return expanded(inner); });
  const auto ours = terms.in_our_names(text);
  return ours && problem_.contains(*ours) ? ours : std::nullopt;
}

/// Returns the value that the host passes if it is a number.
std::optional<std::int64_t> SpaceNames::passed_size(const std::string& argument) const {
  const std::string text = passed_text(argument);
  if (text.empty()) return std::nullopt;
  const std::optional<std::int64_t> value = number_at(*launch_of(first_.name), text);
  return value && *value > 0 ? value : std::nullopt;
}

std::string SpaceNames::sizes_text() const {
  if (sizes_.empty()) return sizes_of_macros();
  const std::string text = joined(sizes_, " * ", &std::pair<std::string, std::string>::second);
  const bool is_square = sizes_.size() == 1 && first_.grid_dimensions > 1;
  return is_square ? text + " * " + text : text;
}

std::string SpaceNames::sizes_of_macros() const {
  std::string text;
  std::size_t sizes = 0;
  for (const std::string& name : macro_sizes_) {
    if (holds_any(name, {"filter", "kernel", "radius", "iter", "max_", "border", "halo"})) continue;
    text += (text.empty() ? "" : " * ") + name;
    ++sizes;
  }
  const bool is_square = sizes == 1 && first_.grid_dimensions > 1;
  return text.empty() ? "a number" : is_square ? text + " * " + text : text;
}

/// Expands `NAME(a, b)` at token i if NAME is a macro.
std::optional<SpaceNames::CalledMacro> SpaceNames::called_macro(const CppTokens& tokens,
                                                                std::size_t i) const {
  const auto macro = file_.function_macros.find(std::string(tokens[i].text));
  if (macro == file_.function_macros.end() || i + 1 >= tokens.size() || !tokens[i + 1].is("(")) {
    return std::nullopt;
  }
  const std::size_t close = closing(tokens, i + 1);
  if (close >= tokens.size()) return std::nullopt;
  std::vector<std::string> given = texts(tokens, split(tokens, {i + 2, close}));
  for (std::string& text : given) text = "(" + text + ")";
  if (given.size() != macro->second.parameters.size()) return std::nullopt;
  return CalledMacro{.text = expansion(macro->second, given), .last = close};
}

/// Returns what a macro or a constant stands for; empty if it is neither or has several meanings.
std::string SpaceNames::meaning_in_source(const std::string& name) const {
  const auto found = file_.meanings.find(name);
  if (found != file_.meanings.end() && found->second.size() == 1) return found->second.front();
  const auto number = std::ranges::find(file_.numbers, name, &NamedNumber::name);
  return number == file_.numbers.end() ? "" : std::to_string(number->value);
}

std::string SpaceNames::expanded(const std::string& text, const Json& parameters, int depth) const {
  constexpr int kMostDeep = 8;
  std::string result;
  std::size_t end = 0;
  const CppTokens tokens = cpp_tokens(text);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    // With macros that contain each other, the text would double with each step.
    if (result.size() > kMaxCharacters) return text;
    const CppToken& token = tokens[i];
    if (token.begin > end) result += ' ';
    end = token.end();
    const std::string name(token.text);
    if (const auto called = depth < kMostDeep ? called_macro(tokens, i) : std::nullopt) {
      result += "(" + expanded(called->text, parameters, depth + 1) + ")";
      i = called->last;
      end = tokens[i].end();
      continue;
    }
    const std::string meaning = meaning_in_source(name);
    if (meaning.empty() || problem_.contains(name) || parameters.contains(name) ||
        depth == kMostDeep) {
      result += name;
      continue;
    }
    const std::string inner = expanded(meaning, parameters, depth + 1);
    const bool is_whole = cpp_tokens(inner).size() == 1 || inner.starts_with('(');
    result += is_whole ? inner : "(" + inner + ")";
  }
  return result;
}

bool SpaceNames::is_of_problem(const std::string& text) const {
  Scope scope;
  for (const auto& [name, value] : bindings_of(problem_)) scope.add_constant(name, value);
  try {
    Expression::compile(text, scope);
    return true;
  } catch (const ExpressionError&) {
    return false;
  }
}

void SpaceNames::need_a_size(bool is_open) {
  if (!problem_.empty()) return;
  const std::int64_t size = is_open ? 1 << 20 : 1;
  add_problem(free_name("N"), size, size, is_open);
}

std::optional<std::int64_t> value_with(const std::string& text,
                                       const std::vector<const Json*>& numbers) {
  Scope scope;
  for (const Json* const one : numbers) {
    for (const auto& [name, value] : bindings_of(*one)) {
      const bool is_number = std::holds_alternative<std::int64_t>(value);
      if (is_number && !scope.contains(name)) scope.add_constant(name, value);
    }
  }
  try {
    return Expression::compile(text, scope).evaluate();
  } catch (const ExpressionError&) {
    return std::nullopt;
  }
}

std::optional<std::int64_t> constant_value(const std::string& text) { return value_with(text, {}); }

const KernelFunction* launched_kernel(const KernelFile& file, const LaunchSite& site) {
  const auto found = std::ranges::find_if(file.kernels, [&](const KernelFunction& kernel) {
    return last_name(kernel.name) == site.kernel;
  });
  return found == file.kernels.end() ? nullptr : &*found;
}

const LaunchSite* first_launch(const KernelFile& file, const std::string& kernel) {
  const auto site = std::ranges::find(file.launches, last_name(kernel), &LaunchSite::kernel);
  return site == file.launches.end() ? nullptr : &*site;
}

const KernelFunction& kernel_named(const KernelFile& file, const std::string& name) {
  return *std::ranges::find(file.kernels, name, &KernelFunction::name);
}

std::string last_name(const std::string& name) {
  const std::size_t colons = name.rfind("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

}  // namespace smemtune
