#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace smemtune::cli {

/// Returns the value of an environment variable; nullptr if it is not set or empty.
const char* environment(const char* name);

/// Parses an unsigned decimal number without leading zeros, sign or space. Throws InputError naming
/// the option, the text and the range.
std::uint64_t parse_count(const std::string& option, const std::string& text, std::uint64_t least,
                          std::uint64_t most);

/// Parses a finite decimal number. Throws InputError likewise.
double parse_number(const std::string& option, const std::string& text, double least, double most);

/// Adds an option that takes a text, a path or a list of them. `type`: its name in --help.
template <typename Value>
CLI::Option* add_value(CLI::App& app, const std::string& name, Value& value,
                       const std::string& description, const std::string& type) {
  return app.add_option(name, value, description)->type_name(type);
}

/// Adds an option that may be repeated, with one value each time.
CLI::Option* add_repeatable(CLI::App& app, const std::string& name,
                            std::vector<std::string>& values, const std::string& description,
                            const std::string& type);

/// Adds an option that parse_count reads, into an integer or an optional one. CLI11's own integer
/// options accept `010` and overflow.
template <typename Count>
CLI::Option* add_count(CLI::App& app, const std::string& name, Count& value, std::uint64_t least,
                       std::uint64_t most, const std::string& description,
                       const std::string& type = "N") {
  const auto read = [&value, name, least, most](const std::string& text) {
    value = static_cast<Count>(parse_count(name, text, least, most));
  };
  return app.add_option_function<std::string>(name, read, description)->type_name(type);
}

/// Adds an option that parse_number reads, into a number or an optional one.
template <typename Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& value, double least,
                        double most, const std::string& description,
                        const std::string& type = "X") {
  const auto read = [&value, name, least, most](const std::string& text) {
    value = parse_number(name, text, least, most);
  };
  return app.add_option_function<std::string>(name, read, description)->type_name(type);
}

/// Makes all options except --config refuse an empty value, which an unset variable in a script
/// would leave. An empty --config is valid: a configuration of default values.
void refuse_empty_values(CLI::App& app);

/// Returns `$SMEMTUNE_DB`, otherwise `${XDG_DATA_HOME:-~/.local/share}/smemtune/smemtune.sqlite`;
/// empty if HOME is not set either.
std::filesystem::path default_database();

/// Adds --db with that default.
void add_database(CLI::App& app, std::filesystem::path& database);

/// Adds --no-wait, for commands that lock a device.
void add_no_wait(CLI::App& app, bool& no_wait);

void add_objective(CLI::App& app, std::string& objective, const std::string& help);

/// Returns the folder that holds kernel_templates/ and configs/: `$SMEMTUNE_SHARE`, otherwise the
/// one beside the executable in an installation (`../share/smemtune`), otherwise the source tree of
/// the build. Throws InputError if none of them exists.
std::filesystem::path share_folder();

/// Returns the space file that `given` means: an existing file, otherwise the one of that name
/// (`gemm.json` or `gemm`) that comes with smemtune. Throws InputError with the nearest name if
/// there is none.
std::filesystem::path find_space(const std::filesystem::path& given);

/// Returns the path of this executable, from which workers are started.
std::filesystem::path executable();

/// Returns 128 unpredictable bits as 32 hexadecimal digits.
std::string random_id();

}  // namespace smemtune::cli
