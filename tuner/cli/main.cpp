#include "tuner/cli/backends.h"
#include "tuner/cli/command_check.h"
#include "tuner/cli/command_db.h"
#include "tuner/cli/command_devices.h"
#include "tuner/cli/command_diff.h"
#include "tuner/cli/command_import.h"
#include "tuner/cli/command_init.h"
#include "tuner/cli/command_occupancy.h"
#include "tuner/cli/command_replay.h"
#include "tuner/cli/command_report.h"
#include "tuner/cli/command_results.h"
#include "tuner/cli/command_run.h"
#include "tuner/cli/command_space.h"
#include "tuner/cli/command_tune.h"
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
#include <new>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace smemtune::cli {
namespace {

std::atomic<bool> stop_asked = false;  // NOLINT: a signal handler has nowhere else to write.
static_assert(std::atomic<bool>::is_always_lock_free);

// What only reads and answers has nothing to finish.
void end_at_once(int) { _exit(kInterrupted); }

// The first signal asks the run to stop cleanly, the second ends the process; workers end with it.
void stop_cleanly(int signal) {
  if (stop_asked.exchange(true)) _exit(128 + signal);
}

void on_stop_signals(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    sigaction(signal, &action, &before);
    // So nohup starts those that are to outlive their terminal.
    const bool outlives = signal == SIGHUP && before.sa_handler == SIG_IGN;
    if (outlives) sigaction(signal, &before, nullptr);
  }
}

void ignore_what_errors_tell() {
  struct sigaction ignore = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);  // `smemtune ... | head` must not cut a run short.
  sigaction(SIGXFSZ, &ignore, nullptr);  // A file that grows too large is an error of its writer.
}

/// Where a standard stream is closed, the next file or pipe to be opened would take its place, and
/// what is printed would end up there. Its use stays an error.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) _exit(1);
  }
}

/// Whether an answer that was printed got lost: a disk is full. That nobody reads a pipe to its
/// end, or that there is no output at all, is as its user has it.
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

/// What is wrong with the first word that is neither an option nor a command; empty: nothing is.
std::string mistyped_word(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(/*recurse=*/true);
  if (words.empty()) return "";
  const std::string word = words.front().substr(0, words.front().find('='));
  const auto used = app.get_subcommands();
  const CLI::App& command = used.empty() ? app : *used.front();
  std::vector<std::string> known;
  if (word.starts_with('-')) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    return "unknown option " + quote(word) + suggestion(word, known);
  }
  if (used.empty()) {
    for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(one->get_name());
    }
  }
  return (used.empty() ? "unknown command " : "unexpected argument ") + quote(word) +
         suggestion(word, known);
}

/// Parses, and runs what was asked for. CLI11's own exit codes lie above 100: every fault of the
/// command line is 2.
int run_command_line(int argc, char** argv) {
  CLI::App app(
      "Tunes CUDA kernels, above all how they use shared memory: compiles every configuration of "
      "a search space with NVRTC, verifies its results, times it, and keeps the best for each "
      "device.",
      "smemtune");
  app.set_version_flag("--version", "smemtune " SMEMTUNE_VERSION);
  app.get_formatter()->column_width(34);
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

  ResultsOptions best;
  CLI::App* best_command = app.add_subcommand("best", "The best configurations that are stored");
  add_best_options(*best_command, best);
  best_command->callback([&] { command = [&] { return run_best(best); }; });
  ResultsOptions list;
  CLI::App* list_command = app.add_subcommand("list", "Stored runs, or single results");
  add_list_options(*list_command, list);
  list_command->callback([&] { command = [&] { return run_list(list); }; });
  ResultsOptions exported;
  CLI::App* export_command =
      app.add_subcommand("export", "Write the best configurations for programs");
  add_export_options(*export_command, exported);
  export_command->callback([&] { command = [&] { return run_export(exported); }; });
  ResultsOptions compared;
  CLI::App* compare_command = app.add_subcommand("compare", "Devices side by side");
  add_compare_options(*compare_command, compared);
  compare_command->callback([&] { command = [&] { return run_compare(compared); }; });
  ReportOptions reported;
  CLI::App* report_command =
      app.add_subcommand("report", "Write a page with charts of what is stored of a space");
  add_report_options(*report_command, reported);
  report_command->callback([&] {
    if (reported.live) on_stop_signals(stop_cleanly);
    command = [&] { return run_report(reported, stop_asked); };
  });
  ImportOptions imported;
  CLI::App* import_command =
      app.add_subcommand("import", "Take in what other tuners and other people measured");
  add_import_options(*import_command, imported);
  import_command->callback([&] { command = [&] { return run_import(imported); }; });
  ImportOptions merged;
  CLI::App* merge_command = app.add_subcommand("merge", "Join databases of several machines");
  add_merge_options(*merge_command, merged);
  merge_command->callback([&] { command = [&] { return run_merge(merged); }; });
  DatabaseOptions kept;
  CLI::App* database_command = app.add_subcommand("db", "Check, describe, copy, prune a database");
  add_database_commands(*database_command, kept, command);
  InitOptions init;
  CLI::App* init_command =
      app.add_subcommand("init", "Write a space file for your own kernel, to be completed by you");
  add_init_options(*init_command, init);
  init_command->callback([&] { command = [&] { return run_init(init); }; });
  RunOptions one;
  CLI::App* run_command = app.add_subcommand(
      "run", "Verify and time one configuration, and keep what the compiler made");
  add_run_options(*run_command, one);
  run_command->callback([&] {
    on_stop_signals(stop_cleanly);
    command = [&] { return run_run(one, stop_asked); };
  });
  CheckOptions checked;
  CLI::App* check_command =
      app.add_subcommand("check", "Measure the stored winner again: does it still hold?");
  add_check_options(*check_command, checked);
  check_command->callback([&] {
    on_stop_signals(stop_cleanly);
    command = [&] { return run_check(checked, stop_asked); };
  });
  DiffOptions differing;
  CLI::App* diff_command =
      app.add_subcommand("diff", "Two versions of a space's kernels, back to back: is one slower?");
  add_diff_options(*diff_command, differing);
  diff_command->callback([&] {
    on_stop_signals(stop_cleanly);
    command = [&] { return run_diff(differing, stop_asked); };
  });
  DevicesOptions devices;
  CLI::App* devices_command =
      app.add_subcommand("devices", "The GPUs of this machine and their limits");
  add_devices_options(*devices_command, devices);
  devices_command->callback([&] { command = [&] { return run_devices(devices); }; });
  OccupancyOptions occupancy;
  CLI::App* occupancy_command =
      app.add_subcommand("occupancy", "How many warps fit a multiprocessor, and what limits them");
  add_occupancy_options(*occupancy_command, occupancy);
  occupancy_command->callback([&] { command = [&] { return run_occupancy(occupancy); }; });
  ReplayCommandOptions replay;
  CLI::App* replay_command =
      app.add_subcommand("replay", "Search what was measured again: how good is a strategy?");
  add_replay_options(*replay_command, replay);
  replay_command->callback([&] { command = [&] { return run_replay(replay); }; });
  SpaceOptions space;
  CLI::App* space_command =
      app.add_subcommand("space", "What a search space is made of, and what removes most of it");
  add_space_options(*space_command, space);
  space_command->callback([&] { command = [&] { return run_space(space); }; });
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
  } catch (const std::exception& error) {  // Of the machine, as input has Errors of its own.
    return report(5, error.what());
  }
}

}  // namespace
}  // namespace smemtune::cli

int main(int argc, char** argv) {
  smemtune::cli::occupy_standard_streams();
  return smemtune::cli::guarded_main(argc, argv);
}
