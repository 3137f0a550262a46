#pragma once

#include "tuner/backend/cpu/child_process.h"
#include "tuner/config/space_file.h"

#include <memory>
#include <string>

namespace smemtune::cli {

/// A version of a space: its file and the kernels beside it, as they are or as they were.
struct SpaceVersion {
  std::string name;  ///< As it was asked for.
  LoadedSpace loaded;
  std::unique_ptr<cpu::TemporaryFolder> folder;  ///< Holds what came out of git; null: a file.
};

/// `given` is a space file or the name of one that comes along, else `REV:path`: the file as it was
/// in a revision of the git repository that is here. The path counts from the repository's root, or
/// with `./` from this folder. What lies in the file's folder,
/// and in kernel_templates/ where the revision has that, comes from the revision too. Throws
/// InputError with what git says.
SpaceVersion load_version(const std::string& given);

}  // namespace smemtune::cli
