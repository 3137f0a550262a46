#pragma once

#include "db/rows.h"
#include "tuner/core/device.h"
#include "tuner/core/kernel_binding.h"
#include "tuner/core/result.h"
#include "tuner/core/size_rules.h"
#include "tuner/core/whole_file.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

// The forms in which results leave. Stored strings are data and never become code: names must be
// identifiers and words types or enumerators, otherwise the export is refused; all other text is
// escaped or left out.

namespace smemtune::db {

/// A result's kernel, compiled for the device that it was measured on.
struct BundledKernel {
  using Bytes = std::vector<std::uint8_t>;
  /// A buffer or scalar, in the space file's order.
  struct Parameter {
    Argument argument;
    Bytes value = {};         ///< A scalar's value; empty for a buffer.
    std::string symbol = {};  ///< The name in the cubin of a buffer in constant memory.
  };
  /// A parameter of a launch's entry.
  struct Taken {
    std::size_t parameter = 0;
    Bytes value = {};  ///< A value that only this launch passes; mostly empty.
  };
  struct Launch {
    std::string entry;  ///< Its name in the cubin.
    Dim3 grid = {1, 1, 1};
    Dim3 block = {1, 1, 1};
    Dim3 cluster = {1, 1, 1};
    std::int64_t dynamic_shared_bytes = 0;
    bool cooperative = false;
    std::vector<Taken> taken = {};
  };
  std::vector<Parameter> parameters;
  std::vector<Launch> launches;  ///< Listed in the order in which they are made.
  Bytes cubin;
};

/// Returns a C99 header that holds the cubins and launches them with the CUDA driver alone: neither
/// NVRTC nor smemtune is needed. `compiled` has one entry for each result. The same results and
/// cubins give the same text. Throws InputError if the results are of several spaces or the space's
/// name cannot be part of one in C.
std::string export_bundle(const std::vector<StoredResult>& best,
                          const std::vector<BundledKernel>& compiled);

/// Returns a self-contained C++17 header: for each space, a constexpr table of the best
/// configurations by device and problem, and of the times of the candidates for other sizes, the
/// kernels' default values, and select() (documented in db/EXPORT.md). The same results give the
/// same text. `notes`: lines for human readers, put at the top. Throws InputError naming the space
/// and the name if a name is not valid in C++.
std::string export_header(const std::vector<StoredResult>& best,
                          const std::vector<KernelDefaults>& defaults,
                          const std::string& notes = {},
                          const std::vector<StoredResult>& candidates = {});

/// Returns the text of tuner/core/selection.h, which is compiled in: exported headers begin with
/// it.
const char* selection_text();

/// Returns a line like `#define TILE 32` for every parameter of one configuration, to paste into a
/// kernel. Throws InputError for a name that cannot be a macro, or a word that is neither a type
/// nor an enumerator.
std::string export_defines(const StoredResult& best);

/// Returns the best configurations as CSV (RFC 4180 with LF line ends; columns are listed in
/// db/EXPORT.md). Text that a spreadsheet would take for a formula is prefixed with an apostrophe;
/// control characters become spaces. The same results give the same text.
std::string export_csv(const std::vector<StoredResult>& best);

/// Returns one cell of such a table: escaped text from any source, or a number, which is empty if
/// it is not finite.
std::string csv_text(const std::string& text);
std::string csv_number(double value);

/// Returns the best configurations as JSON, `"format": "smemtune-best", "version": 1` (documented
/// in db/EXPORT.md): per space, kernel, device and problem the parameters, launch shape, time,
/// throughput, occupancy, resources and provenance, and each kernel's default values. The text ends
/// with a newline and contains only verified results. The same results give the same text, in any
/// input order.
/// `candidates`: what else was measured of the best configurations and of default values; they
/// become a member of that name, without launches and failures included, unless there are none.
std::string export_json(const std::vector<StoredResult>& best,
                        const std::vector<KernelDefaults>& defaults,
                        const std::vector<StoredResult>& candidates = {});

/// Writes the same in parts, with a member `portfolios`, an array of what it costs to choose the same
/// configuration for several problems, unless it is empty.
void export_json(const std::vector<StoredResult>& best, const std::vector<KernelDefaults>& defaults,
                 const std::vector<StoredResult>& candidates,
                 const nlohmann::ordered_json& portfolios, const TextSink& out);

/// Returns the times of the same as JSON, `"format": "smemtune-times", "version": 1`: tables of them, by
/// which select() of libsmemtune predicts other sizes.
std::string export_times(const std::vector<StoredResult>& best,
                         const std::vector<KernelDefaults>& defaults,
                         const std::vector<StoredResult>& candidates);

/// A decision tree for a space on a device.
struct DeviceRules {
  std::string space;
  std::string device;
  std::vector<KernelConfiguration> variants;  ///< The configurations that the rules choose among.
  SizeRules rules;
  std::string notes;  ///< Lines for human readers: what the rules lose.
};

/// Returns a C++17 header: for each space the configurations, a constexpr function of nested ifs
/// over the sizes for each device, and select(device, problem), which answers for other devices
/// with the fallback of the first. Throws InputError naming the space and the name if a name is not
/// valid in C++, or if a name has sizes and words.
std::string export_rules_cpp(const std::vector<DeviceRules>& devices);

/// Returns the same as a module of Python, without imports: SPACE_select(device, **problem) returns
/// the kernel's name and a dictionary.
std::string export_rules_python(const std::vector<DeviceRules>& devices);

/// Gives all results to what it is called with, and the same whenever it is called.
using EachResult = std::function<void(const std::function<void(StoredResult&&)>&)>;

// Exports in the file formats of other tuners, of the results of one kernel on one device for one
// problem, each configuration once. They are written while they are read.

/// Writes a cache file of Kernel Tuner (schema 1.1.0), with which it can replay or continue a
/// search. REQUIRES: there are results. Reads them twice: its head has the values of all.
void export_kernel_tuner(const EachResult& each, const TextSink& out);

/// Writes T4 1.0.0, the results format of the FAIR benchmark suite.
void export_t4(const EachResult& each, const TextSink& out);

// One kernel's best configurations in the forms of libraries that choose by size or architecture.

/// Returns the JSON that vLLM reads for its fused kernels: by the one size in which the problems
/// differ (of a single problem: its only size, or M), the parameters. Throws InputError if the
/// results are of several kernels or devices, or differ in anything else.
std::string export_vllm(const std::vector<StoredResult>& best);

/// Returns a C++ header with a policy hub as CUB has it: a chain of policies, one for each compute
/// capability, whose members are the parameters. Throws InputError if the results are of several
/// kernels or problems, or of several devices with one compute capability, and for a name or a word
/// that is not valid in C++.
std::string export_cub(const std::vector<StoredResult>& best);

/// The content of an export.
struct ExportInput {
  std::vector<StoredResult> results;  ///< The results that ExportFormat::Takes names, unless all.
  EachResult all_results = {};        ///< These, for formats that take them.
  std::vector<KernelDefaults> defaults =
      {};                  ///< The kernels' defaults, unless it takes all results.
  std::string notes = {};  ///< Lines for human readers on the portfolios.
  nlohmann::ordered_json portfolios = nullptr;  ///< An array of their costs, or null.
  /// Other measured configurations of these (ResultReader::candidates()), for the formats that select.
  std::vector<StoredResult> candidates = {};
  std::vector<BundledKernel> compiled = {};  ///< Empty unless the format takes them.
};

/// A format of `smemtune export`.
struct ExportFormat {
  enum class Takes {
    bests,              ///< The best of each kernel, or the members of a portfolio.
    one_configuration,  ///< A single result: the best of all kernels.
    compiled,           ///< The best of all kernels for each problem, with what to launch for it.
    all_results,        ///< The newest of each configuration of one kernel, failures too.
  };

  const char* name;
  const char* help;  ///< Empty if the name says it all.
  Takes takes;
  bool selects;  ///< Whether candidates are of use to it.
  void (*write)(const ExportInput& input, const TextSink& out);
};

/// Returns all formats, in the order in which the help lists them.
const std::vector<ExportFormat>& export_formats();

/// Returns the format of this name. REQUIRES: there is one.
const ExportFormat& export_format(std::string_view name);

}  // namespace smemtune::db
