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

/// What a space that is drafted has names for: the problem's sizes and types. Refers to what it is
/// made of.
class SpaceNames {
 public:
  /// `sequence`: where the kernel is one of several launches, as DraftRequest::together says.
  SpaceNames(const KernelFile& file, const DraftRequest& request,
             const LaunchSequence* sequence = nullptr);

  const KernelFunction& first() const { return first_; }  ///< Whose arguments they are.
  std::vector<const KernelFunction*> kernels() const;     ///< All of the space.
  const std::vector<NamedNumber>& numbers() const { return numbers_; }  ///< The tunable ones.
  const Json& problem() const { return problem_; }
  const Json& cpu_problem() const { return cpu_problem_; }
  /// Whether nothing in the source says what a name of the problem is.
  bool is_guess(const std::string& name) const { return guessed_.contains(name); }
  Json small_problem() const;  ///< That one thread solves in a moment.
  bool is_taken(const std::string& name) const { return taken_.contains(name); }

  /// What an argument of the source's is called: what it has as a name may be a word here.
  static std::string argument_name(const std::string& name);

  /// Argument, name of the problem.
  const std::vector<std::pair<std::string, std::string>>& sizes() const { return sizes_; }
  /// Names of the problem that the kernels have as macros.
  const std::vector<std::string>& macro_sizes() const { return macro_sizes_; }

  /// Where the host launches a kernel; nullptr: not in this source.
  const LaunchSite* launch_of(const std::string& kernel) const;

  /// The host's texts at a launch, with the arguments' names.
  HostTerms terms_of(const LaunchSite& site) const;

  /// The problem's names, those of `parameters`, and the counters.
  Scope scope(const Json& parameters) const;

  /// What scalars may depend on beside the problem; known when the kernels are drafted.
  const Json& parameters() const { return parameters_; }
  void set_parameters(const Json& parameters) { parameters_ = parameters; }

  /// Whether a text uses a counter of the host's.
  bool counts(const std::string& text) const;

  /// What the host or the default says of a template parameter; may be empty.
  std::string template_value(const KernelFunction& kernel, std::size_t i) const;

  /// `N * C`: all sizes, as a proposal for a shape.
  std::string sizes_text() const;

  /// A text of the source with what its macros stand for, but for names of the space.
  std::string expanded(const std::string& text, const Json& parameters, int depth = 0) const;

  /// Whether it can be evaluated with the problem's names alone.
  bool is_of_problem(const std::string& text) const;

  /// Makes a size of the problem where there is none.
  void need_a_size();

 private:
  /// What a macro with arguments stands for, and the last token of its call.
  struct CalledMacro {
    std::string text;
    std::size_t last = 0;
  };

  std::optional<CalledMacro> called_macro(const CppTokens& tokens, std::size_t i) const;
  std::string free_name(const std::string& wanted);
  void add_number(const std::string& name, std::int64_t value, bool is_guess = false);
  void add_problem(const std::string& name, const Json& value, const Json& cpu_value,
                   bool is_guess);
  void add_type_problems();
  void choose_sizes();
  void choose_host_sizes(const LaunchSequence* sequence);
  void add_host_sizes(const LaunchSite& site, const std::string& text, bool is_repeat = false);
  std::string passed_text(const std::string& argument) const;
  bool is_product(const std::string& argument) const;
  bool follows_from_sizes(const std::string& argument) const;
  std::optional<std::string> passed_name(const std::string& argument) const;
  std::optional<std::int64_t> passed_size(const KernelParameter& parameter) const;
  std::string sizes_of_macros() const;

  const KernelFile& file_;
  const DraftRequest& request_;
  const KernelFunction& first_;
  std::map<std::string, const LaunchSite*> launches_;  ///< By kernel; the first of each.
  std::vector<NamedNumber> numbers_;
  std::set<std::string> taken_;
  std::vector<std::pair<std::string, std::string>> sizes_;
  std::vector<std::string> macro_sizes_;
  /// A variable of the host that no kernel takes, but a grid or an array's size is made of.
  struct HostSize {
    std::string function;  ///< In which it is called so.
    std::string variable;
    std::string chosen;  ///< Name of the problem.
  };
  std::vector<HostSize> host_sizes_;
  std::int64_t host_size_ = 1024;  ///< A guess.
  std::vector<std::string> counters_;
  Json parameters_ = Json::object();
  std::set<std::string> guessed_;  ///< Names of the problem.
  Json problem_ = Json::object();
  Json cpu_problem_ = Json::object();
};

/// The value of an expression without names; nullopt: it is none.
std::optional<std::int64_t> constant_value(const std::string& text);

const KernelFunction& kernel_named(const KernelFile& file, const std::string& name);

std::string last_name(const std::string& name);

}  // namespace smemtune
