#include "tuner/cli/backends.h"
#include "tuner/cli/command_check.h"
#include "tuner/cli/command_db.h"
#include "tuner/cli/command_devices.h"
#include "tuner/cli/command_diff.h"
#include "tuner/cli/command_history.h"
#include "tuner/cli/command_import.h"
#include "tuner/cli/command_init.h"
#include "tuner/cli/command_occupancy.h"
#include "tuner/cli/command_replay.h"
#include "tuner/cli/command_report.h"
#include "tuner/cli/command_results.h"
#include "tuner/cli/command_run.h"
#include "tuner/cli/command_space.h"
#include "tuner/cli/command_tune.h"
#include "tuner/cli/help_text.h"
#include "tuner/cli/hosts.h"
#include "tuner/cli/options.h"
#include "tuner/cli/terminal.h"
#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <CLI/CLI.hpp>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <sys/stat.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace smemtune::cli {
namespace {

std::atomic<bool> stop_asked = false;  // NOLINT: a signal handler has nowhere else to write.
static_assert(std::atomic<bool>::is_always_lock_free);

// Commands that only read and answer have nothing to finish.
void end_at_once(int) { _exit(kInterrupted); }

// The first signal asks the run to stop cleanly; the second ends the process, and its workers with
// it.
void stop_cleanly(int signal) {
  if (stop_asked.exchange(true)) _exit(128 + signal);
}

void on_stop_signals(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    sigaction(signal, &action, &before);
    // nohup ignores SIGHUP for processes that should outlive their terminal.
    const bool outlives = signal == SIGHUP && before.sa_handler == SIG_IGN;
    if (outlives) sigaction(signal, &before, nullptr);
  }
}

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

/// Adds a command with its own options; if the command line names it, `chosen` runs it. For a
/// command that takes a stop flag, the first signal sets the flag.
template <typename Options, typename Run>
void add_command(CLI::App& app, std::function<int()>& chosen, const char* name,
                 const char* description, void (*add_options)(CLI::App&, Options&), Run run) {
  CLI::App* const command = app.add_subcommand(name, description);
  const auto options = std::make_shared<Options>();
  add_options(*command, *options);
  command->callback([&chosen, options, run] {
    chosen = [options, run] {
      if constexpr (std::is_invocable_v<Run, const Options&>) {
        return run(*options);
      } else {
        on_stop_signals(stop_cleanly);
        return run(*options, stop_asked);
      }
    };
  });
}

/// Parses the command line and runs the command. CLI11's exit codes are above 100, so every error
/// of the command line is mapped to 2.
int run_command_line(int argc, char** argv) {
  CLI::App app(
      "Tunes CUDA kernels, above all how they use shared memory: compiles every configuration of "
      "a search space with NVRTC, verifies its results, times it, and keeps the best for each "
      "device.",
      "smemtune");
  app.formatter(help_formatter());
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", "smemtune " SMEMTUNE_VERSION, "Print the version");
  app.footer(
      "Exit status: 0 success; 1 check or diff found a loss; 2 invalid file or option; 3 no "
      "configuration worked; 4 results database unusable; 5 GPU, driver, compiler or memory "
      "missing; 130 interrupted.");

  std::function<int()> command;
  TuneOptions tune;
  tune.command_line.assign(argv, argv + argc);
  add_tune_options(app, tune);
  CLI::App* tune_command = app.add_subcommand("tune", "Tune a space (the default)");
  add_tune_options(*tune_command, tune);

  add_command(app, command, "best", "Show the best stored configurations", add_best_options,
              run_best);
  add_command(app, command, "list", "List stored runs, or single results", add_list_options,
              run_list);
  add_command(app, command, "export", "Write the best configurations for programs",
              add_export_options, run_export);
  add_command(app, command, "compare", "Compare devices side by side", add_compare_options,
              run_compare);
  add_command(app, command, "report", "Write a page with charts of a space's stored results",
              add_report_options, [](const ReportOptions& options) {
                if (options.live) on_stop_signals(stop_cleanly);
                return run_report(options, stop_asked);
              });
  add_command(app, command, "why", "Say why the stored winners beat what they beat",
              add_why_options, run_why);
  add_command(app, command, "import", "Import results of other tuners and other people",
              add_import_options, run_import);
  add_command(app, command, "merge", "Merge databases of several machines", add_merge_options,
              run_merge);
  DatabaseOptions kept;
  CLI::App* database_command =
      app.add_subcommand("db", "Check, describe, copy or prune a database");
  add_database_commands(*database_command, kept, command);
  add_command(app, command, "init", "Write a space file for your own kernel, for you to complete",
              add_init_options, run_init);
  add_command(app, command, "run",
              "Verify and time one configuration, and keep what the compiler made", add_run_options,
              run_run);
  add_command(app, command, "check", "Measure the stored winner again: does it still hold?",
              add_check_options, run_check);
  add_command(app, command, "history",
              "Show what the stored winners took in the course of time, and where that changed",
              add_history_options, run_history);
  add_command(app, command, "diff",
              "Measure two versions of a space's kernels back to back: is one slower?",
              add_diff_options, run_diff);
  add_command(app, command, "devices", "List the GPUs of this machine and their limits",
              add_devices_options, run_devices);
  add_command(app, command, "occupancy",
              "Show how many warps fit a multiprocessor, and what limits them",
              add_occupancy_options, run_occupancy);
  add_command(app, command, "replay", "Search recorded measurements again: how good is a strategy?",
              add_replay_options, run_replay);
  add_command(app, command, "space",
              "Show what a search space is made of, and what removes most of it", add_space_options,
              run_space);
  app.require_subcommand(0, 1);
  refuse_empty_values(app);
  for (CLI::App* subcommand : app.get_subcommands({})) refuse_empty_values(*subcommand);
  for (CLI::App* part : database_command->get_subcommands({})) refuse_empty_values(*part);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    const std::string mistyped = mistyped_word(app);
    return report(2, printable(mistyped.empty() ? error.what() : mistyped) +
                         " (smemtune --help shows the options)");
  }
  if (!command) {
    if (tune.check.empty()) on_stop_signals(stop_cleanly);
    command = [&] { return run_tune(tune, stop_asked); };
  }
  const int status = command();
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
    on_stop_signals(end_at_once);
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
