#pragma once

#include <string>

namespace smemtune::db {

/// This process: the machine's boot, the process id, when it started, and the machine's name.
std::string this_process();

/// What stands behind a process's name, after a further slash.
std::string state_of(const std::string& process);

/// Whether the process of this name is still running here.
bool is_alive(const std::string& process);

/// Whether the process of this name, begun so many seconds ago, is still running here, or may be so
/// on another machine: of that nothing is known, and it is taken for gone after a day.
bool may_be_alive(const std::string& process, double begun_s_ago);

/// Whether what a process of this name began, so many seconds ago, ended with its machine: that has
/// booted since, or is another one and a day is over.
bool went_down_with_machine(const std::string& process, double begun_s_ago);

}  // namespace smemtune::db
