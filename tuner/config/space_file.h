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
  std::map<std::string, KernelSource> sources;  ///< By kernel name.
  std::string text;                             ///< Of the JSON file.
  std::string sha256;                           ///< Of `text`.
  std::vector<std::string> notes;               ///< What costs time, a line each; no faults.
  /// The reference's source in double precision, where tolerances are derived from it; none where
  /// it cannot be had but a definition can.
  std::optional<KernelSource> reference_in_double;
};

/// Reads and checks a space file and every kernel source and include of it. A source is looked for
/// beside the JSON file, then in `share`/kernel_templates.
///
/// Throws InputError for the first fault: one line with the file, the JSON pointer (or line and
/// column where the text is not JSON), the text that is wrong and what would be right, with the
/// nearest known name. Unknown and duplicate keys, wrong types, numbers out of range, names that
/// mean two things, expressions that do not compile, constraints and launch shapes that cannot be
/// evaluated for the default configuration, a source that redefines a parameter handed over as a
/// macro, paths that leave the file's folder and options that are not allowed are faults.
LoadedSpace load_space(const std::filesystem::path& file, const std::filesystem::path& share);

/// The same of a file that holds `text`: as it once was, with the sources as they are.
LoadedSpace load_space_text(const std::filesystem::path& file, const std::filesystem::path& share,
                            const std::string& text);

/// Every fault of the file, each a line as above; empty when there is none. For `--check`.
std::vector<std::string> check_space(const std::filesystem::path& file,
                                     const std::filesystem::path& share);

/// Every key that the objects of a space file may have, by what the object is: `space`, `argument`,
/// `verify`, `kernel`, `kernel_verify`, `launch`. configs/schema.json describes them.
const std::map<std::string, std::vector<std::string>>& space_file_keys();

/// A problem given by hand, `M=512,N=512,K=512,T=float`, checked against the names that the space's
/// problems have. Throws InputError.
Problem parse_problem(const Space& space, std::string_view text);

/// A configuration given by hand, `TILE=32`, with the kernel's default for every parameter that it
/// leaves out. The values need not be on the kernel's lists. Throws InputError.
Configuration parse_configuration(const KernelTemplate& kernel, std::string_view text);

}  // namespace smemtune
