#pragma once

#include <string>

namespace smemtune::db {

/// This process: the machine's boot, the process id and when it started.
std::string this_process();

/// Whether the process that had this name is still running here.
bool is_alive(const std::string& process);

/// Whether a process that had this name has ended with its machine: there was another boot since.
bool went_down_with_machine(const std::string& process);

}  // namespace smemtune::db
