#include "reports/table.h"
#include "tuner/cli/backends.h"
#include "tuner/cli/command_tune.h"
#include "tuner/cli/commands.h"
#include "tuner/cli/hosts.h"
#include "tuner/cli/options.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <memory>
#include <new>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace smemtune::cli {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kNamesWidth = 26;

/// The format of --help: lines of at most 100 columns, and every default in square brackets.
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

void ignore_what_errors_tell() {
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);  // `smemtune ... | head` must not cut a run short.
  // A file that grows too large becomes an error of its writer.
  sigaction(SIGXFSZ, &ignore, nullptr);
}

/// Opens /dev/null for closed standard streams. Otherwise the next file or pipe would take their
/// place and receive what is printed. Using such a stream remains an error.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) _exit(1);
  }
}

/// Returns true if printed output was lost because a disk is full. A pipe that its reader closes
/// early, or a closed stdout, is the user's decision.
bool output_was_lost() {
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  struct stat output {};
  return failed && (fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) != O_RDONLY &&
         fstat(STDOUT_FILENO, &output) == 0 && !S_ISFIFO(output.st_mode) &&
         !S_ISSOCK(output.st_mode);
}

int report(int status, const std::string& message) {
  write_error("smemtune: " + message + "\n");
  return status;
}

/// Returns what is wrong with the first word that is neither an option nor a command; empty if
/// nothing is.
std::string mistyped_word(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(/*recurse=*/true);
  if (words.empty()) return "";
  const std::string word = words.front().substr(0, words.front().find('='));
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  std::vector<std::string> known;
  if (word.starts_with('-')) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    return "unknown option " + quote(word) + suggestion(word, known);
  }
  for (const CLI::App* one : command->get_subcommands([](const CLI::App*) { return true; })) {
    known.push_back(one->get_name());
  }
  std::string meant = suggestion(word, known);
  if (word.ends_with(".json") && command->get_option_no_throw("--space") != nullptr) {
    meant = "; did you mean --space " + quote(word);
    if (command->get_name() == "check") meant += ", or smemtune --check " + quote(word);
    meant += "?";
  }
  return (known.empty() ? "unexpected argument " : "unknown command ") + quote(word) + meant;
}

/// Parses the command line and runs the command. CLI11's exit codes are above 100, so every error
/// of the command line is mapped to 2.
int run_command_line(int argc, char** argv) {
  CLI::App app(
      "Tunes CUDA kernels, above all how they use shared memory: compiles every configuration of "
      "a search space with NVRTC, verifies its results, times it, and keeps the best for each "
      "device.",
      "smemtune");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", "smemtune " SMEMTUNE_VERSION, "Print the version");
  app.footer(
      "Exit status: 0 success; 1 check or diff found a loss; 2 invalid file or option; 3 no "
      "configuration worked; 4 results database unusable; 5 GPU, driver, compiler or memory "
      "missing; 130 interrupted.");

  TuneOptions tune;
  tune.command_line.assign(argv, argv + argc);
  add_tune_options(app, tune);
  CLI::App* tune_command = app.add_subcommand("tune", "Tune a space (the default)");
  add_tune_options(*tune_command, tune);

  Commands commands(app);
  for (const auto add :
       {add_best_command, add_list_command, add_export_command, add_compare_command,
        add_report_commands, add_import_commands, add_database_commands, add_init_command,
        add_run_command, add_check_command, add_history_command, add_diff_command,
        add_devices_command, add_occupancy_command, add_replay_command, add_space_command}) {
    add(commands);
  }
  app.require_subcommand(0, 1);
  refuse_empty_values(app);
  for (CLI::App* subcommand : app.get_subcommands({})) {
    refuse_empty_values(*subcommand);
    for (CLI::App* part : subcommand->get_subcommands({})) refuse_empty_values(*part);
  }

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    const std::string mistyped = mistyped_word(app);
    return report(2, printable(mistyped.empty() ? error.what() : mistyped) +
                         " (smemtune --help shows the options)");
  }
  const int status = commands.chosen() ? commands.chosen()() : run_tune(tune);
  if (status == 0 && output_was_lost()) return report(2, "standard output: cannot be written");
  return status;
}

int guarded_main(int argc, char** argv) {
  try {
    if (argc > 1 && std::string(argv[1]) == "__worker") {
      return run_worker({argv + 2, argv + argc});
    }
    if (argc > 1 && std::string(argv[1]) == "__host") {
      return run_host_agent({argv + 2, argv + argc});
    }
    end_on_signals();
    ignore_what_errors_tell();
    fit_page();
    return run_command_line(argc, argv);
  } catch (const ReferenceError& error) {
    return report(3, error.what());
  } catch (const InputError& error) {
    return report(2, error.what());
  } catch (const StoreError& error) {
    return report(4, error.what());
  } catch (const UnavailableError& error) {
    return report(5, error.what());
  } catch (const std::bad_alloc&) {
    return report(5, "out of memory");
    // An error of the machine; errors of the input are Errors.
  } catch (const std::exception& error) {
    return report(5, error.what());
  }
}

}  // namespace
}  // namespace smemtune::cli

int main(int argc, char** argv) {
  smemtune::cli::occupy_standard_streams();
  return smemtune::cli::guarded_main(argc, argv);
}
