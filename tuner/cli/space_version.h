#pragma once

#include "tuner/config/space_file.h"
#include "tuner/core/temporary_folder.h"

#include <memory>
#include <string>

namespace smemtune::cli {

/// A version of a space: its file and the kernels beside it, in the working tree or in a git
/// revision.
struct SpaceVersion {
  std::string name;  ///< The name that was asked for.
  LoadedSpace loaded;
  /// Holds the files from git; nullptr if the space was read from a file.
  std::unique_ptr<TemporaryFolder> folder;
};

/// Loads a version of a space. `given`: a space file, the name of one that comes with smemtune, or
/// `REV:path`, the file in a revision of the git repository here. The path is relative to the
/// repository's root, or with `./` to the working directory. The other files in the file's folder,
/// and kernel_templates/ if the revision has it, also come from the revision. Throws InputError
/// with git's message.
SpaceVersion load_version(const std::string& given);

}  // namespace smemtune::cli
