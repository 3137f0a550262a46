#include "tuner/init/kernel_draft.h"

#include "tuner/config/space_words.h"
#include "tuner/init/argument_draft.h"
#include "tuner/init/names.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

/// Whether a text uses a name.
bool mentions(const std::string& text, const std::string& name) {
  const std::vector<std::string_view> names = identifiers(text);
  return std::ranges::find(names, name) != names.end();
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Json as_value(const std::string& text) {
  const auto number = number_of(text);
  return number ? Json(*number) : Json(text);
}

/// One kernel of a space.
class Drafter {
 public:
  Drafter(const FlatSource& source, const KernelFile& file, const DraftRequest& request,
          const SpaceNames& names, const KernelFunction& kernel, const LaunchSite* site)
      : source_(source),
        file_(file),
        request_(request),
        names_(names),
        kernel_(kernel),
        site_(site) {}

  KernelDraft draft() {
    add_names();
    const Json launch = draft_launch();
    Json json = beginning(last_name(kernel_.name));
    json["entry"] = launch["entry"];
    add_parameters(json);
    json["block"] = launch["block"];
    json["grid"] = launch["grid"];
    if (launch.contains("cooperative")) json["cooperative"] = true;
    const Json constraints = constraints_of(launch["block"]);
    if (!constraints.empty()) {
      json["constraints"] = constraints;
      json["description"] = json["description"].get<std::string>() +
                            " Constraints as asserted before " + source_.place(site_->line) + ".";
    }
    add_dynamic_shared(json);
    return {.kernel = json, .launches = {launch_text(launch["block"], launch["grid"])}};
  }

  /// One of several launches: goes on with what the one before has chosen.
  void go_on_from(const Drafter& before) {
    has_macros_ = before.has_macros_;
    parameters_ = before.parameters_;
    default_ = before.default_;
    notes_ = before.notes_;
    guessed_ = before.guessed_;
    own_extents_ = before.own_extents_;
    made_of_ = before.made_of_;
  }

  /// Parameters of what the source has as names.
  void add_names() {
    add_numbers();
    add_missing();
  }

  /// `entry`, `block` and `grid`, and what parameters they take.
  Json draft_launch() {
    add_template_parameters();
    const Json block = block_of();
    const Json grid = grid_of(block);
    describe();
    Json launch = {{"entry", entry()}, {"block", block}, {"grid", grid}};
    const bool waits =
        kernel_.reached.contains("this_grid") || kernel_.reached.contains("grid_group");
    if (waits || (site_ != nullptr && site_->cooperative)) launch["cooperative"] = true;
    return launch;
  }

  /// The kernel's name, what there is to say of it, and its source.
  Json beginning(const std::string& name) const {
    std::string description = upper(source_.place(kernel_.line).substr(0, 1)) +
                              source_.place(kernel_.line).substr(1) + " of " +
                              request_.written_from + ".";
    for (const std::string& note : notes_) description += " " + note;
    Json json = {{"name", name}, {"description", description}};
    json["source"] = request_.source;
    if (has_macros_) json["pass"] = "define";
    return json;
  }

  void add_parameters(Json& json) const {
    if (parameters_.empty()) return;
    json["parameters"] = parameters_;
    json["default"] = default_;
    if (!guessed_.empty()) json["default_is_a_guess"] = true;
  }

  /// What the host asserts of parameters before it launches.
  Json constraints_of(const Json& block) const {
    Json constraints = Json::array();
    if (site_ == nullptr) return constraints;
    for (const std::string& text : site_->asserted) {
      const auto ours = in_our_names(names_.expanded(text, parameters_), block);
      const bool says = ours && std::ranges::any_of(identifiers(*ours), [&](std::string_view name) {
                          return parameters_.contains(std::string(name));
                        });
      if (says) constraints.push_back(*ours);
    }
    return constraints;
  }

  /// The array may be one of a function that the kernel calls: the launch tells.
  void add_dynamic_shared(Json& json) const {
    const bool said =
        site_ != nullptr && !site_->shared_bytes.empty() && site_->shared_bytes != "0";
    if (said) {
      if (const auto ours = in_our_names(site_->shared_bytes, json["block"])) {
        json["dynamic_shared_bytes"] = as_value(*ours);
        return;
      }
    }
    if (!said && std::ranges::none_of(kernel_.shared, &SharedArray::is_dynamic)) return;
    json["dynamic_shared_bytes"] =
        "TODO: bytes of the extern __shared__ array" +
        (said
             ? "; " + source_.place(site_->line) + " passes " + in_full(*site_, site_->shared_bytes)
             : ", such as " + (parameters_.empty() ? std::string("4 * 256")
                                                   : "4 * " + parameters_.begin().key()));
  }

  std::string launch_text(const Json& block, const Json& grid) const {
    const auto dimensions = [](const Json& extents) {
      std::string text;
      for (const Json& extent : extents) {
        const std::string one = text_of(extent);
        text += (text.empty() ? "" : " x ") + (is_todo(one) ? "TODO" : one);
      }
      return text;
    };
    std::string text =
        last_name(kernel_.name) + ": block " + dimensions(block) + ", grid " + dimensions(grid);
    text += site_ == nullptr ? "; not launched in this source" : "; " + source_.place(site_->line);
    if (!guessed_.empty()) text += "; a guess: " + listed(guessed_);
    return text;
  }

  /// `i < N / TILE`
  std::string repeat_of(const SequenceLoop& loop, const Json& block) const {
    const auto times = in_our_names(loop.times, block);
    if (times) return loop.counter + " < " + *times;
    return "TODO: " + loop.counter + " < how often the host repeats this; before " +
           source_.place(site_->line) + " it has " + loop.times;
  }

 private:
  // --- Parameters.

  void add_numbers() {
    has_macros_ =
        has_macros_ || std::ranges::any_of(names_.macro_sizes(), [&](const std::string& size) {
          return kernel_.reached.contains(size);
        });
    for (const NamedNumber& number : names_.numbers()) {
      if (!kernel_.reached.contains(number.name)) continue;
      has_macros_ = true;
      add_parameter(number.name, number.value);
    }
  }

  void add_missing() {
    for (const MissingName& missing : file_.missing) {
      if (!kernel_.reached.contains(missing.name) || !is_parameter(missing)) continue;
      has_macros_ = true;
      if (const std::vector<std::int64_t> values = compared(missing.name); !values.empty()) {
        parameters_[missing.name] = values;
        default_[missing.name] = values.front();
        continue;
      }
      const Guess values =
          guess(missing.name, is_shared_extent(missing.name), kernel_.block_dimensions);
      parameters_[missing.name] = values.values;
      default_[missing.name] = values.first;
      guessed_.push_back(missing.name);
    }
    if (!guessed_.empty()) {
      notes_.push_back(
          "Not defined in the source, so that the values are guesses: " + listed(guessed_) + ".");
    }
  }

  static bool is_parameter(const MissingName& missing) {
    const Meaning meaning = meaning_of(missing.name);
    const bool is_short = missing.name.size() < 2;
    const bool is_tunable =
        missing.is_constant || meaning == Meaning::tunable || is_macro_name(missing.name);
    return is_tunable && !missing.is_type && meaning != Meaning::problem && !is_short &&
           !is_limit(missing.name) && reserved_meaning(missing.name).empty();
  }

  bool is_shared_extent(const std::string& name) const {
    return std::ranges::any_of(kernel_.shared, [&](const SharedArray& array) {
      return std::ranges::find(array.extents, name) != array.extents.end();
    });
  }

  /// The values that #if and #elif tell apart; of a single one, whether it is that one.
  std::vector<std::int64_t> compared(const std::string& name) const {
    const auto found = file_.compared.find(name);
    if (found == file_.compared.end()) return {};
    std::set<std::int64_t> values = found->second;
    if (values.size() == 1 && (values.contains(0) || values.contains(1))) values = {0, 1};
    return values.size() > 1 ? std::vector<std::int64_t>(values.begin(), values.end())
                             : std::vector<std::int64_t>();
  }

  void add_parameter(const std::string& name, std::int64_t value) {
    default_[name] = value;
    const std::vector<std::int64_t> known = compared(name);
    if (std::ranges::find(known, value) != known.end()) {
      parameters_[name] = known;
      return;
    }
    const bool may_vary = meaning_of(name) == Meaning::tunable;
    parameters_[name] = values_around(name, value, may_vary);
    if (!may_vary) notes_.push_back(name + " has one value: add those that it may take.");
  }

  void add_template_parameters() {
    for (std::size_t i = 0; i < kernel_.template_parameters.size(); ++i) {
      const TemplateParameter& parameter = kernel_.template_parameters[i];
      if (parameter.is_type() || names_.problem().contains(parameter.name)) continue;
      const std::string text = names_.template_value(kernel_, i);
      if (parameter.kind == "bool") {
        parameters_[parameter.name] = {false, true};
        default_[parameter.name] = text == "true";
      } else if (const Enumeration* const words = enumeration(parameter.kind)) {
        parameters_[parameter.name] = words->words;
        const bool is_known = std::ranges::find(words->words, text) != words->words.end();
        default_[parameter.name] = is_known ? text : words->words.front();
        if (!is_known) guessed_.push_back(parameter.name);
      } else {
        add_number_parameter(parameter.name, text);
      }
    }
  }

  /// `text`: what the host or the default says.
  void add_number_parameter(const std::string& name, const std::string& text) {
    static constexpr std::array<std::string_view, 2> kThreads = {"thread", "block"};
    std::optional<std::int64_t> value = number_of(text);
    if (!value && site_ != nullptr && !text.empty()) {
      const auto ours =
          names_.terms_of(*site_).in_our_names(names_.expanded(text, parameters_), Scope());
      if (ours) value = constant_value(*ours);
    }
    if (!value) guessed_.push_back(name);
    const std::int64_t guess = !holds_any(name, kThreads)     ? 4
                               : kernel_.block_dimensions > 1 ? 16
                                                              : 128;
    add_parameter(name, value.value_or(guess));
  }

  /// Of the type with this name, with words to choose from; nullptr: there is none.
  const Enumeration* enumeration(const std::string& type) const {
    for (const Enumeration& known : file_.enumerations) {
      if (last_name(known.name) == last_name(type) && !known.words.empty()) return &known;
    }
    return nullptr;
  }

  std::string entry() const {
    std::string text;
    for (const TemplateParameter& parameter : kernel_.template_parameters) {
      text += (text.empty() ? "" : ", ") + parameter.name;
    }
    return text.empty() ? kernel_.name : kernel_.name + "<" + text + ">";
  }

  // --- The launch.

  /// Whether an expression of the source has a value here, too.
  bool is_known(const std::string& text) const {
    if (text.empty() || text.find('.') != std::string::npos) return false;
    for (const std::string_view name : identifiers(text)) {
      if (!parameters_.contains(std::string(name)) &&
          !names_.problem().contains(std::string(name))) {
        return false;
      }
    }
    return true;
  }

  /// The host's texts, with the extents of `block` for what the host calls the block.
  HostTerms terms(const Json& block) const {
    HostTerms terms = names_.terms_of(*site_);
    for (const auto& [variable, parameter] : tried_) terms.add(variable, parameter);
    for (std::size_t i = 0; i < block.size(); ++i) {
      std::string extent = text_of(block[i]);
      if (block[i].is_string() && !is_identifier(extent)) extent = "(" + extent + ")";
      if (!site_->block_name.empty()) {
        terms.add(site_->block_name + "." + axis(i), extent);
        if (block.size() == 1) terms.add(site_->block_name, extent);
      }
      const bool is_name = i < site_->block.size() && is_identifier(site_->block[i]);
      if (is_name && block[i].is_string()) terms.add(site_->block[i], extent);
    }
    for (std::size_t i = 0;
         i < std::min(site_->template_arguments.size(), kernel_.template_parameters.size()); ++i) {
      const std::string& name = kernel_.template_parameters[i].name;
      const std::string& text = site_->template_arguments[i];
      if (parameters_.contains(name) && is_identifier(text)) terms.add_everywhere(text, name);
    }
    for (const NamedNumber& number : file_.numbers) {
      if (parameters_.contains(number.name) || names_.problem().contains(number.name)) continue;
      terms.add_everywhere(number.name, std::to_string(number.value));
    }
    return terms;
  }

  std::optional<std::string> in_our_names(const std::string& text, const Json& block) const {
    const Scope scope = names_.scope(parameters_);
    const HostTerms known = terms(block);
    const auto plain = known.in_our_names(text, scope);
    return plain ? plain : known.in_our_names(names_.expanded(text, parameters_), scope);
  }

  Json block_of() {
    if (site_ != nullptr && !site_->block.empty()) {
      if (std::optional<Json> block = block_of_host()) return *block;
    }
    if (const Json bounds = block_of_bounds(); !bounds.empty()) return bounds;
    if (const Json named = named_block(); !named.empty()) return named;
    if (kernel_.uses_block_size) return guessed_block();
    Json block = Json::array();
    for (std::size_t i = 0; i < static_cast<std::size_t>(kernel_.block_dimensions); ++i) {
      block.push_back(
          "TODO: threads of a block in " + axis(i) + ", such as " + proposed_block(i) +
          launched_with(site_ == nullptr ? std::vector<std::string>() : site_->block, i));
    }
    return block;
  }

  /// As the host has it: each of its texts is one extent, so that one number for two dimensions
  /// stays one. Nullopt where one of them is not known.
  std::optional<Json> block_of_host() {
    std::map<std::string, Json> extents;
    Json block = Json::array();
    for (std::size_t i = 0; i < site_->block.size(); ++i) {
      const std::string& text = site_->block[i];
      auto known = extents.find(text);
      if (known == extents.end()) {
        const std::optional<Json> extent = extent_of_host(i);
        if (!extent) return std::nullopt;
        known = extents.emplace(text, *extent).first;
      }
      block.push_back(known->second);
    }
    return block;
  }

  std::optional<Json> extent_of_host(std::size_t i) {
    const std::string& text = site_->block[i];
    add_choices(text);
    const std::optional<std::string> ours = in_our_names(text, Json::array());
    if (!ours) return std::nullopt;
    const auto number = constant_value(*ours);
    if (!number) return Json(*ours);
    if (const std::string same = parameter_of_extent(*number); !same.empty()) return Json(same);
    if (*number > 1 && ignores_dimension(i)) {
      notes_.push_back(source_.place(site_->line) + " launches " + std::to_string(*number) +
                       " threads in " + axis(i) +
                       ", which the kernel does not tell apart: 1 here.");
      return Json(1);
    }
    if (!is_free(i, *number)) return Json(*number);
    const auto known = made_of_.find(text);
    if (known != made_of_.end()) return Json(known->second);
    const std::string made = add_extent(i, values_around("THREADS", *number, true), *number);
    made_of_.emplace(text, made);
    return Json(made);
  }

  /// Whether all threads along it do the same, over and over.
  bool ignores_dimension(std::size_t i) const {
    const bool counts_otherwise =
        kernel_.reached.contains("thread_rank") || kernel_.reached.contains("this_thread_block");
    const bool is_flat = i >= site_->grid.size() || site_->grid[i] == "1";
    return static_cast<int>(i) >= kernel_.block_dimensions && is_flat && !counts_otherwise;
  }

  /// The parameter that by its name and its default is the block's extent; empty: none or several.
  std::string parameter_of_extent(std::int64_t number) const {
    std::string found;
    for (const auto& [name, value] : default_.items()) {
      if (!value.is_number_integer() || value.get<std::int64_t>() != number) continue;
      if (!counts_threads(name) || own_extents_.contains(name)) continue;
      if (!found.empty()) return "";
      found = name;
    }
    return found;
  }

  /// What the host calls dimension i of the block.
  std::string variable_of_block(std::size_t i) const {
    const bool has_name = site_->block.size() == 1 && !site_->block_name.empty();
    return has_name ? site_->block_name : site_->block[i];
  }

  /// Whether another number of threads than the host's is worth a try: the kernel reads the block's
  /// size, the host does not insist on this one, and the grid follows it where it has to.
  bool is_free(std::size_t i, std::int64_t number) const {
    constexpr std::int64_t kWarp = 32;
    if (!kernel_.uses_block_size || !kernel_.launch_bounds.empty() || number <= 1) return false;
    const std::string variable = variable_of_block(i);
    if (names_.terms_of(*site_).overrides(variable) && number == kWarp) return false;
    const bool is_followed = grid_follows(i, number);
    const bool is_literal =
        number_of(site_->block[i]).has_value() && site_->block_name != site_->block[i];
    if (site_->block.size() > 1 && is_literal && !is_followed) return false;
    if (number == kWarp && is_literal && !is_followed) return false;
    return is_followed || !kernel_.strides_by_block[std::min<std::size_t>(i, 2)];
  }

  /// Whether the grid's dimension i has the block's variable or its number in it.
  bool grid_follows(std::size_t i, std::int64_t number) const {
    if (i >= site_->grid.size()) return false;
    std::string text = site_->grid[i];
    std::map<std::string, std::string> variables = site_->frames.front().variables;
    for (const std::string& extent : site_->block) variables.erase(extent);
    constexpr int kMaxDepth = 4;
    for (int depth = 0; depth < kMaxDepth; ++depth) {
      const bool names_block = mentions(text, variable_of_block(i)) ||
                               (!site_->block_name.empty() && mentions(text, site_->block_name));
      if (names_block || has_number(text, number)) return true;
      const std::string deeper = substituted(text, {variables.begin(), variables.end()});
      if (deeper == text) return false;
      text = deeper;
    }
    return false;
  }

  static bool has_number(const std::string& text, std::int64_t number) {
    return std::ranges::any_of(
        cpp_tokens(text), [&](const CppToken& token) { return number_of(token.text) == number; });
  }

  /// A parameter for the block's dimension i, by itself.
  std::string add_extent(std::size_t i, Json values, std::int64_t value) {
    constexpr std::int64_t kMostThreads = 1024;
    const bool is_single =
        kernel_.block_dimensions == 1 && (site_ == nullptr || site_->block.size() < 2);
    const bool is_square =
        site_ != nullptr && site_->block.size() > 1 && site_->block[0] == site_->block[1];
    std::erase_if(values.get_ref<Json::array_t&>(), [&](const Json& one) {
      return is_square && one > value &&
             one.get<std::int64_t>() > kMostThreads / one.get<std::int64_t>();
    });
    const std::string name = add_parameter_of_block(
        is_single || is_square ? "THREADS" : "THREADS_" + upper(axis(i)), values, value);
    own_extents_[name] = value;
    return name;
  }

  std::string add_parameter_of_block(const std::string& base, const Json& values,
                                     std::int64_t value) {
    std::string name = base;
    for (int n = 2; names_.is_taken(name) || parameters_.contains(name); ++n) {
      name = base + "_" + std::to_string(n);
    }
    parameters_[name] = values;
    default_[name] = value;
    return name;
  }

  /// A parameter for each variable in a text for which the host tries several values.
  void add_choices(const std::string& text, int depth = 0) {
    constexpr int kMaxDepth = 4;
    constexpr std::int64_t kUsual = 256;
    const HostTerms host = names_.terms_of(*site_);
    for (const std::string_view word : identifiers(text)) {
      const std::string name(word);
      if (std::ranges::find(tried_, name, &std::pair<std::string, std::string>::first) !=
          tried_.end())
        continue;
      const std::vector<std::int64_t> values = host.choices(name);
      const auto made_of = host.variables(0).find(name);
      if (!values.empty()) {
        const bool has_usual = std::ranges::find(values, kUsual) != values.end();
        tried_.emplace_back(name, add_parameter_of_block("THREADS", Json(values),
                                                         has_usual ? kUsual : values.front()));
        notes_.push_back(name + " as the host tries it.");
      } else if (made_of != host.variables(0).end() && depth < kMaxDepth) {
        add_choices(made_of->second, depth + 1);
      }
    }
  }

  Json block_of_bounds() const {
    if (kernel_.launch_bounds.empty() || !is_known(kernel_.launch_bounds.front())) {
      return Json::array();
    }
    const std::string& bound = kernel_.launch_bounds.front();
    if (kernel_.block_dimensions == 1) return Json::array({as_value(bound)});
    const std::size_t star = bound.find('*');
    if (kernel_.block_dimensions != 2 || star == std::string::npos) return Json::array();
    const CppTokens tokens = cpp_tokens(bound);
    const auto middle = static_cast<std::size_t>(
        std::ranges::find(tokens, std::string_view("*"), &CppToken::text) - tokens.begin());
    return Json::array({as_value(joined(tokens, {0, middle})),
                        as_value(joined(tokens, {middle + 1, tokens.size()}))});
  }

  /// Of the parameters whose names say that they are the block's extents; empty where not all of
  /// its dimensions have one.
  Json named_block() {
    const auto dimensions = static_cast<std::size_t>(kernel_.block_dimensions);
    std::vector<std::vector<std::string>> found(3);
    for (const auto& [name, values] : parameters_.items()) {
      if (!counts_threads(name)) continue;
      const std::optional<std::size_t> axis = axis_of(name);
      if (axis || dimensions == 1) found[axis.value_or(0)].push_back(name);
    }
    Json block = Json::array();
    for (std::size_t i = 0; i < dimensions; ++i) {
      if (found[i].size() != 1) return Json::array();
      block.push_back(found[i].front());
    }
    notes_.emplace_back("Block by the parameters' names.");
    return block;
  }

  /// The kernel reads its block's size, and nothing says how large it is.
  Json guessed_block() {
    static const std::array<std::vector<std::int64_t>, 3> kUsual = {
        std::vector<std::int64_t>{256}, {16, 16}, {8, 8, 4}};
    const auto dimensions = static_cast<std::size_t>(kernel_.block_dimensions);
    Json block = Json::array();
    for (std::size_t i = 0; i < dimensions; ++i) {
      const bool is_same = i > 0 && site_ != nullptr && i < site_->block.size() &&
                           site_->block[i] == site_->block[i - 1];
      if (is_same) {
        block.push_back(block.back());
        continue;
      }
      const std::int64_t value = kUsual[dimensions - 1][i];
      const std::string name = add_extent(i, values_around("THREADS", value, true), value);
      guessed_.push_back(name);
      block.push_back(name);
    }
    notes_.push_back("How many threads a block has is a guess" +
                     (site_ == nullptr ? std::string(": the source does not launch it.")
                                       : ": " + source_.place(site_->line) + " has " +
                                             listed(site_->block) + "."));
    return block;
  }

  static std::string axis(std::size_t i) {
    return std::string(1, "xyz"[std::min<std::size_t>(i, 2)]);
  }

  /// A parameter that is called so, or how far a shared array, row by row, reaches.
  std::string proposed_block(std::size_t i) const {
    for (const auto& [name, values] : parameters_.items()) {
      if (counts_threads(name) && axis_of(name) == i) return name;
    }
    for (const SharedArray& array : kernel_.shared) {
      if (i >= array.extents.size()) continue;
      const std::string& extent = array.extents[array.extents.size() - 1 - i];
      if (is_known(extent) && !number_of(extent)) return extent;
    }
    return parameters_.empty() ? "256" : parameters_.begin().key();
  }

  /// What the host has in dimension i; all of it where it does not say one by one.
  std::string launched_with(const std::vector<std::string>& texts, std::size_t i) const {
    if (site_ == nullptr || texts.empty()) return "";
    return "; " + source_.place(site_->line) + " has " +
           (i < texts.size() ? in_full(*site_, texts[i]) : listed(texts));
  }

  /// As the host has it, where that can be said in our names.
  Json grid_of(const Json& block) {
    const std::vector<std::string> texts =
        site_ == nullptr ? std::vector<std::string>() : site_->grid;
    const bool says_each = texts.size() > 1 || kernel_.grid_dimensions == 1;
    const std::size_t dimensions = std::max(static_cast<std::size_t>(kernel_.grid_dimensions),
                                            says_each ? texts.size() : std::size_t{0});
    Json grid = Json::array();
    bool is_hosts = false;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, dimensions); ++i) {
      const std::optional<std::string> ours =
          says_each && i < texts.size() ? grid_of_host(texts[i], i, block) : std::nullopt;
      is_hosts = is_hosts || ours.has_value();
      grid.push_back(ours ? as_value(*ours) : Json(proposed_grid(texts, i, block)));
    }
    if (is_hosts) {
      notes_.push_back("Grid as in " + source_.place(site_->line) +
                       ": see that it covers sizes that no block divides.");
    }
    return grid;
  }

  /// The block's number, where the host has it in the grid as a literal, becomes its parameter.
  std::optional<std::string> grid_of_host(const std::string& text, std::size_t i,
                                          const Json& block) const {
    std::optional<std::string> ours = in_our_names(text, block);
    if (!ours || i >= block.size() || !block[i].is_string()) return ours;
    const std::string extent = block[i].get<std::string>();
    const auto number = own_extents_.find(extent);
    if (number == own_extents_.end() || mentions(*ours, extent)) return ours;
    const std::string less = std::to_string(number->second - 1);
    return substituted(*ours,
                       {{std::to_string(number->second), extent}, {less, "(" + extent + " - 1)"}});
  }

  std::string proposed_grid(const std::vector<std::string>& texts, std::size_t i,
                            const Json& block) const {
    std::string per_block = proposed_block(i);
    if (i < block.size() && block[i].is_string() && !is_todo(block[i].get<std::string>())) {
      per_block = block[i].get<std::string>();
    }
    std::string blocks;  // A parameter that says it itself.
    for (const auto& [name, values] : parameters_.items()) {
      const bool multiplies = axis_of(name) == i && !counts_threads(name) && name != per_block;
      if (multiplies) per_block += " * " + name;
      if (i == 0 && lower(name).find("num_blocks") != std::string::npos) blocks = name;
    }
    if (blocks.empty()) blocks = "ceil_div(" + size_of_axis(i) + ", " + per_block + ")";
    return "TODO: blocks in " + axis(i) + ", such as " + blocks + launched_with(texts, i);
  }

  /// How far the problem reaches in dimension i, as far as the kernel's comparisons and names tell.
  std::string size_of_axis(std::size_t i) const {
    static constexpr std::array<std::array<std::string_view, 3>, 3> kNames = {
        {{"width", "cols", "columns"}, {"height", "rows", "rows"}, {"depth", "slices", "layers"}}};
    std::vector<std::string> candidates;
    for (const auto& [name, chosen] : names_.sizes()) candidates.push_back(chosen);
    if (candidates.empty()) candidates = names_.macro_sizes();
    const std::string& extent = kernel_.extents[std::min<std::size_t>(2, i)];
    for (const auto& [name, chosen] : names_.sizes()) {
      if (name == extent) return chosen;
    }
    if (std::ranges::find(names_.macro_sizes(), extent) != names_.macro_sizes().end())
      return extent;
    for (const std::string& name : candidates) {
      if (holds_any(name, kNames[std::min<std::size_t>(2, i)])) return name;
    }
    return candidates.empty() ? "1000000" : candidates[std::min(candidates.size() - 1, i)];
  }

  // --- Words about it.

  void describe() {
    std::vector<std::string> unused;
    for (const NamedNumber& number : file_.numbers) {
      if (!kernel_.reached.contains(number.name) || parameters_.contains(number.name) ||
          names_.problem().contains(number.name)) {
        continue;
      }
      unused.push_back(number.name + " = " + std::to_string(number.value));
    }
    if (!unused.empty()) {
      notes_.push_back(
          "Not searched, because what is computed seems to depend on it: " + listed(unused) + ".");
    }
    describe_shared();
    if (parameters_.empty()) notes_.emplace_back("Nothing to tune was found: add parameters.");
  }

  void describe_shared() {
    std::vector<std::string> arrays;
    for (const SharedArray& array : kernel_.shared) {
      std::string text = array.type + " " + array.name;
      for (const std::string& extent : array.extents) text += "[" + extent + "]";
      arrays.push_back(text + (array.is_dynamic ? "[]" : ""));
    }
    if (!arrays.empty()) notes_.push_back("Shared memory: " + listed(arrays) + ".");
    if (!kernel_.launch_bounds.empty()) {
      notes_.push_back("Launch bounds: " + listed(kernel_.launch_bounds) + ".");
    }
  }

  const FlatSource& source_;
  const KernelFile& file_;
  const DraftRequest& request_;
  const SpaceNames& names_;
  const KernelFunction& kernel_;
  const LaunchSite* site_;  ///< nullptr: the source does not launch it.
  bool has_macros_ = false;
  Json parameters_ = Json::object();
  Json default_ = Json::object();
  std::vector<std::string> notes_;
  std::vector<std::string> guessed_;  ///< Parameters whose default is a guess.
  /// Variables of the host that are parameters here.
  std::vector<std::pair<std::string, std::string>> tried_;
  std::map<std::string, std::int64_t> own_extents_;  ///< Parameters for the block by itself.
  std::map<std::string, std::string> made_of_;       ///< These, by what the host has.
};

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
    const auto kernel = std::ranges::find_if(file.kernels, [&](const KernelFunction& other) {
      return last_name(other.name) == site.kernel;
    });
    Drafter drafter(source, file, request, names, *kernel, &site);
    drafter.go_on_from(before);
    Json launch = drafter.draft_launch();
    launch["arguments"] = Json::array();
    for (const std::string& name : sequence.arguments[i]) {
      launch["arguments"].push_back(SpaceNames::argument_name(name));
    }
    for (const Json& constraint : drafter.constraints_of(launch["block"])) {
      if (std::ranges::find(constraints, constraint) == constraints.end()) {
        constraints.push_back(constraint);
      }
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
      }
      draft.launches.back() += "; " + text_of(launches.back()["repeat"]);
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
