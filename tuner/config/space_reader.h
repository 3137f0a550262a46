#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/config/space_file.h"
#include "tuner/core/kernel_template.h"
#include "tuner/core/space.h"
#include "tuner/core/space_keys.h"
#include "tuner/core/value.h"
#include "tuner/source/source_files.h"

#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {

/// A value of a space file with its place, a JSON pointer.
struct Given {
  const Json& value;
  std::string where;

  bool has(std::string_view name) const { return value.contains(name); }
  /// REQUIRES: the object has such a member.
  Given operator[](std::string_view name) const { return {value[name], child(where, name)}; }
  /// Returns the members of an object, by name in their order; of anything else none.
  std::vector<std::pair<std::string, Given>> members() const;
};

/// Takes values out of the JSON of one space file and collects what is wrong with them, each fault
/// with its line and JSON pointer.
class SpaceValues {
 public:
  explicit SpaceValues(std::filesystem::path file) : file_(std::move(file)) {}

  const std::filesystem::path& file() const { return file_; }
  const std::vector<std::string>& faults() const { return faults_; }

  /// Parses the text. Each TODO in it is a fault. Throws InputError if the text is not JSON.
  Json parse(std::string_view text);

  void fault(const std::string& pointer, const std::string& message);
  /// Adds a fault from a message that begins with the file and the pointer.
  void fault_with_place(const std::string& message);

  // Each of these functions adds a fault and returns nothing, or false, if the value is not of the
  // required kind. `expected` says what would be right.

  /// Checks an object's keys. `kind` is a key of space_file_keys().
  bool check_object(const Given& given, const std::string& kind);
  /// Returns the elements of a list that is not empty.
  std::vector<Given> list(const Given& given, const std::string& expected);
  /// Returns the elements of a list that may be empty.
  std::vector<Given> list_or_none(const Given& given, const std::string& expected);
  /// Adds a fault for each of these members that an object lacks.
  void require(const Given& object, std::initializer_list<const char*> names);
  /// Returns a member's text; empty if it is left out.
  std::string text_of(const Given& object, std::string_view name, const std::string& expected);
  std::optional<std::string> text(const Given& given, const std::string& expected);
  /// Returns the index of the word in the list.
  std::optional<std::size_t> one_of(const std::vector<std::string>& words, const Given& given);
  std::optional<std::string> identifier(const Given& given);
  /// Returns a member that is false if it is left out.
  bool flag(const Given& object, std::string_view name);
  std::optional<Value> scalar(const Given& given);
  std::optional<double> tolerance(const Given& given);
  std::optional<ExpressionText> expression(const Given& given);
  std::vector<ExpressionText> expressions(const Given& given, const std::string& expected);
  /// Reads a key of `object`, if it is there.
  void read_key(const Given& object, const SpaceKey& key, std::vector<ExpressionText>& result);
  void read_key(const Given& object, const SpaceKey& key, std::optional<ExpressionText>& result);
  void read_key(const Given& object, const SpaceKey& key, bool& result);

 private:
  void find_todos(const Json& value, const std::string& pointer);
  void add_line(const std::string& line);

  std::filesystem::path file_;
  JsonLines lines_;
  std::vector<std::string> faults_;
  std::set<std::string> seen_;   ///< Lines of `faults_`.
  std::set<std::string> todos_;  ///< Pointers to values that the user has yet to decide.
};

/// Reads one space file and collects its faults. The parts that read kernels, arguments and
/// launches, and the checks after reading, have source files of their own.
class SpaceReader : private SpaceValues {
 public:
  SpaceReader(const std::filesystem::path& file, const std::filesystem::path& share)
      : SpaceValues(file),
        roots_{.space = file.has_parent_path() ? file.parent_path() : std::filesystem::path("."),
               .templates = share / "kernel_templates"} {}

  /// Reads the file, or `given` in place of the file's text.
  LoadedSpace read(const std::optional<std::string>& given = {});

  using SpaceValues::faults;

 private:
  Json translated(const Json& t1) const;
  std::vector<Problem> problem_list(const Given& given);
  std::vector<ArgumentTemplate> read_arguments(const Given& given, bool of_kernel,
                                               std::vector<std::string>* passed = nullptr);
  std::optional<ArgumentTemplate> read_argument(const Given& given);
  void read_buffer(const Given& given, ArgumentTemplate& argument);
  void read_compare(const Given& given, ArgumentTemplate& argument);
  void read_memory(const Given& given, ArgumentTemplate& argument);
  void read_box(const Given& given, ArgumentTemplate& argument);
  void read_members(const Given& given, ArgumentTemplate& argument);
  void check_members(const ArgumentTemplate& argument, const std::vector<ArgumentTemplate>& before);
  void add_named(const ArgumentTemplate& argument, std::vector<ArgumentTemplate>& arguments) const;
  void read_null(const Given& given, ArgumentTemplate& argument);
  void read_texture_2d(const Given& given, ArgumentTemplate& argument);
  void read_scalar(const Given& given, ArgumentTemplate& argument);
  DataFile data_file(const std::filesystem::path& name) const;
  void read_init(const std::string& init, const std::string& where, ArgumentTemplate& argument);
  void find_reads(ArgumentTemplate& argument, const std::vector<ArgumentTemplate>& before) const;
  void read_struct(const Given& given, ArgumentTemplate& argument);
  std::map<std::string, ExpressionText> read_metrics(const Given& given);
  void read_tolerance(const Given& given, Tolerance& result);
  void read_derived(const Given& given, Tolerance& result);
  void read_verify(const Given& given);
  void read_expected(const Given& given);
  KernelTemplate read_kernel(const Given& given);
  void read_expectation(const Given& given, KernelTemplate& result);
  /// The conditions `when` of parameters that have one, by the parameter's name.
  using Conditions = std::map<std::string, ExpressionText>;
  Conditions read_parameters(const Given& given, KernelTemplate& result);
  std::vector<Configuration> read_configurations(const Given& given, KernelTemplate& result);
  /// Adds a fault and returns false if `value` is a word and the first of `values` is not, or the
  /// other way round.
  bool has_first_kind(const Value& value, const std::vector<Value>& values,
                      const std::string& where);
  std::vector<Value> parameter_values(const Given& given);
  void read_default(const Given& kernel, KernelTemplate& result);
  void read_launches(const Given& given, bool of_kernel, KernelTemplate& result);
  LaunchTemplate read_launch(const Given& given);
  std::vector<std::string> passed_arguments(const Given& given, const KernelTemplate& kernel);
  void read_repeat(const Given& given, std::size_t first, KernelTemplate& result);
  void read_swaps(const Given& given, const KernelTemplate& kernel, Repeat& repeat);
  void read_features(const Given& given, KernelTemplate& result);
  bool allows_option(const std::string& option, const std::string& where,
                     const KernelTemplate& kernel);
  void read_options(const Given& given, KernelTemplate& result);
  void read_include(const Given& given, KernelTemplate& result);

  void check_names();
  void choose_reference();
  void check_name(const std::string& name, const std::string& pointer, const std::string& meaning,
                  std::map<std::string, std::string>& meanings);
  void check_arguments(const KernelTemplate& kernel);
  void check_buffers_agree();
  void check_effects(KernelTemplate& kernel, std::span<const SourceFile> files,
                     LoadedSpace& loaded);
  void check_source(KernelTemplate& kernel, LoadedSpace& loaded);
  void check_guess(const KernelTemplate& kernel, LoadedSpace& loaded) const;
  void check_guessed_definition(LoadedSpace& loaded) const;
  void check_values(const KernelTemplate& kernel);
  void check_definitions();
  void check_swaps(const KernelTemplate& kernel, const LoadedSpace& loaded);
  void check_init_definitions();
  void check_expected();
  void check_derived(LoadedSpace& loaded);
  std::vector<Problem> every_problem() const;

  SourceRoots roots_;
  SourceTexts texts_;
  /// True for a T1 file, whose parameters were chosen for another tuner.
  bool is_t1_ = false;
  Space space_;
  // Defaults of the space, which kernels may override.
  std::vector<ArgumentTemplate> arguments_;
  std::map<std::string, ExpressionText> metrics_;
  Tolerance tolerance_;
};

}  // namespace smemtune
