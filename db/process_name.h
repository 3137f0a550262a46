#pragma once

#include <string>

namespace smemtune::db {

/// This process: the machine's boot, the process id, when it started, and the machine's name.
std::string this_process();

/// The process as it is stored with a run: behind its name when it was heard of, in seconds since
/// 1970, and its state. Both are parts after further slashes; a state may have slashes itself.
std::string sign_of_life(double now_unix, const std::string& state);

std::string state_of(const std::string& sign);

/// How often a process that is at work stores its sign of life.
constexpr double kSignInterval_s = 60;

/// Whether the process of this name is still running here.
bool is_alive(const std::string& process);

/// Whether the process of this name, begun so many seconds ago, is still running here, or may be so
/// on another machine: there it is taken for gone after ten minutes without a sign of life, or
/// where it never gave one, as in earlier versions, after a day.
bool may_be_alive(const std::string& process, double begun_s_ago, double now_unix);

/// Whether what a process of this name began, so many seconds ago, ended with its machine: that has
/// booted since, or is another one and a day is over.
bool went_down_with_machine(const std::string& process, double begun_s_ago);

}  // namespace smemtune::db
