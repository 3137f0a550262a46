#pragma once

#include <string>

namespace smemtune::db {

/// This process, so that it can be told later, in another one, whether it is still alive: the
/// machine's boot, the process id and when it started.
std::string this_process();
bool is_alive(const std::string& process);

}  // namespace smemtune::db
