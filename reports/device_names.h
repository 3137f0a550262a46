#pragma once

#include "db/comparison.h"
#include "db/rows.h"

#include <string>
#include <vector>

// Devices as text for people names them. Machine-readable formats have the whole names.

namespace smemtune {

/// Returns the name without its vendor: `RTX A4000`, `H100 80GB HBM3`; of a CPU with `(CPU)`.
std::string device_name_text(const std::string& name, DeviceKind kind);

/// Returns short names for devices that are shown together: `H100`, `RTX A4000`; the same name
/// without its vendor, or the whole name, for those that would otherwise share one; a single CPU is
/// `CPU`. In the order of `devices`.
std::vector<std::string> short_device_names(const std::vector<Device>& devices);

/// Returns short names for the columns of a comparison, where several are of the same device with
/// their source: `H200 (shipped)`.
std::vector<std::string> column_names(const db::Comparison& comparison);

/// Returns `own`, `imported`, `shipped` or the name of the shared file.
std::string source_word(const std::string& shared_from, bool is_imported);

/// Returns the file that a result comes from; empty if it was measured here.
std::string source_file(const db::StoredResult& stored);

}  // namespace smemtune
