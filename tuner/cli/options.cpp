#include "tuner/cli/options.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string_view>
#include <system_error>
#include <vector>

namespace smemtune::cli {
namespace {

constexpr std::string_view kJson = ".json";

/// Returns the number without an exponent: 1000000000, 0.001.
std::string plain(double number) {
  std::array<char, 64> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  return {text.data(), end.ptr};
}

std::string range_text(double least, double most) {
  return most >= 1e18 ? "of at least " + plain(least)
                      : "between " + plain(least) + " and " + plain(most);
}

bool holds_share(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::is_directory(folder / "kernel_templates", ignored) &&
         std::filesystem::is_directory(folder / "configs", ignored);
}

/// Returns the names of the JSON files in a folder; empty if it cannot be read.
std::vector<std::string> json_files(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == kJson) names.push_back(entry.path().filename().string());
  }
  return names;
}

}  // namespace

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::uint64_t parse_count(const std::string& option, const std::string& text, std::uint64_t least,
                          std::uint64_t most) {
  const auto value = number_in<std::uint64_t>(text);
  const bool leading_zero = text.size() > 1 && text.front() == '0';
  if (!value || leading_zero || *value < least || *value > most) {
    throw InputError(option + ": '" + text + "' is not a whole number " +
                     range_text(static_cast<double>(least), static_cast<double>(most)));
  }
  return *value;
}

double parse_number(const std::string& option, const std::string& text, double least, double most) {
  const auto value = number_in<double>(text);
  if (!value || !std::isfinite(*value) || *value < least || *value > most) {
    throw InputError(option + ": '" + text + "' is not a number " + range_text(least, most));
  }
  return *value;
}

CLI::Option* add_repeatable(CLI::App& app, const std::string& name,
                            std::vector<std::string>& values, const std::string& description,
                            const std::string& type) {
  return app.add_option(name, values, description)->type_name(type)->expected(1)->take_all();
}

std::filesystem::path default_database() {
  if (const char* file = environment("SMEMTUNE_DB")) return file;
  // The XDG base directory specification says that relative paths are ignored.
  const char* data = environment("XDG_DATA_HOME");
  const char* home = environment("HOME");
  const bool has_data = data != nullptr && *data == '/';
  if (!has_data && home == nullptr) return {};
  const std::filesystem::path folder =
      has_data ? std::filesystem::path(data) : std::filesystem::path(home) / ".local" / "share";
  return folder / "smemtune" / "smemtune.sqlite";
}

void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_type_size() == 0 || option->get_name() == "--config") continue;
    option->check([](const std::string& text) {
      return text.empty() ? std::string("is empty") : std::string();
    });
  }
}

void add_database(CLI::App& app, std::filesystem::path& database) {
  database = default_database();
  app.add_option("--db", database, "Results database (or $SMEMTUNE_DB)")
      ->type_name("FILE")
      ->capture_default_str();
}

std::filesystem::path executable() { return std::filesystem::read_symlink("/proc/self/exe"); }

void add_no_wait(CLI::App& app, bool& no_wait) {
  app.add_flag("--no-wait", no_wait,
               "Exit with status 5 instead of waiting while another smemtune uses the device");
}

void add_objective(CLI::App& app, std::string& objective, const std::string& help) {
  app.add_option("--objective", objective, help)->type_name("EXPRESSION");
}

std::filesystem::path share_folder() {
  if (const char* share = environment("SMEMTUNE_SHARE")) {
    if (holds_share(share)) return share;
    throw InputError("SMEMTUNE_SHARE: '" + std::string(share) +
                     "' does not hold the folders kernel_templates and configs");
  }
  const std::filesystem::path installed =
      executable().parent_path().parent_path() / "share" / "smemtune";
  if (holds_share(installed)) return installed;
  if (holds_share(SMEMTUNE_SOURCE_FOLDER)) return SMEMTUNE_SOURCE_FOLDER;
  throw InputError("kernel_templates and configs are neither in '" + installed.string() +
                   "' nor in '" SMEMTUNE_SOURCE_FOLDER "': set SMEMTUNE_SHARE to their folder");
}

std::filesystem::path find_space(const std::filesystem::path& given) {
  std::error_code unreadable;
  const bool is_here = std::filesystem::exists(given, unreadable) &&
                       !std::filesystem::is_directory(given, unreadable);
  if (is_here || unreadable) return given;
  if (given.has_parent_path()) {
    const std::vector<std::string> beside = json_files(given.parent_path());
    throw InputError(quote(given.string()) + ": there is no such file" +
                     suggestion(given.filename().string(), beside));
  }
  const std::filesystem::path shipped = share_folder() / "configs";
  std::vector<std::string> names = json_files(shipped);
  for (const std::string& name : names) {
    if (name == given || name == given.string() + std::string(kJson)) return shipped / name;
  }
  std::ranges::move(json_files("."), std::back_inserter(names));
  // Spaces that come with smemtune may be named without the extension.
  if (given.extension() != kJson) {
    for (std::string& name : names) name.resize(name.size() - kJson.size());
  }
  throw InputError(quote(given.string()) + ": there is no such file, here or in " +
                   shipped.string() + suggestion(given.string(), names));
}

std::string random_id() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(device()));
    id += digits;
  }
  return id;
}

}  // namespace smemtune::cli
