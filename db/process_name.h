#pragma once

#include <string>

namespace smemtune::db {

/// Returns the name of this machine; empty if it has none.
std::string host_name();

/// Returns a name for this process: the machine's boot id, the process id, its start time and the
/// host name.
std::string this_process();

/// Returns what is stored with a run to show that this process is alive: the name of this process,
/// the current time in seconds since 1970 and its state, separated by slashes. The state may
/// contain slashes itself.
std::string sign_of_life(double now_unix, const std::string& state);

std::string state_of(const std::string& sign);

/// How often a running process stores its sign of life.
constexpr double kSignInterval_s = 60;

/// Returns true if the process of this name is still running on this machine.
bool is_alive(const std::string& process);

/// Returns true if the process of this name, which began `begun_s_ago` seconds ago, is running on
/// this machine or may be running on another one. A process on another machine counts as dead after
/// ten minutes without a sign of life, or after a day if it never gave one (earlier versions did
/// not).
bool may_be_alive(const std::string& process, double begun_s_ago, double now_unix);

/// Returns true if what the process began `begun_s_ago` seconds ago was cut off when its machine
/// went down: this machine has booted since, or it is another machine and more than a day has
/// passed.
bool went_down_with_machine(const std::string& process, double begun_s_ago);

}  // namespace smemtune::db
