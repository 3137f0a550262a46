#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/init/host_terms.h"
#include "tuner/init/launch_sequence.h"
#include "tuner/init/space_draft.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// Returns the words and whole numbers among the values of an object, by their names.
Bindings bindings_of(const Json& names);

/// Returns the largest integer among the values of an object; 0 if all are smaller.
std::int64_t largest_number(const Json& values);

/// Returns the values of an object as texts to substitute its names with.
Terms terms_of_values(const Json& values);

/// The names of a space that is drafted: the problem's sizes and types. Refers to the file and the
/// request that it is made from.
class SpaceNames {
 public:
  /// `sequence`: the launches that are to be one kernel (DraftRequest::together), or nullptr.
  SpaceNames(const KernelFile& file, const DraftRequest& request,
             const LaunchSequence* sequence = nullptr);

  /// The kernel whose arguments the space has.
  const KernelFunction& first() const { return first_; }
  std::vector<const KernelFunction*> kernels() const;  ///< All kernels of the space.
  const std::vector<NamedNumber>& numbers() const { return numbers_; }  ///< The tunable numbers.
  const Json& problem() const { return problem_; }
  const Json& cpu_problem() const { return cpu_problem_; }
  /// Returns the numbers of the problem, and 1 for each counter.
  Bindings numbers_of_problem() const;
  /// Returns true if nothing in the source says what a name of the problem is.
  bool is_guess(const std::string& name) const { return guessed_.contains(name); }
  /// Returns the line of a loop of the host that changes the variable for which a name of the
  /// problem stands; 0 if there is none.
  std::size_t loop_that_changes(const std::string& name) const;
  /// Returns a problem with small sizes, which are no smaller than `least` where that is at most
  /// 256 and the problem's sizes are as large.
  Json small_problem(std::int64_t least) const;
  bool is_taken(const std::string& name) const { return taken_.contains(name); }

  /// Returns the name of an argument in the space: its name in the source may be a reserved word
  /// here.
  static std::string argument_name(const std::string& name);

  /// Pairs of an argument and its name of the problem.
  const std::vector<std::pair<std::string, std::string>>& sizes() const { return sizes_; }
  /// Names of the problem that the kernels have as macros.
  const std::vector<std::string>& macro_sizes() const { return macro_sizes_; }

  /// Returns the host's launch of a kernel; nullptr if this source has none.
  const LaunchSite* launch_of(const std::string& kernel) const;

  /// Returns the text that the host passes for an argument; empty if it is not in this source.
  std::string passed_text(const std::string& argument) const;

  /// Returns the values that the host's launches of a kernel have for template parameter i, if an
  /// `if` or `switch` chooses between them; in ascending order.
  std::vector<std::int64_t> dispatched_values(const KernelFunction& kernel, std::size_t i) const;

  /// Returns the host's texts at a launch in names of the problem and of these parameters, with the
  /// names of the arguments.
  HostTerms terms_of(const LaunchSite& site, const Json& parameters = Json::object()) const;

  /// Returns a text of the host at a launch as a number; nullopt if it is none.
  std::optional<std::int64_t> number_at(const LaunchSite& site, const std::string& text,
                                        const Json& parameters = Json::object()) const;

  /// Returns the problem's names, those of `parameters`, and the counters.
  Scope scope(const Json& parameters = Json::object()) const;

  /// Parameters that scalars may depend on besides the problem; known once the kernels are drafted.
  const Json& parameters() const { return parameters_; }
  void set_parameters(const Json& parameters) { parameters_ = parameters; }

  /// Values of parameters for which the most blocks are launched, where each block has a result and
  /// only the sum of these is compared; known once the arguments are drafted.
  const Json& most_blocks() const { return most_blocks_; }
  void set_most_blocks(const Json& values) { most_blocks_ = values; }

  /// `blockDim.x` and `gridDim.x` of the first kernel, and its parameters, where as many blocks are
  /// launched, else with its default; known once the arguments are drafted.
  const Terms& launch() const { return launch_; }
  void set_launch(const Json& kernel);

  /// The counters of the host's loops, as the space has them.
  const std::vector<std::string>& counters() const { return counters_; }
  /// Returns true if a text uses one of these.
  bool counts(const std::string& text) const;

  /// Returns the type that the host passes for a template parameter, or that its arguments have.
  std::string template_type(const KernelFunction& kernel, std::size_t i) const;

  /// Returns what the host passes for a template parameter of a kernel, if that is a template, a
  /// formula of the problem's sizes, or one of macros and constants of the source among these
  /// parameters; empty if it passes something else or chooses from several values, or if the kernel
  /// has no such template parameter.
  std::string template_formula(const KernelFunction& kernel, const std::string& parameter,
                               const Json& parameters) const;

  /// Returns what the host or the default gives for a template parameter; may be empty.
  std::string template_value(const KernelFunction& kernel, std::size_t i) const;

  /// Returns the product of all sizes, `N * C`, as a proposal for a shape.
  std::string sizes_text() const;

  /// Returns a text of the source with its macros and constants expanded, except for names of the
  /// space.
  std::string expanded(const std::string& text, const Json& parameters = Json::object(),
                       int depth = 0) const;

  /// Returns true if a text can be evaluated with the problem's names alone.
  bool is_of_problem(const std::string& text) const;

  /// Adds a size to the problem if it has none. `is_open`: what the user completes may use it.
  void need_a_size(bool is_open);

 private:
  /// The expansion of a macro with arguments, and the last token of its call.
  struct CalledMacro {
    std::string text;
    std::size_t last = 0;
  };

  std::optional<CalledMacro> called_macro(const CppTokens& tokens, std::size_t i) const;
  bool names_its_block(const LaunchSite& site) const;
  std::string meaning_in_source(const std::string& name) const;
  std::string template_text(const KernelFunction& kernel, std::size_t i) const;
  /// A text, and the frame of the host that it is of.
  struct SizeMeaning {
    std::string text;
    std::size_t frame = 0;
    bool is_macro = false;
  };
  std::optional<SizeMeaning> size_meaning(const LaunchSite& site, std::size_t frame,
                                          const std::string& name) const;
  std::string free_name(const std::string& wanted);
  void add_number(const std::string& name, std::int64_t value, bool is_guess = false);
  void add_problem(const std::string& name, const Json& value, const Json& cpu_value,
                   bool is_guess);
  void add_type_problems();
  void keep_line_length();
  void add_template_numbers();
  void choose_sizes_of_witness();
  void choose_sizes();
  void choose_host_sizes(const LaunchSequence* sequence);
  void add_constant_sizes(const LaunchSite& site, std::size_t frame, const std::string& text,
                          int depth = 0);
  void add_host_sizes(const LaunchSite& site, const std::string& text, bool is_repeat = false);
  std::string calculated_text(const std::string& argument) const;
  bool is_product(const std::string& argument) const;
  bool follows_from_sizes(const std::string& argument) const;
  /// Returns true if the host passes `n / 4`, and allocates memory by `n`.
  bool is_part_of_memory(const std::string& argument) const;
  std::optional<std::string> passed_name(const std::string& argument) const;
  std::optional<std::int64_t> passed_size(const std::string& argument) const;
  std::string sizes_of_macros() const;

  const KernelFile& file_;
  const DraftRequest& request_;
  const KernelFunction& first_;
  std::map<std::string, const LaunchSite*> launches_;  ///< The first launch of each kernel.
  std::vector<NamedNumber> numbers_;
  std::set<std::string> taken_;
  std::vector<std::pair<std::string, std::string>> sizes_;
  std::vector<std::string> macro_sizes_;
  /// A variable of the host that no kernel takes, but that a grid or an array's size is made of.
  struct HostSize {
    std::string function;  ///< The function that has the variable.
    std::string variable;
    std::string chosen;  ///< Its name in the problem.
  };
  std::vector<HostSize> host_sizes_;
  std::int64_t host_size_ = 1024;                         ///< A guess.
  std::map<std::string, std::string> template_formulas_;  ///< Keyed by the parameter's name.
  std::vector<std::string> counters_;
  Json most_blocks_ = Json::object();
  Terms launch_;
  Json parameters_ = Json::object();
  std::set<std::string> guessed_;  ///< Names of the problem.
  Json problem_ = Json::object();
  Json cpu_problem_ = Json::object();
};

/// Returns the value of an expression of the numbers in these objects; nullopt if it is none.
std::optional<std::int64_t> value_with(const std::string& text,
                                       const std::vector<const Json*>& numbers);

/// Returns the value of an expression without names; nullopt if it is none.
std::optional<std::int64_t> constant_value(const std::string& text);

/// Returns the kernel that a launch names; nullptr if the file has none of that name.
const KernelFunction* launched_kernel(const KernelFile& file, const LaunchSite& site);

/// Returns the first launch of a kernel; nullptr if the source has none.
const LaunchSite* first_launch(const KernelFile& file, const std::string& kernel);

const KernelFunction& kernel_named(const KernelFile& file, const std::string& name);

std::string last_name(const std::string& name);

}  // namespace smemtune
