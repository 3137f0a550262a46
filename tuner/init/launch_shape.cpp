#include "tuner/init/launch_shape.h"

#include "tuner/config/space_words.h"
#include "tuner/init/argument_draft.h"
#include "tuner/init/copies.h"
#include "tuner/init/names.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace smemtune {
namespace {

constexpr std::int64_t kFewestThreads = 8;  ///< Smaller numbers mostly mean something else.

bool has_number(const std::string& text, std::int64_t number) {
  return std::ranges::any_of(
      cpp_tokens(text), [&](const CppToken& token) { return number_of(token.text) == number; });
}

std::string axis(std::size_t i) { return std::string(1, "xyz"[std::min<std::size_t>(i, 2)]); }

class LaunchShapeDraft {
 public:
  LaunchShapeDraft(const LaunchedKernel& of, DraftedParameters& chosen)
      : of_(of), chosen_(chosen) {}

  /// Returns a text of the host at this launch in our names; nullopt if it has other names.
  std::optional<std::string> in_our_names(const std::string& text, const Json& block) const {
    return terms(block).in_our_names(text);
  }

  Json block() {
    if (of_.site != nullptr && !of_.site->block.empty()) {
      if (std::optional<Json> block = block_of_host()) return *block;
    }
    if (const Json bounds = block_of_bounds(); !bounds.empty()) return bounds;
    if (const Json named = named_block(); !named.empty()) return named;
    // A guess says nothing about how this block goes with the one of another launch.
    if (of_.kernel.uses_block_size && chosen_.own_extents.empty()) return guessed_block();
    Json block = Json::array();
    for (std::size_t i = 0; i < static_cast<std::size_t>(of_.kernel.block_dimensions); ++i) {
      block.push_back(
          "TODO: threads of a block in " + axis(i) + ", such as " + proposed_block(i) +
          launched_with(of_.site == nullptr ? std::vector<std::string>() : of_.site->block, i));
    }
    return block;
  }

  /// Leaves out the values of parameters with which such a block would have more threads than any
  /// device allows.
  void keep_within_limits(const Json& block) {
    constexpr std::int64_t kMostThreads = 1024;
    for (auto& [name, values] : chosen_.values.items()) {
      std::int64_t others = 1;  // Threads in the dimensions that are numbers.
      int dimensions = 0;
      for (const Json& extent : block) {
        if (extent.is_number_integer()) others *= extent.get<std::int64_t>();
        if (extent == name) ++dimensions;
      }
      const Json& first = chosen_.defaults[name];
      if (dimensions == 0 || !first.is_number_integer()) continue;
      std::erase_if(values.get_ref<Json::array_t&>(), [&](const Json& value) {
        std::int64_t threads = others;
        for (int i = 0; i < dimensions; ++i) threads *= value.get<std::int64_t>();
        return threads > kMostThreads && value != first;
      });
    }
  }

  /// Returns the grid's extents from x on, each as the host has it if that can be said in our
  /// names, or a TODO.
  Json grid(const Json& block) {
    std::vector<std::string> texts =
        of_.site == nullptr ? std::vector<std::string>() : of_.site->grid;
    const bool is_number = texts.size() == 1 && number_of(texts.front());
    if (is_number) texts.resize(static_cast<std::size_t>(of_.kernel.grid_dimensions), "1");
    const bool says_each = texts.size() > 1 || of_.kernel.grid_dimensions == 1;
    const std::size_t dimensions = std::max(static_cast<std::size_t>(of_.kernel.grid_dimensions),
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
      chosen_.notes.push_back("Grid as in " + of_.source.place(of_.site->line) +
                              ": check that it covers sizes that no block divides.");
    }
    return grid;
  }

 private:
  std::string in_parameters(const std::string& name) const {
    return of_.in_parameters(name, chosen_.values);
  }

  /// Returns true if an expression of the source has a value in the space, too.
  bool is_known(const std::string& text) const {
    if (text.empty() || text.find('.') != std::string::npos) return false;
    for (const std::string_view name : identifiers(text)) {
      if (!chosen_.values.contains(std::string(name)) &&
          !of_.names.problem().contains(std::string(name))) {
        return false;
      }
    }
    return true;
  }

  /// Returns the host's texts, with the extents of `block` for the texts that are the host's block.
  HostTerms terms(const Json& block) const {
    HostTerms terms = of_.names.terms_of(*of_.site, chosen_.values);
    for (const auto& [variable, parameter] : chosen_.tried) terms.add(variable, parameter);
    for (std::size_t i = 0; i < block.size(); ++i) {
      std::string extent = plain_text(block[i]);
      if (block[i].is_string() && !is_identifier(extent)) extent = "(" + extent + ")";
      if (!of_.site->block_name.empty()) {
        terms.add(of_.site->block_name + "." + axis(i), extent);
        if (block.size() == 1) terms.add(of_.site->block_name, extent);
      }
      const bool is_name = i < of_.site->block.size() && !number_of(of_.site->block[i]);
      if (is_name && block[i].is_string()) terms.add(of_.site->block[i], extent);
    }
    for (std::size_t i = 0;
         i < std::min(of_.site->template_arguments.size(), of_.kernel.template_parameters.size());
         ++i) {
      const std::string& name = of_.kernel.template_parameters[i].name;
      const std::string& text = of_.site->template_arguments[i];
      if (chosen_.values.contains(name) && is_identifier(text)) terms.add_everywhere(text, name);
    }
    return terms;
  }

  /// Returns the block as the host has it: each of the host's texts is one extent, so that one
  /// number for two dimensions stays one. Nullopt if an extent is not known.
  std::optional<Json> block_of_host() {
    std::map<std::string, Json> extents;
    Json block = Json::array();
    for (std::size_t i = 0; i < of_.site->block.size(); ++i) {
      const std::string& text = of_.site->block[i];
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
    const std::string& text = of_.site->block[i];
    add_choices(text);
    const std::optional<std::string> ours = in_our_names(text, Json::array());
    if (!ours) return std::nullopt;
    const auto number = constant_value(*ours);
    if (!number) return Json(*ours);
    if (const std::string same = parameter_of_extent(i, *number); !same.empty()) return Json(same);
    if (*number > 1 && ignores_dimension(i)) {
      chosen_.notes.push_back(of_.source.place(of_.site->line) + " launches " +
                              std::to_string(*number) + " threads in " + axis(i) +
                              ", which the kernel does not tell apart: 1 here.");
      return Json(1);
    }
    if (is_tied(i, *number) || !is_free(i, *number)) return Json(*number);
    const auto known = chosen_.made_of.find(text);
    if (known != chosen_.made_of.end()) return Json(known->second);
    const std::string made = add_extent(i, values_of_threads(i, *number), *number);
    chosen_.made_of.emplace(text, made);
    return Json(made);
  }

  /// Returns true if all threads along this dimension do the same, over and over.
  bool ignores_dimension(std::size_t i) const {
    const bool counts_otherwise = of_.kernel.reached.contains("thread_rank") ||
                                  of_.kernel.reached.contains("this_thread_block");
    const bool is_flat = i >= of_.site->grid.size() || of_.site->grid[i] == "1";
    return static_cast<int>(i) >= of_.kernel.block_dimensions && is_flat && !counts_otherwise;
  }

  /// Returns the parameter that is the block's extent, by how the kernel numbers elements, by its
  /// name and its default, or as the host has its number in both places; empty if there are none or
  /// several.
  std::string parameter_of_extent(std::size_t i, std::int64_t number) {
    const std::string numbers =
        in_parameters(of_.kernel.thread_extents[std::min<std::size_t>(i, 2)]);
    const Json its_default = chosen_.defaults.value(numbers, Json());
    if (its_default.is_number_integer() && its_default == number) {
      vary_extent(numbers, i, number);
      return numbers;
    }
    std::vector<std::string> named;
    for (const auto& [name, value] : chosen_.defaults.items()) {
      const bool is_same = value.is_number_integer() && value.get<std::int64_t>() == number;
      if (is_same && counts_threads(name) && !chosen_.own_extents.contains(name)) {
        named.push_back(name);
      }
    }
    if (named.size() == 1) return named.front();
    // The host has the number twice: as a template argument and as the block's extent.
    std::vector<std::string> passed;
    for (const TemplateParameter& parameter : of_.kernel.template_parameters) {
      const std::string name = in_parameters(parameter.name);
      const Json value = chosen_.defaults.value(name, Json());
      if (value.is_number_integer() && value == number) passed.push_back(name);
    }
    const bool is_one = passed.size() == 1;
    if (number < kFewestThreads || (!is_one && passed.size() != of_.site->block.size())) return "";
    const std::string found = passed[is_one ? 0 : i];
    vary_extent(found, i, number);
    return found;
  }

  /// Gives such a parameter the values that a block may have, if the grid follows it.
  void vary_extent(const std::string& name, std::size_t i, std::int64_t number) {
    const std::string only = name + " has one value";
    const auto note = std::ranges::find_if(
        chosen_.notes, [&](const std::string& text) { return text.starts_with(only); });
    const bool strides = of_.kernel.reached.contains("gridDim");
    if (note == chosen_.notes.end() || (!strides && !grid_follows(i, number))) return;
    chosen_.notes.erase(note);
    chosen_.values[name] = values_of_threads(i, number);
  }

  /// Returns numbers of threads around one: whole warps, if that is one, in a block with one
  /// dimension.
  Json values_of_threads(std::size_t i, std::int64_t number) const {
    constexpr std::int64_t kWarp = 32;
    Json values = values_around("THREADS", number, true);
    const bool is_line = of_.kernel.block_dimensions == 1 && number % kWarp == 0;
    const std::int64_t most = most_threads(i, number);
    std::erase_if(values.get_ref<Json::array_t&>(), [&](const Json& one) {
      const bool is_too_large = one.get<std::int64_t>() > most && one != number;
      return is_too_large || (is_line && one.get<std::int64_t>() % kWarp != 0);
    });
    return values;
  }

  /// Returns the kernel's launch bound if that is a number and bounds one dimension.
  std::optional<std::int64_t> launch_bound() const {
    const std::vector<std::string>& bounds = of_.kernel.launch_bounds;
    if (bounds.empty() || of_.kernel.block_dimensions > 1) return std::nullopt;
    return number_of(bounds.front());
  }

  /// Returns how many threads a block may have in dimension i at most, by the launch bound and the
  /// arrays of which each thread uses elements. `number`: how many the host launches.
  std::int64_t most_threads(std::size_t i, std::int64_t number) const {
    std::int64_t most = launch_bound().value_or(1024);
    for (const BlockNumber& to : of_.kernel.block_numbers) {
      const std::int64_t extent = to.axis == i ? value_in_kernel(to.text).value_or(0) : 0;
      if (extent < number) continue;
      if (to.kind == BlockNumber::Kind::array) most = std::min(most, extent);
      if (to.kind == BlockNumber::Kind::scaled) most = std::min(most, number);
    }
    return most;
  }

  /// Returns the host's name for dimension i of the block.
  std::string variable_of_block(std::size_t i) const {
    const bool has_name = of_.site->block.size() == 1 && !of_.site->block_name.empty();
    return has_name ? of_.site->block_name : of_.site->block[i];
  }

  /// Returns true if other numbers of threads than the host's are worth a try: the kernel reads the
  /// block's size, the host does not insist on its number, and the grid follows the block where it
  /// has to.
  bool is_free(std::size_t i, std::int64_t number) const {
    constexpr std::int64_t kWarp = 32;
    const bool is_bounded = !of_.kernel.launch_bounds.empty() && !launch_bound();
    if (!of_.kernel.uses_block_size || is_bounded || number <= 1) return false;
    if (is_copy(of_.kernel.name)) return false;  // Nobody tunes what init has added.
    const std::string variable = variable_of_block(i);
    if (of_.names.terms_of(*of_.site).overrides(variable) && number == kWarp) return false;
    const bool is_followed = grid_follows(i, number);
    const bool is_literal =
        number_of(of_.site->block[i]).has_value() && of_.site->block_name != of_.site->block[i];
    if (of_.site->block.size() > 1 && is_literal && !is_followed) return false;
    if (number == kWarp && is_literal && !is_followed) return false;
    return is_followed || of_.kernel.loops_by_block[std::min<std::size_t>(i, 2)];
  }

  /// Returns the value of a text of the kernel; nullopt if it depends on parameters or sizes.
  std::optional<std::int64_t> value_in_kernel(const std::string& text) const {
    return constant_value(of_.names.expanded(in_parameters(text), chosen_.values));
  }

  /// Returns true if the kernel is right with that number of threads only.
  bool ties(const BlockNumber& to, std::int64_t threads) const {
    constexpr std::int64_t kWarp = 32;
    const std::int64_t number = value_in_kernel(to.text).value_or(0);
    switch (to.kind) {
      case BlockNumber::Kind::thread:
        return number == threads || number == threads - 1 ||
               (number * 2 == threads && number != kWarp);
      case BlockNumber::Kind::tile:
        return !of_.kernel.loops_by_block[to.axis];
      case BlockNumber::Kind::whole:
        return number >= threads;
      default:
        return to.kind == BlockNumber::Kind::result;
    }
  }

  /// Says which line keeps the kernel to that number of threads in dimension i. Returns false if
  /// none does.
  bool is_tied(std::size_t i, std::int64_t threads) {
    for (const BlockNumber& to : of_.kernel.block_numbers) {
      if (to.axis != i || !ties(to, threads)) continue;
      chosen_.notes.push_back("The block stays at " + std::to_string(threads) + " threads in " +
                              axis(i) + ", because " + of_.source.place(to.line) +
                              (to.text.empty() ? " stores what each block makes of its elements."
                                               : " has " + to.text + "."));
      return true;
    }
    if (threads > 1 && !of_.kernel.uses_block_size) {
      chosen_.notes.push_back("The block stays at " + std::to_string(threads) + " threads in " +
                              axis(i) + ", because the kernel does not read blockDim.");
    }
    return false;
  }

  /// Returns true if the grid's dimension i contains the block's variable or its number.
  bool grid_follows(std::size_t i, std::int64_t number) const {
    if (i >= of_.site->grid.size()) return false;
    std::string text = of_.site->grid[i];
    std::map<std::string, std::string> variables = of_.site->frames.front().variables;
    for (const std::string& extent : of_.site->block) variables.erase(extent);
    constexpr int kMostSteps = 4;
    for (int depth = 0; depth < kMostSteps; ++depth) {
      const auto holds = [&](const std::string& term) {
        return !term.empty() && !number_of(term) && substituted(text, {{term, "of_block"}}) != text;
      };
      const bool names_block = holds(variable_of_block(i)) || holds(of_.site->block_name);
      const bool has_its = std::ranges::any_of(
          factors(i), [&](std::int64_t factor) { return has_number(text, number * factor); });
      if (names_block || (has_its && !number_of(without_parentheses(text)))) return true;
      const std::string deeper = substituted(text, {variables.begin(), variables.end()});
      if (deeper == text) return false;
      text = deeper;
    }
    return false;
  }

  /// Returns how many elements a thread may have, where blocks have as many for each thread.
  std::vector<std::int64_t> factors(std::size_t i) const {
    const std::size_t axis = std::min<std::size_t>(i, 2);
    const bool has_several = of_.kernel.strides_by_block[axis] && !of_.kernel.loops_by_block[axis];
    return has_several ? std::vector<std::int64_t>{1, 2, 4, 8, 16} : std::vector<std::int64_t>{1};
  }

  /// Adds a parameter for the block's dimension i alone.
  std::string add_extent(std::size_t i, const Json& values, std::int64_t value) {
    const bool is_single =
        of_.kernel.block_dimensions == 1 && (of_.site == nullptr || of_.site->block.size() < 2);
    const bool is_square = of_.site != nullptr && of_.site->block.size() > 1 &&
                           of_.site->block[0] == of_.site->block[1];
    const std::string name = add_parameter_of_block(
        is_single || is_square ? "THREADS" : "THREADS_" + upper(axis(i)), values, value);
    chosen_.own_extents[name] = value;
    return name;
  }

  std::string add_parameter_of_block(const std::string& base, const Json& values,
                                     std::int64_t value) {
    std::string name = base;
    for (int n = 2; of_.names.is_taken(name) || chosen_.values.contains(name); ++n) {
      name = base + "_" + std::to_string(n);
    }
    chosen_.values[name] = values;
    chosen_.defaults[name] = value;
    return name;
  }

  /// Adds a parameter for each variable in a text for which the host tries several values.
  void add_choices(const std::string& text, int depth = 0) {
    constexpr int kMostSteps = 4;
    constexpr std::int64_t kUsual = 256;
    const HostTerms host = of_.names.terms_of(*of_.site);
    for (const std::string_view word : identifiers(text)) {
      const std::string name(word);
      if (std::ranges::find(chosen_.tried, name, &std::pair<std::string, std::string>::first) !=
          chosen_.tried.end()) {
        continue;
      }
      const std::vector<std::int64_t> values = host.choices(name);
      const auto made_of = host.variables(0).find(name);
      if (!values.empty()) {
        const bool has_usual = std::ranges::find(values, kUsual) != values.end();
        chosen_.tried.emplace_back(
            name,
            add_parameter_of_block("THREADS", Json(values), has_usual ? kUsual : values.front()));
        chosen_.notes.push_back(name + " has the values that the host tries.");
      } else if (made_of != host.variables(0).end() && depth < kMostSteps) {
        add_choices(made_of->second, depth + 1);
      }
    }
  }

  Json block_of_bounds() const {
    if (of_.kernel.launch_bounds.empty()) return Json::array();
    const std::string bound = in_parameters(of_.kernel.launch_bounds.front());
    if (!is_known(bound)) return Json::array();
    if (of_.kernel.block_dimensions == 1) return Json::array({as_value(bound)});
    const std::size_t star = bound.find('*');
    if (of_.kernel.block_dimensions != 2 || star == std::string::npos) return Json::array();
    const CppTokens tokens = cpp_tokens(bound);
    const auto middle = static_cast<std::size_t>(
        std::ranges::find(tokens, std::string_view("*"), &CppToken::text) - tokens.begin());
    return Json::array({as_value(joined(tokens, {0, middle})),
                        as_value(joined(tokens, {middle + 1, tokens.size()}))});
  }

  /// Returns a block of parameters whose names say that they are its extents; empty if not all of
  /// its dimensions have one.
  Json named_block() {
    const auto dimensions = static_cast<std::size_t>(of_.kernel.block_dimensions);
    std::vector<std::vector<std::string>> found(3);
    for (const auto& [name, values] : chosen_.values.items()) {
      if (!counts_threads(name) || chosen_.own_extents.contains(name)) continue;
      const std::optional<std::size_t> axis = axis_of(name);
      if (axis || dimensions == 1) found[axis.value_or(0)].push_back(name);
    }
    Json block = Json::array();
    for (std::size_t i = 0; i < dimensions; ++i) {
      if (found[i].size() != 1) return Json::array();
      block.push_back(found[i].front());
    }
    chosen_.notes.emplace_back("The block is guessed from the parameters' names.");
    return block;
  }

  /// Returns a guess, for a kernel that reads its block's size where nothing says how large it is.
  Json guessed_block() {
    static const std::array<std::vector<std::int64_t>, 3> kUsual = {
        std::vector<std::int64_t>{256}, {16, 16}, {8, 8, 4}};
    const auto dimensions = static_cast<std::size_t>(of_.kernel.block_dimensions);
    Json block = Json::array();
    for (std::size_t i = 0; i < dimensions; ++i) {
      const bool is_same = i > 0 && of_.site != nullptr && i < of_.site->block.size() &&
                           of_.site->block[i] == of_.site->block[i - 1];
      if (is_same) {
        block.push_back(block.back());
        continue;
      }
      const std::int64_t value = kUsual[dimensions - 1][i];
      const std::string name = add_extent(i, values_around("THREADS", value, true), value);
      chosen_.guessed.push_back(name);
      block.push_back(name);
    }
    chosen_.notes.push_back("How many threads a block has is a guess" +
                            (of_.site == nullptr ? std::string(": the source does not launch it.")
                                                 : ": " + of_.source.place(of_.site->line) +
                                                       " has " + listed(of_.site->block) + "."));
    return block;
  }

  /// Returns a parameter whose name says so, or the extent of a shared array, row by row.
  std::string proposed_block(std::size_t i) const {
    for (const auto& [name, values] : chosen_.values.items()) {
      if (counts_threads(name) && axis_of(name) == i) return name;
    }
    for (const SharedArray& array : of_.kernel.shared) {
      if (i >= array.extents.size()) continue;
      const std::string& extent = array.extents[array.extents.size() - 1 - i];
      if (is_known(extent) && !number_of(extent)) return extent;
    }
    return chosen_.values.empty() ? "256" : chosen_.values.begin().key();
  }

  /// Returns the host's text for dimension i; all of its texts if it has no text for each.
  std::string launched_with(const std::vector<std::string>& texts, std::size_t i) const {
    if (of_.site == nullptr || texts.empty()) return "";
    return "; " + of_.source.place(of_.site->line) + " has " +
           (i < texts.size() ? in_full(*of_.site, texts[i]) : listed(texts));
  }

  /// Returns the host's extent, with parameters in place of their number if the grid has that
  /// number as a literal.
  std::optional<std::string> grid_of_host(const std::string& text, std::size_t i,
                                          const Json& block) const {
    std::optional<std::string> ours = in_our_names(text, block);
    if (!ours || number_of(*ours)) return ours;  // A number of blocks is made of nothing.
    for (const auto& [product, number] : products_of_parameters(i, block)) {
      const std::string wanted = std::to_string(number);
      const std::string first(identifiers(product).front());
      if (!has_number(*ours, number) || has_name(*ours, first)) continue;
      const std::string whole = is_identifier(product) ? product : "(" + product + ")";
      return substituted(*ours,
                         {{wanted, whole}, {std::to_string(number - 1), "(" + product + " - 1)"}});
    }
    return ours;
  }

  /// Returns what a number in the grid may be made of, with the number, the likeliest first: what
  /// the kernel multiplies blockIdx by, the block's extent, by itself or with another parameter,
  /// then other parameters, and the block's extent for several elements of each thread.
  std::vector<std::pair<std::string, std::int64_t>> products_of_parameters(
      std::size_t i, const Json& block) const {
    std::vector<std::pair<std::string, std::int64_t>> products;
    const auto number_of_name = [&](const std::string& name) -> std::int64_t {
      const Json value = chosen_.defaults.value(name, Json());
      return value.is_number_integer() ? value.get<std::int64_t>() : 0;
    };
    const std::string tile = in_parameters(of_.kernel.tiles[std::min<std::size_t>(i, 2)]);
    if (number_of_name(tile) > 1) products.emplace_back(tile, number_of_name(tile));
    std::vector<std::string> extents;  // The dimension's own first.
    if (i < block.size()) extents.push_back(plain_text(block[i]));
    for (const Json& extent : block) extents.push_back(plain_text(extent));
    for (const std::string& extent : extents) {
      const std::int64_t threads = number_of_name(extent);
      if (threads < kFewestThreads && !chosen_.own_extents.contains(extent)) continue;
      products.emplace_back(extent, threads);
      for (const auto& [name, value] : chosen_.defaults.items()) {
        const std::int64_t factor = number_of_name(name);
        if (factor > 1) products.emplace_back(extent + " * " + name, threads * factor);
      }
      if (block.size() > 1) break;
    }
    for (const auto& [name, value] : chosen_.defaults.items()) {
      const bool is_extent = std::ranges::find(extents, name) != extents.end();
      if (!is_extent && number_of_name(name) >= kFewestThreads) {
        products.emplace_back(name, number_of_name(name));
      }
    }
    const auto own = chosen_.own_extents.find(extents.empty() ? "" : extents.front());
    for (const std::int64_t factor : factors(i)) {
      if (own == chosen_.own_extents.end()) break;
      products.emplace_back(own->first + " * " + std::to_string(factor), own->second * factor);
    }
    return products;
  }

  std::string proposed_grid(const std::vector<std::string>& texts, std::size_t i,
                            const Json& block) const {
    std::string per_block = proposed_block(i);
    if (i < block.size() && block[i].is_string() && !is_todo(block[i].get<std::string>())) {
      per_block = block[i].get<std::string>();
    }
    std::string blocks;  // A parameter that is the number of blocks itself.
    for (const auto& [name, values] : chosen_.values.items()) {
      const bool multiplies = axis_of(name) == i && !counts_threads(name) && name != per_block;
      if (multiplies) per_block += " * " + name;
      if (i == 0 && lower_case(name).find("num_blocks") != std::string::npos) blocks = name;
    }
    if (blocks.empty()) blocks = "ceil_div(" + size_of_axis(i) + ", " + per_block + ")";
    return "TODO: blocks in " + axis(i) + ", such as " + blocks + launched_with(texts, i);
  }

  /// Returns the problem's size in dimension i, as far as the kernel's comparisons and names tell.
  std::string size_of_axis(std::size_t i) const {
    static const std::array<std::initializer_list<std::string_view>, 3> kNames = {
        {{"width", "cols", "columns"}, {"height", "rows", "rows"}, {"depth", "slices", "layers"}}};
    std::vector<std::string> candidates;
    for (const auto& [name, chosen] : of_.names.sizes()) candidates.push_back(chosen);
    if (candidates.empty()) candidates = of_.names.macro_sizes();
    const std::string& extent = of_.kernel.extents[std::min<std::size_t>(2, i)];
    for (const auto& [name, chosen] : of_.names.sizes()) {
      if (name == extent) return chosen;
    }
    if (std::ranges::find(of_.names.macro_sizes(), extent) != of_.names.macro_sizes().end())
      return extent;
    for (const std::string& name : candidates) {
      if (holds_any(name, kNames[std::min<std::size_t>(2, i)])) return name;
    }
    return candidates.empty() ? "1000000" : candidates[std::min(candidates.size() - 1, i)];
  }

  const LaunchedKernel& of_;
  DraftedParameters& chosen_;
};

}  // namespace

Json draft_block(const LaunchedKernel& of, DraftedParameters& chosen) {
  LaunchShapeDraft draft(of, chosen);
  Json block = draft.block();
  draft.keep_within_limits(block);
  return block;
}

Json draft_grid(const LaunchedKernel& of, const Json& block, DraftedParameters& chosen) {
  return LaunchShapeDraft(of, chosen).grid(block);
}

std::optional<std::string> in_our_names(const LaunchedKernel& of, const std::string& text,
                                        const Json& block, DraftedParameters& chosen) {
  return LaunchShapeDraft(of, chosen).in_our_names(text, block);
}

}  // namespace smemtune
