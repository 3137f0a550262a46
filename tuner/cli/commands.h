#pragma once

#include <CLI/CLI.hpp>

#include <atomic>
#include <functional>
#include <memory>

namespace smemtune::cli {

/// The commands of the program, or the subcommands of one of them.
class Commands {
 public:
  explicit Commands(CLI::App& app) : app_(app) {}

  /// Adds a command with options of its own. `run` returns the exit status.
  template <typename Options>
  void add(const char* name, const char* description, void (*add_options)(CLI::App&, Options&),
           int (*run)(const Options&)) {
    CLI::App* const command = app_.add_subcommand(name, description);
    const auto options = std::make_shared<Options>();
    add_options(*command, *options);
    command->callback(
        [chosen = chosen_, options, run] { *chosen = [options, run] { return run(*options); }; });
  }

  /// Adds a command that consists of subcommands, and returns what these are added to.
  Commands add_group(const char* name, const char* description) {
    Commands group(*app_.add_subcommand(name, description)->require_subcommand(1));
    group.chosen_ = chosen_;
    return group;
  }

  /// Returns what runs the command that the command line names; empty if it names none.
  const std::function<int()>& chosen() const { return *chosen_; }

 private:
  CLI::App& app_;
  std::shared_ptr<std::function<int()>> chosen_ = std::make_shared<std::function<int()>>();
};

/// Makes the signals that ask a process to stop end it at once, as a command that only reads and
/// answers has nothing to finish.
void end_on_signals();

/// Makes the first of these signals set the flag that is returned, and the second end the process,
/// and its workers with it.
const std::atomic<bool>& stop_on_signals();

// Each of these functions adds a command, or several that belong together, with its options.
void add_best_command(Commands& commands);
void add_check_command(Commands& commands);
void add_compare_command(Commands& commands);
void add_database_commands(Commands& commands);
void add_devices_command(Commands& commands);
void add_diff_command(Commands& commands);
void add_export_command(Commands& commands);
void add_history_command(Commands& commands);
void add_import_commands(Commands& commands);
void add_init_command(Commands& commands);
void add_list_command(Commands& commands);
void add_occupancy_command(Commands& commands);
void add_replay_command(Commands& commands);
void add_report_commands(Commands& commands);
void add_run_command(Commands& commands);
void add_space_command(Commands& commands);

}  // namespace smemtune::cli
