#pragma once

#include "tuner/core/space.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A space file with the sources that it names.
struct LoadedSpace {
  Space space;
  std::map<std::string, KernelSource> sources;  ///< Sources by kernel name.
  std::string text;                             ///< Text of the JSON file.
  std::string sha256;                           ///< Hash of `text`.
  /// Notes on things that cost time but are not faults, one line each.
  std::vector<std::string> notes;
  /// The reference's source in double precision, if tolerances are derived from it; nullopt if
  /// there is no such source but a definition can be used.
  std::optional<KernelSource> reference_in_double;
};

/// Reads and checks a space file and every kernel source and include of it. A source is looked for
/// beside the JSON file, then in `share`/kernel_templates.
///
/// Throws InputError for the first fault: one line with the file, the JSON pointer (or line and
/// column if the text is not JSON), the text that is wrong and what would be right, with the
/// nearest known name. These are faults: unknown and duplicate keys, wrong types, numbers out of
/// range, names that mean two things, expressions that do not compile, constraints and launch
/// shapes that cannot be evaluated for the default configuration, a source that redefines a
/// parameter passed as a macro, paths that leave the file's folder, and options that are not
/// allowed.
LoadedSpace load_space(const std::filesystem::path& file, const std::filesystem::path& share);

/// Loads the space as if the file contained `text`, an earlier version of it, with the current
/// sources.
LoadedSpace load_space_text(const std::filesystem::path& file, const std::filesystem::path& share,
                            const std::string& text);

/// Returns every fault of the file, each a line as above; empty if there is none. For `--check`.
std::vector<std::string> check_space(const std::filesystem::path& file,
                                     const std::filesystem::path& share);

/// Returns every key that the objects of a space file may have, by kind of object: `space`,
/// `argument`, `verify`, `kernel`, `kernel_verify`, `launch`. configs/schema.json describes them.
const std::map<std::string, std::vector<std::string>>& space_file_keys();

/// Parses a problem given by hand, `M=512,N=512,K=512,T=float`, and checks it against the names of
/// the space's problems. Throws InputError.
Problem parse_problem(const Space& space, std::string_view text);

/// Parses a configuration given by hand, `TILE=32`; parameters that it leaves out get the kernel's
/// defaults. The values need not be in the kernel's lists. Throws InputError.
Configuration parse_configuration(const KernelTemplate& kernel, std::string_view text);

}  // namespace smemtune
