#pragma once

#include "tuner/backend/compiler.h"
#include "tuner/backend/launcher.h"
#include "tuner/core/compared_output.h"
#include "tuner/core/derived_tolerance.h"
#include "tuner/core/fields.h"
#include "tuner/engine/module.h"
#include "tuner/engine/wire.h"
#include "tuner/engine/worker_host.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace smemtune {

/// A configuration on a problem, as the device worker runs it.
struct Part {
  std::uint32_t module = 0;  ///< Index in the job's modules.
  std::vector<LaunchShape> launches;
  std::vector<Argument> arguments;
  Tolerance tolerance;
  std::vector<WorkloadId> workloads;  ///< Workloads on which it must be right; it is timed on the
                                      ///< first.

  bool operator==(const Part&) const = default;
};

/// A compiled configuration of a kernel: on the tuned problem (the first part) and on the further
/// problems on which it must be right.
struct Job {
  std::vector<CompiledKernel> modules;  ///< Modules without their images.
  std::vector<std::uint64_t> images;    ///< Numbers of the images, which are sent ahead.
  std::vector<Part> parts;

  bool operator==(const Job&) const = default;
};

/// The hello of a compile worker; that of a device worker is its Device.
struct CompilerHello {
  std::string version;
  std::string sha256;

  bool operator==(const CompilerHello&) const = default;
};

/// The reason why a worker cannot go on.
struct Broken {
  std::string message;
  bool input = false;     ///< True if the user's input is wrong, not the machine.
  bool shortage = false;  ///< True if the machine lacks something (machine_fault.h).

  bool operator==(const Broken&) const = default;
};

/// The first message to another host.
struct HostWelcome {
  std::string name;                     ///< The parent's name for the host: the UUID of its CPU
                                        ///< device.
  std::string limits_of;                ///< The GPU whose limits the CPU device borrows.
  std::string purpose;                  ///< Purpose in device locks (LockHolder).
  bool waits = true;                    ///< Whether to wait for devices that another smemtune uses.
  std::vector<std::string> nvrtc = {};  ///< Paths of the CUDA compiler libraries; empty: use what
                                        ///< is found.

  bool operator==(const HostWelcome&) const = default;
};

/// A host's answer to HostWelcome: what it has.
struct HostHello {
  std::uint32_t cores = 0;         ///< Cores that it may use.
  std::uint64_t memory_bytes = 0;  ///< Memory that it may use.
  std::vector<Device> gpus;
  std::string why_no_gpu;                          ///< Why its GPUs cannot be used; empty
                                                   ///< otherwise.
  Device cpu;                                      ///< Its cores as a device.
  std::map<std::string, CompilerHello> compilers;  ///< Compilers by back end, `cuda` and `cpu`.
  std::map<std::string, std::string> lacking;      ///< The reason for each back end without a
                                                   ///< compiler.
  std::vector<std::int64_t> nvrtc_versions;  ///< Versions of HostWelcome::nvrtc; empty where one is
                                             ///< missing.

  bool operator==(const HostHello&) const = default;
};

/// A piece of a file; the pieces of a file arrive in order.
struct FilePiece {
  std::string sha256;  ///< Hash of the whole file, which is also its name on the host.
  std::vector<std::uint8_t> bytes;
  bool last = false;

  bool operator==(const FilePiece&) const = default;
};

/// Compile requests that differ only in what they instantiate.
using CompileBatch = std::vector<CompileRequest>;

/// The outcomes of a CompileBatch. Requests may share a module.
struct CompileReply {
  std::vector<CompiledKernel> modules;
  struct Answer {
    std::int32_t module = -1;  ///< Index in `modules`; negative when there is none, because of
                               ///< `failure`.
    Failure failure = {};

    bool operator==(const Answer&) const = default;
  };
  std::vector<Answer> answers;  ///< One for each request.

  bool operator==(const CompileReply&) const = default;
};

CompileReply make_reply(const CompiledTogether& outcomes);

/// Returns the number of the module with that index in the reply to request `sequence`.
std::uint64_t module_number(std::uint64_t sequence, std::size_t index);

/// Returns the outcome of each request of batch `sequence`. REQUIRES: `reply` was checked.
std::vector<Outcome<Module>> outcomes_of(CompileReply reply, std::uint64_t sequence);

/// A workload with its number and label.
struct NumberedWorkload {
  WorkloadId id = 0;
  std::string label;  ///< For example `N=4096, seed 2`.
  Problem problem;
  Workload workload;

  bool operator==(const NumberedWorkload&) const = default;
};

/// Fills the device with the data of a problem and runs the reference kernel on it.
struct PrepareRequest {
  std::vector<NumberedWorkload> workloads;
  Job reference;  ///< Has no parts if nothing will be compared.
  /// Factor of tolerances that are to be derived, from `in_double`, the reference in double
  /// precision, else from the definitions; 0 when none are.
  double derive = 0;
  std::optional<Job> in_double = std::nullopt;
  std::string truth = {};  ///< See DerivedTolerance::truth.
  /// The reference is compared with these; may be empty.
  std::vector<ExpressionText> definitions;
  bool definition_is_a_guess = false;  ///< See Verify::definition_is_a_guess.
  /// Files with which the reference is compared, by output (Verify).
  std::map<std::string, DataFile> expected;
  bool with_transfers = false;  ///< Whether to time the copies of the first workload.
  /// True if the reference was already compared with the definitions and files on this unit.
  bool again = false;

  bool operator==(const PrepareRequest&) const = default;
};

/// Returns the files that a request reads.
std::vector<DataFile> files_of(const PrepareRequest& request);

/// Statistics of what the reference wrote to an output of a problem.
struct ReferenceOutput {
  std::string problem;  ///< Key of the problem.
  std::string output;
  std::int64_t elements = 0;
  std::int64_t changed = 0;  ///< Elements that the reference changed, on any set of data.
  /// Value of every element on every set of data; empty when they differ.
  std::string constant = {};

  bool operator==(const ReferenceOutput&) const = default;
};

struct PrepareReply {
  std::optional<Failure> failure;
  std::vector<std::string> notes;  ///< For people.
  std::optional<Transfers> transfers;
  std::vector<DerivedTolerance> derived = {};
  std::vector<ComparedOutput> compared = {};  ///< With definitions and files.
  std::vector<ReferenceOutput> outputs = {};

  bool operator==(const PrepareReply&) const = default;
};

/// Limits beyond which a configuration is lost, as multiples of what the fastest of its rivals takes
/// at present. 0: no limit.
struct LossLimits {
  /// A configuration is lost if its first sample takes longer than this,
  double lost_above = 0;
  /// or if its first sample and a second one take longer than this.
  double doubtful_above = 0;
  /// Time of the fastest of all kernels, of which kLostToAny and kDoubtfulToAny are such multiples
  /// (seen_times.h); 0: not known.
  double fastest_of_all_ms = 0;
  double kept_below_ms = 0;  ///< A configuration whose samples take less than this is never lost.

  bool operator==(const LossLimits&) const = default;
};

/// Loads a job, and verifies, screens and keeps it as asked. A job that is lost is neither verified
/// nor sampled any further.
struct EvaluateRequest {
  Job job;
  bool verify = true;
  std::int32_t screen_samples = 0;  ///< 0: do not time it.
  double stop_above_ms = 0;
  double enough_ms = 0;
  /// Samples of each launch by itself where there are several; 0: none.
  std::int32_t launch_samples = 0;
  /// Identifies the configurations that compete with each other, such as those of one kernel: before
  /// anything else one sample is compared with one of the fastest of them; without `verify` nothing
  /// else is done. Negative: none is.
  std::int32_t rivals = -1;
  LossLimits loss = {};
  /// Report the output class if the outputs differ from the reference's.
  bool classify = false;
  /// If not 0, only watch its accesses for this long (Launcher::look).
  double look_s = 0;
  bool count = false;  ///< Only read hardware counters (Launcher::count).
  /// If not 0, only repeat it for this long and read its energy (Launcher::energy).
  double energy_s = 0;
  std::int32_t keep_as = -1;  ///< Slot under which rounds find it; negative: unload it.

  bool operator==(const EvaluateRequest&) const = default;
};

struct EvaluateReply {
  std::optional<Failure> failure;
  LoadedKernel loaded;  ///< The first part, as loaded.
  double max_absolute_error = 0;
  double max_relative_error = 0;
  double verify_ms = 0;
  double first_launch_ms = 0;  ///< First sample, or checked launch without rivals.
  double fastest_ms = 0;       ///< Time of the rival that it is compared with; 0: there is none.
  bool lost = false;           ///< True if it cannot win; there are one or two samples.
  std::int32_t output_class = -1;  ///< Result of OutputClasses::classify.
  TimeReport time;
  LookReport look;
  FactsReport facts;  ///< Those of counters or energy.

  bool operator==(const EvaluateReply&) const = default;
};

struct RoundEntry {
  std::int32_t slot = 0;
  std::int32_t launches_per_sample = 1;

  bool operator==(const RoundEntry&) const = default;
};

/// A request for one sample of each entry, in this order.
using SampleRoundRequest = std::vector<RoundEntry>;

struct RoundSample {
  double time_ms = 0;
  std::optional<Failure> failure = std::nullopt;
  std::int32_t discarded = 0;  ///< This and the members below are as in TimeReport.
  double sm_clock_mhz = 0;
  bool throttled = false;

  bool operator==(const RoundSample&) const = default;
};

/// Samples in the request's order; fewer when the device context was lost, which is the last one's
/// fault.
using SampleRoundReply = std::vector<RoundSample>;

/// Returns the frame that carries a module's image to where requests will need it.
Frame image_frame(const NumberedModule& module);

/// Returns the numbers of the images that a request needs; none when it needs no module.
std::vector<std::uint64_t> images_of(const Frame& request);

/// Throw WireError for values that no correct worker sends.
void check(const CompileReply& reply, const CompileBatch& batch);
void check(const EvaluateReply& reply, const EvaluateRequest& request);
void check(const SampleRoundReply& reply, const SampleRoundRequest& request);

// The fields of each struct, listed once for both writing and reading.

void fields(auto& archive, Is<ExpressionText> auto& v) { archive(v.text, v.where); }
void fields(auto& archive, Is<Failure> auto& v) {
  archive(v.status, v.reason, v.detail, v.context_lost);
}
void fields(auto& archive, Is<Tolerance> auto& v) {
  archive(v.absolute, v.relative, v.ulps, v.derived);
}
void fields(auto& archive, Is<DataFile> auto& v) { archive(v.path, v.sha256); }
void fields(auto& archive, Is<Init> auto& v) {
  archive(v.kind, v.a, v.b, v.file, v.definition, v.is_spread);
}
void fields(auto& archive, Is<TextureReading> auto& v) {
  archive(v.address, v.is_linear, v.is_normalized);
}
void fields(auto& archive, Is<StructMember> auto& v) { archive(v.name, v.offset); }
void fields(auto& archive, Is<Argument> auto& v) {
  visit_argument_traits(archive, v);
  visit_tensor_map_keys([&](const SpaceKey&, auto& field) { archive(field); }, v);
  archive(v.type, v.shape, v.integer, v.number, v.raw_bytes, v.members, v.begins_as, v.reads,
          v.problem);
}
template <typename T>
requires(Is<T, Device> || Is<T, Resources>) void fields(auto& archive, T& v) {
  visit_fields(v, [&](const char*, auto& field) { archive(field); });
}
void fields(auto& archive, Is<Repetition> auto& v) {
  archive(v.turn, v.grid, v.block, v.dynamic_shared_bytes, v.arguments, v.scalars, v.renamed);
}
void fields(auto& archive, Is<LaunchShape> auto& v) {
  visit_launch_keys([&](const SpaceKey&, auto& field) { archive(field); }, v);
  archive(v.name_expression, v.times, v.repetitions);
}
void fields(auto& archive, Is<KernelSource::File> auto& v) { archive(v.name, v.text); }
void fields(auto& archive, Is<KernelSource> auto& v) { archive(v.files); }
constexpr PassedArgument::Kind last_enumerator(PassedArgument::Kind) {
  return PassedArgument::Kind::structure;
}
void fields(auto& archive, Is<PassedArgument> auto& v) {
  archive(v.name, v.kind, v.type, v.bytes, v.is_result, v.is_zero);
}
void fields(auto& archive, Is<PassedArguments> auto& v) { archive(v.name_expression, v.arguments); }
void fields(auto& archive, Is<CompileRequest> auto& v) {
  archive(v.architecture, v.source, v.name_expressions, v.symbol_expressions, v.options,
          v.signatures);
}
void fields(auto& archive, Is<CompiledEntry> auto& v) {
  archive(v.name_expression, v.lowered_name, v.resources, v.code_sha256, v.code);
}
void fields(auto& archive, Is<CompiledSymbol> auto& v) {
  archive(v.name_expression, v.lowered_name);
}
void fields(auto& archive, Is<ReadPlace> auto& v) { archive(v.path, v.state); }
void fields(auto& archive, Is<CompiledKernel> auto& v) {
  archive(v.entries, v.symbols, v.image, v.read, v.log, v.compile_ms);
}
void fields(auto& archive, Is<Workload> auto& v) { archive(v.arguments, v.seed); }
void fields(auto& archive, Is<LoadedKernel::Launch> auto& v) {
  archive(v.resources, v.blocks_per_sm);
}
void fields(auto& archive, Is<LoadedKernel> auto& v) { archive(v.handle, v.launches); }
void fields(auto& archive, Is<Transfers> auto& v) {
  archive(v.to_device_ms, v.to_host_ms, v.to_device_bytes, v.to_host_bytes);
}
void fields(auto& archive, Is<Mismatch> auto& v) {
  archive(v.argument, v.reason, v.index, v.value, v.expected, v.count, v.exact_value,
          v.exact_expected);
}
void fields(auto& archive, Is<TimeReport> auto& v) {
  archive(v.mismatch, v.samples_ms, v.launches_per_sample, v.discarded, v.sm_clock_mhz, v.throttled,
          v.transfers, v.launches_ms);
}

void fields(auto& archive, Is<Part> auto& v) {
  archive(v.module, v.launches, v.arguments, v.tolerance, v.workloads);
}
void fields(auto& archive, Is<Job> auto& v) { archive(v.modules, v.images, v.parts); }
void fields(auto& archive, Is<CompilerHello> auto& v) { archive(v.version, v.sha256); }
void fields(auto& archive, Is<Broken> auto& v) { archive(v.message, v.input, v.shortage); }
void fields(auto& archive, Is<Phase> auto& v) { archive(v.name, v.number); }
void fields(auto& archive, Is<HostWelcome> auto& v) {
  archive(v.name, v.limits_of, v.purpose, v.waits, v.nvrtc);
}
void fields(auto& archive, Is<HostHello> auto& v) {
  archive(v.cores, v.memory_bytes, v.gpus, v.why_no_gpu, v.cpu, v.compilers, v.lacking,
          v.nvrtc_versions);
}
void fields(auto& archive, Is<FilePiece> auto& v) { archive(v.sha256, v.bytes, v.last); }
void fields(auto& archive, Is<WorkerStart> auto& v) {
  archive(v.words, v.address_space, v.hello_timeout_s, v.ends_in_order, v.lock);
}
void fields(auto& archive, Is<WorkerDeath> auto& v) {
  archive(v.cause, v.signal, v.exit_status, v.phase, v.phase_number, v.shortage, v.message, v.log);
}
void fields(auto& archive, Is<CompileReply> auto& v) { archive(v.modules, v.answers); }
void fields(auto& archive, Is<CompileReply::Answer> auto& v) { archive(v.module, v.failure); }
void fields(auto& archive, Is<NumberedWorkload> auto& v) {
  archive(v.id, v.label, v.problem, v.workload);
}
void fields(auto& archive, Is<PrepareRequest> auto& v) {
  archive(v.workloads, v.reference, v.derive, v.in_double, v.truth, v.definitions,
          v.definition_is_a_guess, v.expected, v.with_transfers, v.again);
}
void fields(auto& archive, Is<ComparedOutput> auto& v) {
  archive(v.problem, v.output, v.with, v.compared, v.elements_total, v.only_sum);
}
void fields(auto& archive, Is<DerivedTolerance> auto& v) {
  archive(v.problem, v.output, v.truth, v.factor, v.absolute, v.relative, v.largest_error,
          v.largest_value, v.elements, v.data_sets);
}
void fields(auto& archive, Is<ReferenceOutput> auto& v) {
  archive(v.problem, v.output, v.elements, v.changed, v.constant);
}
void fields(auto& archive, Is<PrepareReply> auto& v) {
  archive(v.failure, v.notes, v.transfers, v.derived, v.compared, v.outputs);
}
void fields(auto& archive, Is<LossLimits> auto& v) {
  archive(v.lost_above, v.doubtful_above, v.fastest_of_all_ms, v.kept_below_ms);
}
void fields(auto& archive, Is<EvaluateRequest> auto& v) {
  archive(v.job, v.verify, v.screen_samples, v.stop_above_ms, v.enough_ms, v.launch_samples,
          v.rivals, v.loss, v.classify, v.look_s, v.count, v.energy_s, v.keep_as);
}
void fields(auto& archive, Is<FactsReport> auto& v) { archive(v.launches, v.refused); }
void fields(auto& archive, Is<LookReport> auto& v) { archive(v.blocks, v.blocks_total); }
void fields(auto& archive, Is<EvaluateReply> auto& v) {
  archive(v.failure, v.loaded, v.max_absolute_error, v.max_relative_error, v.verify_ms,
          v.first_launch_ms, v.fastest_ms, v.lost, v.output_class, v.time, v.look, v.facts);
}
void fields(auto& archive, Is<RoundEntry> auto& v) { archive(v.slot, v.launches_per_sample); }
void fields(auto& archive, Is<RoundSample> auto& v) {
  archive(v.time_ms, v.failure, v.discarded, v.sm_clock_mhz, v.throttled);
}

}  // namespace smemtune
