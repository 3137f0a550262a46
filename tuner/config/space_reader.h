#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/config/space_file.h"
#include "tuner/config/space_values.h"
#include "tuner/core/kernel_template.h"
#include "tuner/core/space.h"
#include "tuner/core/value.h"
#include "tuner/source/source_files.h"

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace smemtune {

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
