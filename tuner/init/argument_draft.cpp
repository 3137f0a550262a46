#include "tuner/init/argument_draft.h"

#include "tuner/config/space_words.h"
#include "tuner/init/elements.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

class ArgumentDrafter {
 public:
  ArgumentDrafter(const FlatSource& source, const KernelFile& file, const SpaceNames& names,
                  const Json& kernels)
      : source_(source), file_(file), names_(names), kernels_(kernels), first_(names.first()) {
    if (site() != nullptr) terms_.emplace(names.terms_of(*site()));
  }

  ArgumentDraft draft() const {
    ArgumentDraft draft;
    for (const KernelParameter& parameter : first_.parameters) {
      DraftedArgument row = {.name = parameter.name};
      if (const std::string passed = passed_text(parameter); !passed.empty()) {
        row.said_by = source_.place(site()->line) + ", " + passed;
      }
      draft.arguments.push_back(argument(parameter, row));
      if (parameter.pointers > 0) compare_sum(parameter, draft);
      add_row(draft, std::move(row));
    }
    add_constants(draft.arguments);
    keep_sums_from_zero(draft.arguments);
    for (std::size_t i = draft.rows.size(); i < draft.arguments.size(); ++i) {
      add_row(draft, {.name = draft.arguments[i]["name"]});
    }
    return draft;
  }

 private:
  /// Returns the host's launch of the kernel, or nullptr.
  const LaunchSite* site() const { return names_.launch_of(first_.name); }

  /// Returns the number of functions on the way to the launch.
  std::size_t frames() const { return site() == nullptr ? 0 : site()->frames.size(); }

  std::size_t number_of(const KernelParameter& parameter) const {
    return static_cast<std::size_t>(&parameter - first_.parameters.data());
  }

  std::string passed_text(const KernelParameter& parameter) const {
    return names_.passed_text(parameter.name);
  }

  /// Gives inputs of which far fewer results are made values of one sign: a sum of both signs is so
  /// much smaller than what it is made of that no relative tolerance fits it.
  void keep_sums_from_zero(Json& arguments) const {
    constexpr double kManyOfOne = 32;
    double most_read = 0;
    double most_written = 0;
    for (const Json& argument : arguments) {
      if (!argument.contains("shape")) continue;
      const double elements = elements_in(argument["shape"]);
      if (elements == 0) return;
      double& most = argument["role"] == "input" ? most_read : most_written;
      most = std::max(most, elements);
    }
    if (most_read < kManyOfOne * most_written) return;
    for (Json& argument : arguments) {
      const bool is_input = argument.value("role", "") == "input";
      if (is_input && argument.value("init", "") == "uniform(-1, 1)") {
        argument["init"] = "uniform(0, 1)";
      }
    }
  }

  /// Returns the first value of each parameter.
  Json first_values() const {
    Json first = Json::object();
    for (const auto& [name, values] : names_.parameters().items()) {
      first[name] = values.is_array() && !values.empty() ? values.front() : values;
    }
    return first;
  }

  /// Returns the number of elements of a shape, with the first values of the parameters; 0 if it
  /// is not known.
  double elements_in(const Json& shape) const {
    const Json first = first_values();
    double elements = 1;
    for (const Json& extent : shape) {
      const std::string text = plain_text(extent);
      elements *= static_cast<double>(value_with(text, {&names_.problem(), &first}).value_or(0));
    }
    return elements;
  }

  static void add_row(ArgumentDraft& draft, DraftedArgument row) {
    const Json& json = draft.arguments[draft.rows.size()];
    const auto text = [](const Json& value) {
      const std::string whole = plain_text(value);
      return is_todo(whole) ? "TODO" : whole;
    };
    if (row.role.empty()) row.role = json.contains("role") ? text(json["role"]) : "value";
    if (json.contains("shape")) {
      for (const Json& extent : json["shape"]) {
        row.shape += (row.shape.empty() ? "" : " x ") + text(extent);
      }
    } else if (json.contains("value")) {
      row.shape = text(json["value"]);
    }
    draft.rows.push_back(std::move(row));
  }

  /// Returns the sizes named after a parameter: `filter_height * filter_width` for `filter`, if the
  /// source has macros of these names.
  std::optional<std::string> sizes_named_after(const std::string& parameter) const {
    static constexpr std::array<std::array<std::string_view, 2>, 4> kPairs = {
        {{"_height", "_width"}, {"_rows", "_cols"}, {"_h", "_w"}, {"_size_y", "_size_x"}}};
    for (const auto& [rows, columns] : kPairs) {
      const std::string high = extent_called(lower_case(parameter) + std::string(rows));
      const std::string wide = extent_called(lower_case(parameter) + std::string(columns));
      if (!high.empty() && !wide.empty()) return high + " * " + wide;
    }
    return std::nullopt;
  }

  /// Returns, in names of the problem, the value of a macro that has this name in any case; may be
  /// empty.
  std::string extent_called(const std::string& name) const {
    for (const std::string& size : names_.macro_sizes()) {
      if (lower_case(size) == name) return size;
    }
    for (const auto& [macro, texts] : file_.meanings) {
      if (lower_case(macro) != name) continue;
      const std::string ours = names_.expanded(macro);
      if (names_.is_of_problem(ours)) return ours;
    }
    return "";
  }

  Json argument(const KernelParameter& parameter, DraftedArgument& row) const {
    Json json = {{"name", SpaceNames::argument_name(parameter.name)}};
    if (parameter.is_texture()) {
      add_texture(json, parameter);
      return json;
    }
    const bool is_template = std::ranges::any_of(
        first_.template_parameters,
        [&](const TemplateParameter& t) { return t.is_type() && t.name == parameter.type; });
    Elements elements =
        resolved_elements(is_template ? instantiated(parameter.type) : parameter.type);
    const TypeLayout* const layout = layout_of(parameter.type);
    if (parameter.pointers == 0 && layout != nullptr && layout->is_record) elements = {};
    const std::size_t bytes =
        elements.type.empty() && parameter.pointers <= 1 && layout != nullptr ? layout->bytes : 0;
    const std::string type =
        is_template ? parameter.type
        : bytes > 0 ? "bytes(" + std::to_string(bytes) + ")"
        : !elements.type.empty() && parameter.pointers <= 1
            ? elements.type
            : "TODO: bytes(SIZE), SIZE being sizeof(" + parameter.type +
                  std::string(static_cast<std::size_t>(std::max(0, parameter.pointers - 1)), '*') +
                  ") on the GPU, or the type of its elements";
    if (parameter.pointers > 0) {
      add_buffer(json, parameter, elements, type, row);
    } else {
      add_scalar(json, parameter, elements, type, row);
    }
    return json;
  }

  /// Returns the problem's type for a template parameter; any other type unchanged.
  std::string instantiated(const std::string& type) const {
    const auto known = names_.problem().find(type);
    return known == names_.problem().end() ? type : known->get<std::string>();
  }

  /// Returns the elements of a type to which the source may have given the name. If their number
  /// depends on a macro, it is 1.
  Elements resolved_elements(const std::string& type, int depth = 0) const {
    constexpr int kMaxDepth = 4;
    Elements known = elements_of(type);
    const TypeLayout* const layout = known.type.empty() ? layout_of(type) : nullptr;
    if (layout != nullptr && !layout->is_mixed) return {layout->type, layout->count};
    const auto found = file_.meanings.find(type);
    if (!known.type.empty() || found == file_.meanings.end() || depth == kMaxDepth) return known;
    Elements all;
    for (const std::string& text : found->second) {
      const Elements one = resolved_elements(text, depth + 1);
      if (one.type.empty() || (!all.type.empty() && all.type != one.type)) return {};
      all = {one.type, all.type.empty() || all.count == one.count ? one.count : 1};
    }
    return all;
  }

  const TypeLayout* layout_of(const std::string& type) const {
    const auto found = file_.layouts.find(type.starts_with("struct ") ? type.substr(7) : type);
    return found == file_.layouts.end() ? nullptr : &found->second;
  }

  void add_buffer(Json& json, const KernelParameter& parameter, const Elements& elements,
                  const std::string& type, DraftedArgument& row) const {
    json["type"] = type;
    bool is_whole = false;  // True if the shape counts float and not float4.
    if (const auto allocated = allocated_elements(parameter, elements)) {
      json["shape"] = Json::array({as_value(allocated->text)});
      if (const std::string passed = offset_of(parameter); !passed.empty()) {
        json["shape"] = Json::array({"TODO: " + allocated->text + " elements; " + passed +
                                     ", but a space cannot pass an offset: let the kernel add it"});
      }
      is_whole = allocated->counts_scalars;
      row.said_by = allocated->place;
    } else if (is_null(parameter)) {
      json["type"] = type + "*";
      json["value"] = nullptr;
      json["description"] = "Null, as the host passes it.";
      return;
    } else {
      json["shape"] =
          Json::array({"TODO: elements of " + parameter.name + ", such as " +
                       sizes_named_after(parameter.name).value_or(names_.sizes_text())});
    }
    if (elements.count > 1 && !is_whole) json["shape"].push_back(elements.count);
    const auto [role, why] = role_of(parameter);
    json["role"] = role;
    row.is_guess = parameter.access == Access::unknown && !parameter.is_const;
    if (role != "output") json["init"] = beginning_of(parameter, elements);
    json["description"] = upper(role.substr(0, 1)) + role.substr(1) + ", because " + why + ".";
  }

  /// Returns true if the host passes a null pointer for which it allocates nothing.
  bool is_null(const KernelParameter& parameter) const {
    for (std::size_t frame = 0; frame < frames(); ++frame) {
      const std::size_t number = number_of(parameter);
      if (!is_null_pointer(terms_->passed_value(number, frame))) continue;
      const auto& allocated = site()->frames[frame].allocated;
      return !allocated.contains(pointer_in(terms_->passed(number, frame)));
    }
    return false;
  }

  /// Has an output of which each block writes one element compared by its sum, if a parameter
  /// decides what a block adds up or how many blocks there are. It has as many elements as the
  /// configuration with the most blocks writes; what others do not write stays 0.
  void compare_sum(const KernelParameter& parameter, ArgumentDraft& draft) const {
    Json& json = draft.arguments.back();
    const bool is_wanted = json.value("role", "") == "output" && site() != nullptr &&
                           std::ranges::all_of(names_.kernels(), [&](const auto* kernel) {
                             return kernel->parameters[number_of(parameter)].is_block_sum;
                           });
    const bool is_searched = std::ranges::any_of(
        kernels_, [](const Json& kernel) { return kernel.contains("parameters"); });
    if (!is_wanted || !is_searched) return;
    const auto allocated =
        allocated_elements(parameter, resolved_elements(instantiated(parameter.type)),
                           names_.terms_of(*site(), names_.parameters()));
    const MostBlocks most = most_blocks(allocated ? allocated->text : "");
    if (most.values.empty() && !follows_threads()) return;
    json["compare"] = "sum";
    json["role"] = "inout";
    json["init"] = "zero";
    json["description"] = "Compared by its sum, because each block writes what it adds up.";
    if (most.values.empty()) return;
    json["shape"] = Json::array({as_value(most.text)});
    draft.most_blocks.update(most.values);
  }

  /// Returns true if blockIdx is multiplied by blockDim or by a parameter.
  bool follows_threads() const {
    return std::ranges::find(first_.strides_by_block, true) != first_.strides_by_block.end() ||
           std::ranges::any_of(first_.tiles, [&](const std::string& tile) {
             return names_.parameters().contains(tile) ||
                    !names_.template_formula(first_, tile, names_.parameters()).empty();
           });
  }

  /// A number of elements, at least as large as any number of blocks.
  struct MostBlocks {
    std::string text = {};
    Json values = Json::object();  ///< Parameters of the first kernel, where it has the most.
  };

  /// Returns the most results that blocks write, and are allocated; without values if no parameter
  /// decides how many these are.
  MostBlocks most_blocks(const std::string& allocated) const {
    MostBlocks most;
    std::int64_t largest = 0;
    for (const Json& kernel : kernels_) {
      std::string blocks;
      for (const Json& extent : kernel.value("grid", Json::array())) {
        blocks += (blocks.empty() ? "" : " * ") + in_parentheses(plain_text(extent));
      }
      const Json parameters = kernel.value("parameters", Json::object());
      const Json its_default = kernel.value("default", Json::object());
      const auto launched = value_with(blocks, {&names_.problem(), &its_default});
      const bool is_its =
          launched && launched == value_with(allocated, {&names_.problem(), &its_default});
      const std::string& text = is_its ? blocks : allocated;
      const Json values = values_for_most(text, parameters, its_default);
      Json with = its_default;
      with.update(values);
      const std::int64_t count = value_with(text, {&names_.problem(), &with}).value_or(0);
      if (&kernel == &kernels_.front()) most.values = values;
      if (count <= largest) continue;
      largest = count;
      most.text = substituted(without_parentheses(text), terms_of_values(values));
    }
    return most;
  }

  /// Returns the values of the parameters of a number of elements for which it is largest.
  Json values_for_most(const std::string& text, const Json& parameters, const Json& first) const {
    Json most = Json::object();
    for (const auto& [name, values] : parameters.items()) {
      if (!has_name(text, name) || !values.is_array()) continue;
      const auto count = [&, &parameter = name](const Json& value) {
        Json with = first;
        with[parameter] = value;
        return value_with(text, {&names_.problem(), &with}).value_or(0);
      };
      const auto largest = std::ranges::max_element(values, {}, count);
      if (largest != values.end()) most[name] = *largest;
    }
    return most;
  }

  /// Returns a note that the host passes a pointer with an offset, in the launch or to the function
  /// that launches; empty if it does not.
  std::string offset_of(const KernelParameter& parameter) const {
    for (std::size_t frame = 0; frame < frames(); ++frame) {
      const std::string text = terms_->passed_value(number_of(parameter), frame);
      const CppTokens tokens = cpp_tokens(text);
      const bool is_offset = tokens.size() > 2 && tokens[0].is_word() && tokens[1].is("+");
      if (is_offset) return source_.place(site()->frames[frame].line) + " passes " + text;
    }
    return "";
  }

  /// Returns the role and the reason for it.
  static std::pair<std::string, std::string> role_of(const KernelParameter& parameter) {
    if (parameter.is_const) return {"input", "it is const"};
    switch (parameter.access) {
      case Access::read:
        return {"input", "it is only read"};
      case Access::written:
        if (parameter.leaves_elements) {
          return {"inout", "it is written, but perhaps not all of it"};
        }
        return {"output", "it is only written"};
      case Access::added:
        return {"inout", "atomic functions add to it"};
      case Access::both:
        return {"inout", "it is read and written"};
      case Access::unknown:
        break;
    }
    return {"inout", "the source does not show how it is used; output where it is only written"};
  }

  std::string beginning_of(const KernelParameter& parameter, const Elements& elements) const {
    const bool is_integer = scalar_bytes_of(elements.type) > 0 && !is_floating_name(elements.type);
    const bool begins_empty =
        parameter.access == Access::written || parameter.access == Access::added;
    if (!parameter.is_const && begins_empty) return "zero";
    if (!parameter.is_const && is_zeroed_by_host(parameter)) return "zero";
    const bool decides = parameter.indexes || (is_integer && parameter.counts);
    if (!elements.type.empty() && decides) {
      if (const std::string filled = filled_by_host(parameter); !filled.empty()) return filled;
    }
    if (!elements.type.empty() && parameter.indexes) {
      const std::string in_range = in_range_of_indexed(parameter, elements);
      if (!in_range.empty()) return in_range;
      return "TODO: they choose elements of other arrays, so give values that are in range: "
             "permutation, iota, uniform(0, 99), " +
             SpaceNames::argument_name(parameter.name) + "[i] = i % 100, file(\"NAME.npy\")";
    }
    if (elements.type.empty()) return "zero";
    if (elements.type == "bool") return "uniform(0, 1)";
    if (is_integer) {
      if (may_be_any(parameter, elements)) return "uniform";
      return scalar_bytes_of(elements.type) == 1 ? "uniform(0, 127)" : "uniform(0, 100)";
    }
    return first_.needs_positive_numbers ? "uniform(0.1, 1)" : "uniform(-1, 1)";
  }

  /// Returns true if the host sets an array of that name to zero and copies nothing there.
  bool is_zeroed_by_host(const KernelParameter& parameter) const {
    for (std::size_t frame = 0; frame < frames(); ++frame) {
      const std::string passed = terms_->passed(number_of(parameter), frame);
      const bool is_filled =
          std::ranges::any_of(file_.copies, [&](const auto& copy) { return copy.first == passed; });
      if (is_filled) return false;
      if (file_.zeroed.contains(passed)) return true;
    }
    return false;
  }

  /// Returns how many elements the smallest of these arrays has; empty if one of them is not known.
  std::string least_elements(const std::set<std::string>& arrays) const {
    std::set<std::string> counts;
    for (const std::string& name : arrays) {
      const auto array = std::ranges::find(first_.parameters, name, &KernelParameter::name);
      if (array == first_.parameters.end()) return "";
      const Elements elements = resolved_elements(instantiated(array->type));
      const auto allocated = allocated_elements(*array, elements);
      if (!allocated || elements.count != 1 || !offset_of(*array).empty()) return "";
      counts.insert(allocated->text);
    }
    const std::vector<std::string> all(counts.begin(), counts.end());
    std::string least = all.empty() ? "" : all.front();
    for (std::size_t i = 1; i < all.size(); ++i) least = "min(" + least + ", " + all[i] + ")";
    return least;
  }

  /// Returns contents that are indices in range: any, or for the rows of a sparse matrix those that
  /// give each row as many elements. Empty if the arrays that they index are not known.
  std::string in_range_of_indexed(const KernelParameter& parameter,
                                  const Elements& elements) const {
    const std::string most = least_elements(parameter.index_of);
    const std::string rows = least_elements(parameter.bounds_of);
    if (elements.count != 1 || is_floating_name(elements.type)) return "";
    if (parameter.bounds_of.empty() && !parameter.counts && !most.empty()) {
      return "uniform(0, " + in_parentheses(most) + " - 1)";
    }
    const std::string own = least_elements({parameter.name});
    if (!parameter.index_of.empty() || rows.empty() || own.empty()) return "";
    return SpaceNames::argument_name(parameter.name) + "[i] = i * " + in_parentheses(rows) +
           " // max(1, " + in_parentheses(own) + " - 1)";
  }

  /// Returns the contents that the host gives an array, `rand() % n` or `n`; empty if it does
  /// otherwise.
  std::string filled_by_host(const KernelParameter& parameter) const {
    for (std::size_t frame = 0; frame < frames(); ++frame) {
      const std::string passed = terms_->passed(number_of(parameter), frame);
      for (const std::string_view name : identifiers(passed)) {
        const auto fill = file_.fills.find(std::string(name));
        if (fill == file_.fills.end()) continue;
        const std::string text = without_parentheses(without_casts(fill->second));
        const CppTokens tokens = cpp_tokens(text);
        const bool is_remainder = tokens.size() > 4 && tokens[0].is("rand") && tokens[3].is("%");
        const auto ours =
            terms_->in_our_names(is_remainder ? joined(tokens, {4, tokens.size()}) : text, frame);
        if (!ours) continue;
        if (!is_remainder) return "constant(" + *ours + ")";
        if (const auto number = constant_value(*ours)) {
          return "uniform(0, " + std::to_string(*number - 1) + ")";
        }
        return SpaceNames::argument_name(parameter.name) + "[i] = i % (" + *ours + ")";
      }
    }
    return "";
  }

  /// Returns true if the elements may have any value of the type. Elements that decide how often a
  /// loop runs may not; nor may elements of a wide type from which floating-point results are made,
  /// which would be too large.
  bool may_be_any(const KernelParameter& parameter, const Elements& elements) const {
    if (parameter.counts) return false;
    if (scalar_bytes_of(elements.type) <= 2) return true;
    return std::ranges::any_of(first_.parameters, [&](const KernelParameter& other) {
      if (!other.is_written()) return false;
      const Elements written = resolved_elements(instantiated(other.type));
      return scalar_bytes_of(written.type) > 0 && !is_floating_name(written.type);
    });
  }

  /// The number of elements that the host allocates for a pointer, and the place where it does so.
  struct Allocated {
    std::string text;
    bool counts_scalars = false;
    std::string place = {};
  };

  std::optional<Allocated> allocated_elements(const KernelParameter& parameter,
                                              const Elements& elements) const {
    return terms_ ? allocated_elements(parameter, elements, *terms_) : std::nullopt;
  }

  std::optional<Allocated> allocated_elements(const KernelParameter& parameter,
                                              const Elements& elements,
                                              const HostTerms& terms) const {
    for (std::size_t frame = 0; frame < frames(); ++frame) {
      const auto& allocated = site()->frames[frame].allocated;
      auto bytes = allocated.end();
      const std::string text = terms.passed(number_of(parameter), frame);
      for (const std::string_view name : identifiers(text)) {  // `data->a`, `a.data()`
        const auto found = allocated.find(std::string(name));
        if (found != allocated.end()) bytes = found;
      }
      const auto object = allocated.find(text.substr(0, text.find('.')));  // `buffer.a`
      if (object != allocated.end()) bytes = object;
      if (bytes == allocated.end()) continue;
      std::optional<Allocated> found = elements_in(bytes->second, elements, frame, terms);
      if (found) {
        found->place = source_.place(site()->frames[frame].line) + ", " + bytes->second + " bytes";
      }
      return found;
    }
    return std::nullopt;
  }

  /// Returns the elements in a number of bytes: `B * T` in `B * T * sizeof(float)`.
  std::optional<Allocated> elements_in(const std::string& bytes, const Elements& elements,
                                       std::size_t frame, const HostTerms& terms) const {
    constexpr int kMaxDepth = 4;
    std::string text = bytes;
    for (int depth = 0; depth < kMaxDepth; ++depth) {
      const Terms measured = measured_in(terms.variables(frame));
      text = substituted(substituted(text, measured), measured);  // `float b[sizeof(a) / 4]`
      const CppTokens tokens = cpp_tokens(text);
      for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        if (!tokens[i].is("sizeof") || !tokens[i + 1].is("(")) continue;
        const std::size_t close = closing(tokens, i + 1);
        if (close >= tokens.size()) return std::nullopt;
        if (i == 0 && close + 1 == tokens.size()) return Allocated{.text = "1"};
        std::string rest;  // The factors other than `* sizeof(T)` or `sizeof(T) *`.
        if (i > 0 && tokens[i - 1].is("*")) {
          rest = joined(tokens, {0, i - 1}) + joined(tokens, {close + 1, tokens.size()});
        } else if (close + 1 < tokens.size() && tokens[close + 1].is("*")) {
          rest = joined(tokens, {0, i}) + joined(tokens, {close + 2, tokens.size()});
        } else {
          return std::nullopt;
        }
        const auto ours = terms.in_our_names(rest, frame);
        if (!ours || has_name(*ours, kSmCount)) return std::nullopt;
        const Elements counted = resolved_elements(joined(tokens, {i + 2, close}));
        return Allocated{.text = *ours,
                         .counts_scalars = !counted.type.empty() && counted.count < elements.count};
      }
      const auto& variables = terms.variables(frame);
      const auto value = variables.find(without_parentheses(text));
      if (value == variables.end()) break;
      text = value->second;
    }
    const auto ours = terms.in_our_names(text, frame);
    if (!ours || has_name(*ours, kSmCount)) return std::nullopt;
    const std::size_t size =
        scalar_bytes_of(elements.type) * static_cast<std::size_t>(elements.count);
    if (size == 0) return std::nullopt;
    if (size == 1) return Allocated{.text = *ours};
    const std::string factor = " * " + std::to_string(size);
    if (ours->ends_with(factor) && ours->find('+') == std::string::npos) {
      return Allocated{.text = ours->substr(0, ours->size() - factor.size())};
    }
    return Allocated{.text = "(" + *ours + ") / " + std::to_string(size)};
  }

  /// Returns `v.size()` and `sizeof(array)`, which are no names, with their values.
  static Terms measured_in(const std::map<std::string, std::string>& variables) {
    Terms measured;
    for (const auto& [name, value] : variables) {
      if (name.ends_with(')')) measured.emplace_back(name, "(" + value + ")");
    }
    return measured;
  }

  /// Adds a texture over linear memory; memory for other functions than tex1Dfetch is not
  /// supported.
  void add_texture(Json& json, const KernelParameter& parameter) const {
    const Elements elements = elements_of(parameter.texel);
    const bool is_known = !elements.type.empty() && is_texel_type(*scalar_type(elements.type));
    json["type"] = is_known ? elements.type
                            : "TODO: type of the texels that tex1Dfetch reads, such as float; "
                              "textures for tex2D and others are not supported";
    json["shape"] =
        Json::array({"TODO: texels of " + parameter.name + ", such as " + names_.sizes_text()});
    if (elements.count > 1) json["shape"].push_back(elements.count);
    json["role"] = "input";
    json["init"] =
        is_known && !is_floating_name(elements.type) ? "uniform(0, 100)" : "uniform(-1, 1)";
    json["memory"] = "texture";
    json["description"] = "A texture object over linear memory is passed.";
  }

  /// Adds constant memory as arguments that are not passed.
  void add_constants(Json& arguments) const {
    for (const SharedArray& constant : file_.constants) {
      const std::string name = last_name(constant.name);
      const bool is_reached = std::ranges::any_of(
          names_.kernels(), [&](const auto* kernel) { return kernel->reached.contains(name); });
      if (!is_reached) continue;
      const Elements elements = elements_of(constant.type);
      Json json = {{"name", name}};
      json["type"] = elements.type.empty()
                         ? "TODO: type of the elements, in the source " + constant.type
                         : elements.type;
      json["shape"] = Json::array();
      for (const std::string& extent : constant.extents) {
        const std::string ours = names_.expanded(extent);
        if (const auto value = constant_value(ours)) {
          json["shape"].push_back(*value);
        } else if (names_.is_of_problem(ours)) {
          json["shape"].push_back(ours);
        } else {
          json["shape"].push_back("TODO: elements of " + name + ", in the source " + extent);
        }
      }
      if (constant.extents.empty()) json["shape"].push_back(1);
      if (elements.count > 1) json["shape"].push_back(elements.count);
      json["role"] = "input";
      json["init"] = copy_of(name, json, arguments).value_or("uniform(-1, 1)");
      json["memory"] = "constant";
      if (constant.name != name) json["symbol"] = constant.name;
      json["description"] = "A __constant__ variable; not passed.";
      arguments.push_back(std::move(json));
    }
  }

  /// Returns the definition of a one-dimensional constant that the host fills with data that it
  /// also passes.
  std::optional<std::string> copy_of(const std::string& name, const Json& constant,
                                     const Json& arguments) const {
    const auto copied = file_.copied_to_constants.find(name);
    if (copied == file_.copied_to_constants.end() || site() == nullptr) return std::nullopt;
    const std::vector<std::string>& all = site()->arguments;
    const auto passed = std::ranges::find_if(
        all, [&](const std::string& text) { return copied->second.contains(text); });
    const auto number = static_cast<std::size_t>(passed - all.begin());
    if (number >= std::min(all.size(), first_.parameters.size())) return std::nullopt;
    const Json& original = arguments[number];
    const auto is_plain = [](const Json& one) {
      if (!one.contains("shape") || one["shape"].size() != 1) return false;
      const Json& extent = one["shape"][0];
      return !extent.is_string() || !is_todo(extent.get<std::string>());
    };
    if (!is_plain(original) || !is_plain(constant)) return std::nullopt;
    const Json& extent = original["shape"][0];
    const std::string elements = plain_text(extent);
    return name + "[i] = " + original["name"].get<std::string>() + "[min(i, " + elements + " - 1)]";
  }

  void add_scalar(Json& json, const KernelParameter& parameter, const Elements& elements,
                  const std::string& type, DraftedArgument& row) const {
    const auto size = std::ranges::find(names_.sizes(), parameter.name,
                                        &std::pair<std::string, std::string>::first);
    if (elements.type.empty() || elements.count > 1) {
      json["type"] = elements.type.empty()
                         ? type
                         : "bytes(" +
                               std::to_string(scalar_bytes_of(elements.type) *
                                              static_cast<std::size_t>(elements.count)) +
                               ")";
      json["value"] = "TODO: zero, or file(\"NAME.npy\") with its bytes";
      return;
    }
    json["type"] = type;
    if (size != names_.sizes().end()) {
      json["value"] = size->second;
      row.role = "size";
    } else if (is_floating_name(elements.type)) {
      if (const auto passed = passed_formula(parameter)) {
        const Json number = Json::parse(*passed, nullptr, /*allow_exceptions=*/false);
        json["value"] = number.is_number() ? number : Json(*passed);
      } else {
        json["value"] = "TODO: value of " + parameter.name + ", such as 0.5" + said_of(parameter);
      }
    } else {
      json["value"] = passed_value(parameter);
    }
  }

  /// Returns what the host passes for a value: `; line 12 passes a = 2 * b`.
  std::string said_of(const KernelParameter& parameter) const {
    const std::string passed = passed_text(parameter);
    if (passed.empty()) return "";
    std::string text = "; " + source_.place(site()->line) + " passes " + in_full(*site(), passed);
    const std::vector<std::string_view> names = identifiers(passed);
    for (const CountingLoop& loop : site()->loops) {
      const bool is_new_in_each_turn = std::ranges::any_of(names, [&](std::string_view name) {
        return name != loop.counter && loop.changes.contains(std::string(name));
      });
      if (!is_new_in_each_turn) continue;
      text += ", which the host calculates in each turn of the loop in " +
              source_.place(loop.line) + ": a space has one value for all turns";
      break;
    }
    return text;
  }

  /// Returns the value that the host calculates for a scalar, as a formula of the problem's sizes.
  std::optional<std::string> passed_formula(const KernelParameter& parameter) const {
    const Bindings sizes = names_.numbers_of_problem();
    for (std::size_t frame = 0; frame < frames(); ++frame) {
      const std::string text =
          with_functions_of_definitions(terms_->passed(number_of(parameter), frame));
      if (text.empty()) continue;
      if (const auto value = terms_->formula(text, sizes, frame)) return value;
    }
    return std::nullopt;
  }

  /// Returns the value that the host passes for a scalar.
  Json passed_value(const KernelParameter& parameter) const {
    const std::string said = passed_text(parameter);
    if (!said.empty()) {
      const auto ours = names_.terms_of(*site(), names_.parameters()).in_our_names(said);
      if (ours) return as_value(*ours);
    }
    if (said.empty() && holds_any(parameter.name, {"offset", "begin", "start", "first"})) return 0;
    return "TODO: value of " + parameter.name +
           (names_.sizes().empty() ? ""
                                   : ", a number or such as " + names_.sizes().front().second) +
           said_of(parameter);
  }

  const FlatSource& source_;
  const KernelFile& file_;
  const SpaceNames& names_;
  const Json& kernels_;
  const KernelFunction& first_;
  std::optional<HostTerms> terms_;  ///< Has a value if there is a launch.
};

}  // namespace

ArgumentDraft draft_arguments(const FlatSource& source, const KernelFile& file,
                              const SpaceNames& names, const Json& kernels) {
  return ArgumentDrafter(source, file, names, kernels).draft();
}

Json as_value(const std::string& text) {
  const auto number = number_of(text);
  return number ? Json(*number) : Json(text);
}

std::string in_full(const LaunchSite& site, const std::string& text) {
  const std::string& value = site.frames.front().value_of(text);
  return value == text ? text : text + " = " + value;
}

}  // namespace smemtune
