#pragma once

#include "tuner/engine/messages.h"

#include <filesystem>
#include <functional>
#include <string>

namespace smemtune {

/// Runs the far end of a RemoteHost: starts and ends workers on this host as told over `in`, and
/// passes their messages on to `out`. Returns when the parent closes the link or is not heard from
/// for `silence_s`, and ends the workers. `describe` makes the hello; an Error that it throws is
/// reported to the parent. Files that workers are to read are stored in the folder `files`, which
/// workers find as kFilesVariable (npy_file.h). Returns the exit status.
int host_agent_main(const std::string& version, double silence_s,
                    const std::function<HostHello(const HostWelcome&)>& describe,
                    const std::filesystem::path& files, int in, int out);

}  // namespace smemtune
