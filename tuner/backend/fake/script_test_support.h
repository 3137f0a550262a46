#pragma once

#include "tuner/core/definition.h"
#include "tuner/core/space.h"
#include "tuner/core/value.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smemtune::fake {

/// A "kernel source" that says how a kernel behaves instead of what it does, one line per fact:
///
///   kernel add(T, TILE)               names of the entry's template arguments
///   computes out[i] = in[i] + 1       a definition, once per output (core/definition.h)
///   time_ns 1000 + 10 * abs(TILE - 8) an expression; default 1000
///   noise_percent 1                   of each sample, either way
///   drift_percent 5                   of the device over some hundred samples
///   registers 32 + TILE               as compiler and driver report them; default 32
///   static_shared TILE * 4            default 0
///   spills 8 * TILE                   bytes stored, and as many loaded; default 0
///   wgmma_serialized TILE > 8         default 0
///   code TILE                         configurations with equal numbers have the same code;
///                                     by default all differ
///   clock_mhz 1500 - 300 * (DISCARDED < 2)   of each sample; the device's own is 1500, the default
///   driver_registers 40               if the driver is to report another number
///   fault crash in time when TILE == 8 && TIMES > 3
///
/// Expressions read template arguments, macros of the options, and HAPPENED: whether a fault that
/// happens only once has happened. At run time they also read UNIT (of the device), the problem's
/// integer scalars, SEED (of the workload), and RUNS and TIMES (earlier calls of run and time by
/// this process for this configuration); the clock also reads DISCARDED (samples that the same call
/// of time repeated).
struct Script {
  struct Fault {
    std::string kind;
    /// `compile`, `load`, `run`, `time`, `draw` (of data, by a reference), `look`, which also has
    /// the kind `race`, or `count`, which also has the kind `refused`.
    std::string place;
    std::string when = "1";
  };
  std::string entry;
  std::vector<std::string> template_names;
  std::vector<std::string> definitions;
  std::string time_ns = "1000";
  double noise_percent = 0;
  double drift_percent = 0;
  std::string registers = "32";
  std::string static_shared = "0";
  std::string spills = "0";
  std::string wgmma_serialized = "0";
  std::string code;  ///< Empty: each configuration has its own.
  std::string clock_mhz = "1500";
  std::string driver_registers;  ///< Empty: the registers that the compiler reports.
  std::vector<Fault> faults;
};

/// Parses a script. Throws InputError for a line that is none of the above.
Script parse_script(std::string_view text);

/// Returns the values of the names in an expression: the template arguments of `name_expression`
/// and the `-DNAME=VALUE` among `options`. Throws InputError when the number of template arguments
/// is not the script's.
Bindings bindings_of(const Script& script, const std::string& name_expression,
                     const std::vector<std::string>& options);

std::int64_t evaluate(const std::string& text, const Bindings& bindings);

/// Returns the fault of that place whose condition holds.
std::optional<std::string> fault_at(const Script& script, std::string_view place,
                                    const Bindings& bindings);

/// Commits the fault if `kind` is one of a process: `crash` (abort), `hang`, `exit`, `killed` (by
/// SIGKILL), `flood` (prints 8 MB and goes on), `pause` (takes 20 ms and goes on), `wait` (goes on
/// when the file `happened` is in the folder that SMEMTUNE_FAKE_FOLDER names), `wait_filled` (goes on
/// when note_filled() was called), `meet2` and `meet3` (goes on when that many processes have come
/// here), `broken` (throws UnavailableError),
/// `shortage` (throws MachineError), `memory` (throws bad_alloc), `garbage` (writes bytes that are
/// no message to `reply_descriptor` and hangs), `torn` (writes the beginning of a message there and
/// ends). `crash_once`, `killed_once` and `shortage_once` happen once, and processes meet, per
/// folder that SMEMTUNE_FAKE_FOLDER names.
void commit(const std::string& kind, int reply_descriptor);

/// Adds a file `filled-NUMBER` to the folder that SMEMTUNE_FAKE_FOLDER names, if it is set. If there
/// is a file `abort_when_filled`, removes that and aborts instead.
void note_filled();

/// Returns the number of files in that folder whose names begin with `prefix`.
std::size_t files_in_folder(const std::string& prefix);

}  // namespace smemtune::fake
