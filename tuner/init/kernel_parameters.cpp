#include "tuner/init/kernel_parameters.h"

#include "tuner/config/space_words.h"
#include "tuner/init/names.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

namespace smemtune {
namespace {

class ParameterDraft {
 public:
  ParameterDraft(const LaunchedKernel& of, DraftedParameters& chosen) : of_(of), chosen_(chosen) {}

  void add_numbers() {
    chosen_.has_macros = chosen_.has_macros ||
                         std::ranges::any_of(of_.names.macro_sizes(), [&](const std::string& size) {
                           return of_.kernel.reached.contains(size);
                         });
    for (const NamedNumber& number : of_.names.numbers()) {
      if (!of_.kernel.reached.contains(number.name)) continue;
      chosen_.has_macros = true;
      add_parameter(number.name, number.value);
    }
  }

  void add_missing() {
    for (const MissingName& missing : of_.file.missing) {
      if (!of_.kernel.reached.contains(missing.name) || !is_parameter(missing)) continue;
      chosen_.has_macros = true;
      if (const std::vector<std::int64_t> values = compared(missing.name); !values.empty()) {
        chosen_.values[missing.name] = values;
        chosen_.defaults[missing.name] = values.front();
        continue;
      }
      const Guess values =
          guess(missing.name, is_shared_extent(missing.name), of_.kernel.block_dimensions);
      chosen_.values[missing.name] = values.values;
      chosen_.defaults[missing.name] = values.first;
      chosen_.guessed.push_back(missing.name);
    }
    if (!chosen_.guessed.empty()) {
      chosen_.notes.push_back(
          "Not defined in the source, so the values are guesses: " + listed(chosen_.guessed) + ".");
    }
  }

  void add_template_parameters() {
    for (std::size_t i = 0; i < of_.kernel.template_parameters.size(); ++i) {
      const TemplateParameter& parameter = of_.kernel.template_parameters[i];
      if (parameter.is_type() || of_.names.problem().contains(parameter.name)) continue;
      const std::string ours = of_.in_parameters(parameter.name, chosen_.values);
      if (ours != parameter.name) {
        vary_as(ours, parameter.name);
        continue;
      }
      const std::string text = of_.names.template_value(of_.kernel, i);
      if (parameter.kind == "bool") {
        const std::string said =
            of_.site == nullptr ? text : of_.site->frames.front().value_of(text);
        chosen_.values[parameter.name] = {false, true};
        chosen_.defaults[parameter.name] = said == "true";
        if (said != "true" && said != "false") chosen_.guessed.push_back(parameter.name);
      } else if (const Enumeration* const words = enumeration(parameter.kind)) {
        chosen_.values[parameter.name] = words->words;
        const bool is_known = std::ranges::find(words->words, text) != words->words.end();
        chosen_.defaults[parameter.name] = is_known ? text : words->words.front();
        if (!is_known) chosen_.guessed.push_back(parameter.name);
      } else {
        add_number_parameter(parameter.name, text, of_.names.dispatched_values(of_.kernel, i));
      }
    }
  }

 private:
  static bool is_parameter(const MissingName& missing) {
    const Meaning meaning = meaning_of(missing.name);
    const bool is_short = missing.name.size() < 2;
    return !missing.is_type && meaning != Meaning::problem && !is_short &&
           !is_limit(missing.name) && reserved_meaning(missing.name).empty();
  }

  bool is_shared_extent(const std::string& name) const {
    return std::ranges::any_of(of_.kernel.shared, [&](const SharedArray& array) {
      return std::ranges::find(array.extents, name) != array.extents.end();
    });
  }

  /// Returns the values that #if and #elif distinguish; 0 and 1 if there is only one of these.
  std::vector<std::int64_t> compared(const std::string& name) const {
    const auto found = of_.file.compared.find(name);
    if (found == of_.file.compared.end()) return {};
    std::set<std::int64_t> values = found->second;
    if (values.size() == 1 && (values.contains(0) || values.contains(1))) values = {0, 1};
    return values.size() > 1 ? std::vector<std::int64_t>(values.begin(), values.end())
                             : std::vector<std::int64_t>();
  }

  void add_parameter(const std::string& name, std::int64_t value) {
    chosen_.defaults[name] = value;
    const std::vector<std::int64_t> known = compared(name);
    if (std::ranges::find(known, value) != known.end()) {
      chosen_.values[name] = known;
      return;
    }
    const bool may_vary = meaning_of(name) == Meaning::tunable;
    chosen_.values[name] = values_around(name, value, may_vary);
    if (!may_vary) chosen_.notes.push_back(name + " has one value: add those that it may take.");
  }

  /// `text`: the value that the host or the default gives. `dispatched`: the values that the host
  /// chooses from.
  void add_number_parameter(const std::string& name, const std::string& text,
                            const std::vector<std::int64_t>& dispatched) {
    std::optional<std::int64_t> value = number_of(text);
    if (!value && of_.site != nullptr && !text.empty()) {
      value = of_.names.number_at(*of_.site, text, chosen_.values);
    }
    if (!value) chosen_.guessed.push_back(name);
    const std::int64_t guess = !holds_any(name, {"thread", "block"}) ? 4
                               : of_.kernel.block_dimensions > 1     ? 16
                                                                     : 128;
    add_parameter(name, value.value_or(guess));
    if (dispatched.size() < 2) return;
    set_values(name, dispatched);
    chosen_.notes.push_back(name + " has the values that the host launches.");
  }

  /// Gives a macro that has one value those of the template parameter that it is passed for.
  void vary_as(const std::string& macro, const std::string& parameter) {
    const bool has_one = chosen_.values.value(macro, Json()).size() == 1;
    const bool may_vary = has_one && meaning_of(parameter) == Meaning::tunable;
    const Json value = chosen_.defaults.value(macro, Json());
    if (!may_vary || !value.is_number_integer()) return;
    set_values(macro, values_around(parameter, value.get<std::int64_t>(), true));
  }

  void set_values(const std::string& name, const Json& values) {
    chosen_.values[name] = values;
    std::erase_if(chosen_.notes, [&](const std::string& note) {
      return note.starts_with(name + " has one value");
    });
  }

  /// Returns the enumeration of this name that has words to choose from, or nullptr.
  const Enumeration* enumeration(const std::string& type) const {
    for (const Enumeration& known : of_.file.enumerations) {
      if (last_name(known.name) == last_name(type) && !known.words.empty()) return &known;
    }
    return nullptr;
  }

  const LaunchedKernel& of_;
  DraftedParameters& chosen_;
};

}  // namespace

std::string LaunchedKernel::in_parameters(const std::string& name, const Json& parameters) const {
  const std::string formula = names.template_formula(kernel, name, parameters);
  return formula.empty() ? name : in_parentheses(formula);
}

void add_names(const LaunchedKernel& of, DraftedParameters& chosen) {
  ParameterDraft draft(of, chosen);
  draft.add_numbers();
  draft.add_missing();
}

void add_template_parameters(const LaunchedKernel& of, DraftedParameters& chosen) {
  ParameterDraft(of, chosen).add_template_parameters();
}

}  // namespace smemtune
