#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace smemtune::cli {

/// The value of an environment variable; nullptr where it is not set or empty.
const char* environment(const char* name);

/// An unsigned decimal number without leading zeros, sign or space. Throws InputError naming the
/// option, the text and the range.
std::uint64_t parse_count(const std::string& option, const std::string& text, std::uint64_t least,
                          std::uint64_t most);

/// A finite decimal number. Throws InputError likewise.
double parse_number(const std::string& option, const std::string& text, double least, double most);

/// An option that may be repeated, with one value each time; `type` is what --help calls it.
CLI::Option* add_repeatable(CLI::App& app, const std::string& name,
                            std::vector<std::string>& values, const std::string& description,
                            const std::string& type);

/// Adds an option that is read by parse_count, into an integer or an optional one. CLI11's own
/// integers let `010` and overflow through.
template <typename Count>
CLI::Option* add_count(CLI::App& app, const std::string& name, Count& value, std::uint64_t least,
                       std::uint64_t most, const std::string& description,
                       const std::string& type = "N") {
  const auto read = [&value, name, least, most](const std::string& text) {
    value = static_cast<Count>(parse_count(name, text, least, most));
  };
  return app.add_option_function<std::string>(name, read, description)->type_name(type);
}

/// Adds an option that is read by parse_number, into a number or an optional one.
template <typename Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& value, double least,
                        double most, const std::string& description,
                        const std::string& type = "X") {
  const auto read = [&value, name, least, most](const std::string& text) {
    value = parse_number(name, text, least, most);
  };
  return app.add_option_function<std::string>(name, read, description)->type_name(type);
}

/// No option takes an empty value, which a variable that is not set leaves in a script; but
/// --config does: a configuration of default values.
void refuse_empty_values(CLI::App& app);

/// `$SMEMTUNE_DB`, else `${XDG_DATA_HOME:-~/.local/share}/smemtune/smemtune.sqlite`. Empty
/// where HOME is not set either.
std::filesystem::path default_database();

/// Adds --db with that default.
void add_database(CLI::App& app, std::filesystem::path& database);

/// Adds --no-wait, for commands that lock a device.
void add_no_wait(CLI::App& app, bool& no_wait);

/// The folder that holds kernel_templates/ and configs/: `$SMEMTUNE_SHARE`, else what lies beside
/// the executable in an installation (`../share/smemtune`), else the source tree it was built from.
/// Throws InputError when none of them is there.
std::filesystem::path share_folder();

/// The space file that is meant: one that is here, else one of that name (`gemm.json` or `gemm`)
/// that smemtune brings along. Throws InputError with the nearest name where there is none.
std::filesystem::path find_space(const std::filesystem::path& given);

/// Where this executable lies; workers are started from it.
std::filesystem::path executable();

}  // namespace smemtune::cli
