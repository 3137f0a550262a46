#pragma once

#include "tuner/engine/messages.h"

#include <filesystem>
#include <functional>
#include <string>

namespace smemtune {

/// The far end of a RemoteHost: starts and ends the workers of this host as it is told over `in`
/// and `out`, and carries what they say. Ends, and they with it, when the parent closes the link or
/// is not heard of for `silence_s`. `describe` makes the hello; an Error of it is told the parent.
/// Files that workers are to read come into the folder `files`, which they find as
/// kFilesVariable (npy_file.h). Returns the exit status.
int host_agent_main(const std::string& version, double silence_s,
                    const std::function<HostHello(const HostWelcome&)>& describe,
                    const std::filesystem::path& files, int in, int out);

}  // namespace smemtune
