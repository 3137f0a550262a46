#include "tuner/cli/help_text.h"

#include "reports/text_layout.h"

#include <cstddef>
#include <string>

namespace smemtune::cli {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kNamesWidth = 26;

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kNamesWidth); }

  std::string make_description(const CLI::App* app) const override {
    return wrapped(app->get_description(), kColumns) + "\n";
  }
  std::string make_footer(const CLI::App* app) const override {
    return wrapped(app->get_footer(), kColumns) + "\n";
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional() || option->get_type_size() == 0) return "";
    // Checks append the allowed values after a colon; the description contains them already.
    const std::string type = option->get_type_name();
    return " " + type.substr(0, type.find(':'));
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = option->get_description();
    if (option->get_required() && !option->get_positional()) text += " (required)";
    if (const std::string value = option->get_default_str(); !value.empty()) {
      text += " [" + value + "]";
    }
    return wrapped(text, kColumns - get_column_width());
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string name =
        make_option_name(option, true) + (option->get_expected_max() > 1 ? "..." : "");
    return option->get_required() ? name : "[" + name + "]";
  }
};

}  // namespace

std::shared_ptr<CLI::Formatter> help_formatter() { return std::make_shared<HelpFormatter>(); }

}  // namespace smemtune::cli
