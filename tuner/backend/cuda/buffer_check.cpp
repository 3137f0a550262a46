#include "tuner/backend/cuda/buffer_check.h"

#include "tuner/backend/contents.h"
#include "tuner/backend/fresh_data.h"
#include "tuner/backend/tolerances.h"
#include "tuner/core/element_codec.h"
#include "tuner/core/reasons.h"
#include "tuner/core/whole.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace smemtune::cuda {

namespace {

// Rounds down, for offsets before a buffer.
std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

CompareRule compare_rule(Tolerance tolerance, ScalarType type, bool is_poisoned) {
  tolerance = tolerance_for(tolerance, type);
  const LastPlace place = last_place(type);
  return {.absolute = tolerance.absolute.value_or(0),
          .relative = tolerance.relative.value_or(0),
          .ulps = tolerance.ulps.value_or(0),
          .digits = place.digits,
          .least_exponent = place.least_exponent,
          .poison = is_poisoned ? poison_byte(type) : -1};
}

// Returns the mismatch in elements, of which the differing bytes may be parts.
std::optional<Mismatch> mismatch(const Argument& argument, const Reason& reason,
                                 const ByteDifference& found) {
  if (found.count == 0) return std::nullopt;
  const auto size = static_cast<std::int64_t>(size_of(argument.type));
  Mismatch wrong;
  wrong.argument = argument.name;
  wrong.reason = reason.word();
  wrong.index = floor_div(found.first, size);
  wrong.count = (static_cast<std::int64_t>(found.count) + size - 1) / size;
  return wrong;
}

double element(CUdeviceptr buffer, std::int64_t index, ScalarType type, CUstream stream) {
  const auto size = static_cast<std::int64_t>(size_of(type));
  const auto bytes = download(buffer + static_cast<CUdeviceptr>(index * size), size, stream);
  return to_doubles(bytes, type).front();
}

constexpr CompareRule kEqual;
constexpr std::size_t kComparisons = 3;  // Comparisons of each output.

/// Counts the differing elements of each pair of arrays, one comparison after the other.
class Differences {
 public:
  Differences(std::size_t count, CUstream stream)
      : found_(count), on_device_(allocate(count * sizeof(Comparison) + 1)), stream_(stream) {
    copy(on_device_.get(), found_.data(), bytes(), cudaMemcpyHostToDevice, stream_);
  }

  void compare(const DeviceKernels& kernels, ScalarType type, CUdeviceptr left, CUdeviceptr right,
               std::int64_t elements, std::size_t number) const {
    kernels.compare(stream_, type, left, right, /*mask=*/0, elements, kEqual,
                    as_address(on_device_.get()) + number * sizeof(Comparison));
  }

  void fetch() {
    copy(found_.data(), on_device_.get(), bytes(), cudaMemcpyDeviceToHost, stream_);
    synchronize(stream_);
  }

  /// Returns the largest finite difference.
  double largest(std::size_t number) const {
    return std::bit_cast<double>(found_[number].max_absolute_bits);
  }

  std::int64_t count(std::size_t number) const {
    return static_cast<std::int64_t>(found_[number].mismatch.count +
                                     found_[number].not_finite.count);
  }

 private:
  std::size_t bytes() const { return found_.size() * sizeof(Comparison); }

  std::vector<Comparison> found_;
  DeviceMemory on_device_;
  CUstream stream_;
};

}  // namespace

void prepare_buffers(Refiller& refiller, const PreparedWorkload& workload, const BoundKernel& bound,
                     std::uint64_t key) {
  for (const auto& [name, buffer] : workload.buffers) refiller.add(buffer, 0, key);
  for (const BoundKernel::Scratch& scratch : bound.scratch()) refiller.add(scratch, 0);
  refiller.run();
}

std::size_t Findings::found_bytes() const {
  return comparisons_ * sizeof(Comparison) + differences_ * sizeof(ByteDifference);
}

void Findings::begin(std::size_t comparisons, std::span<const ByteCheck> checks, CUstream stream) {
  comparisons_ = comparisons;
  differences_ = checks.size();
  const std::size_t bytes = found_bytes() + checks.size_bytes();
  if (room_ < bytes) {
    room_ = 2 * bytes;
    there_ = allocate(room_);
    here_ = make_pinned(room_);
  }
  auto* const first = static_cast<Comparison*>(here_.get());
  std::uninitialized_fill_n(first, comparisons, Comparison());
  auto* const second = static_cast<ByteDifference*>(static_cast<void*>(first + comparisons));
  std::uninitialized_fill_n(second, checks.size(), ByteDifference());
  std::ranges::uninitialized_copy(
      checks, std::span(static_cast<ByteCheck*>(static_cast<void*>(second + checks.size())),
                        checks.size()));
  copy(there_.get(), here_.get(), bytes, cudaMemcpyHostToDevice, stream);
}

CUdeviceptr Findings::comparison(std::size_t i) const {
  return as_address(there_.get()) + i * sizeof(Comparison);
}

CUdeviceptr Findings::differences() const { return comparison(comparisons_); }

CUdeviceptr Findings::byte_checks() const { return as_address(there_.get()) + found_bytes(); }

void Findings::fetch(CUstream stream) const {
  copy(here_.get(), there_.get(), found_bytes(), cudaMemcpyDeviceToHost, stream);
}

const Comparison& Findings::found_comparison(std::size_t i) const {
  return static_cast<const Comparison*>(here_.get())[i];
}

const ByteDifference& Findings::found_difference(std::size_t i) const {
  const void* const first = static_cast<const Comparison*>(here_.get()) + comparisons_;
  return static_cast<const ByteDifference*>(first)[i];
}

BufferCheck::BufferCheck(const PreparedWorkload& workload, const BoundKernel& bound,
                         const RunRequest& request)
    : bound_(bound), request_(request) {
  for (const DeviceBuffer* buffer : bound.buffers()) {
    const bool compared =
        request.as_reference || workload.expected.contains(buffer->argument().name);
    if (buffer->is_result() && compared) results_.push_back(buffer);
  }
  for (const auto& [name, buffer] : workload.buffers) {
    add_guards(buffer.argument(), buffer.memory(copy_), buffer.salt());
  }
  for (const BoundKernel::Scratch& scratch : bound.scratch()) {
    add_guards(scratch.argument, (*scratch.copies)[copy_], scratch.salt);
  }
  for (const auto& [name, buffer] : workload.buffers) {
    const Argument& argument = buffer.argument();
    if (argument.role != Role::input || !buffer.has_contents()) continue;
    checked_.push_back(&argument);
    byte_checks_.push_back(
        {.data = buffer.data(), .same_as = buffer.pristine(), .bytes = argument.bytes()});
  }
}

BufferCheck::BufferCheck(const PreparedWorkload& workload, const BoundKernel& bound,
                         const RunRequest& request, std::size_t copy, const DataSet* data)
    : bound_(bound), request_(request), copy_(copy), data_(data) {
  for (const DeviceBuffer* buffer : bound.buffers()) {
    const std::string& name = buffer->argument().name;
    const bool compared = data ? data->answers.contains(name) : workload.expected.contains(name);
    if (buffer->is_result() && compared) results_.push_back(buffer);
    add_guards(buffer->argument(), buffer->memory(copy_), buffer->salt());
  }
  for (const BoundKernel::Scratch& scratch : bound.scratch()) {
    add_guards(scratch.argument, (*scratch.copies)[copy_], scratch.salt);
  }
}

void BufferCheck::add_guards(const Argument& argument, const GuardedMemory& memory,
                             std::uint32_t salt) {
  checked_.push_back(&argument);
  byte_checks_.push_back({.data = memory.data(),
                          .bytes = argument.bytes(),
                          .bytes_after = memory.bytes_after(argument.bytes()),
                          .salt = salt});
  ++guards_;
}

// A reference is compared with itself, which finds elements that are not finite or not written.
CUdeviceptr BufferCheck::expected(const DeviceBuffer& buffer) const {
  if (request_.as_reference) return bound_.result(buffer, copy_);
  if (data_ == nullptr) return buffer.expected();
  return as_address(data_->answers.at(buffer.argument().name).get());
}

void BufferCheck::enqueue(const DeviceKernels& kernels, Findings& findings, CUstream stream) const {
  findings.begin(results_.size(), byte_checks_, stream);
  const std::uint64_t mask = data_ != nullptr ? data_->mask : 0;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const DeviceBuffer& buffer = *results_[i];
    const Argument& argument = buffer.argument();
    CompareRule rule = compare_rule(request_.tolerance_of(argument.name), argument.type,
                                    bound_.result_is_poisoned(buffer));
    rule.nan_agrees = argument.nan_agrees ? 1 : 0;
    if (!argument.compares_each()) rule.absolute = std::numeric_limits<double>::infinity();
    kernels.compare(stream, argument.type, bound_.result(buffer, copy_), expected(buffer), mask,
                    argument.elements(), rule, findings.comparison(i));
  }
  std::int64_t largest = 0;
  for (const ByteCheck& one : byte_checks_) {
    largest = std::max(largest, one.same_as != 0 ? one.bytes : kGuardBytes + one.bytes_after);
  }
  kernels.check_bytes(stream, findings.byte_checks(), static_cast<int>(byte_checks_.size()),
                      largest, findings.differences());
  findings.fetch(stream);
}

std::optional<Mismatch> BufferCheck::judge(const Findings& findings, CUstream stream,
                                           RunReport& report) const {
  note_errors(findings, report);
  if (auto wrong = wrong_bytes(findings, stream)) return wrong;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (auto wrong = wrong_elements(*results_[i], findings.found_comparison(i), stream)) {
      return wrong;
    }
    if (auto wrong = wrong_together(*results_[i], stream, report)) return wrong;
  }
  return std::nullopt;
}

void BufferCheck::note_errors(const Findings& findings, RunReport& report) const {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (!results_[i]->argument().compares_each()) continue;
    const Comparison& found = findings.found_comparison(i);
    report.max_absolute_error =
        std::max(report.max_absolute_error, std::bit_cast<double>(found.max_absolute_bits));
    report.max_relative_error =
        std::max(report.max_relative_error, std::bit_cast<double>(found.max_relative_bits));
  }
}

std::optional<Mismatch> BufferCheck::wrong_bytes(const Findings& findings, CUstream stream) const {
  for (std::size_t i = 0; i < byte_checks_.size(); ++i) {
    const Argument& argument = *checked_[i];
    const bool of_guards = i < guards_;
    const Reason reason = of_guards ? Reason(Status::correctness, "overrun")
                                    : Reason(Status::correctness, "input_modified");
    auto wrong = mismatch(argument, reason, findings.found_difference(i));
    if (!wrong) continue;
    if (of_guards) return wrong;
    wrong->value = element(byte_checks_[i].data, wrong->index, argument.type, stream);
    wrong->expected = element(byte_checks_[i].same_as, wrong->index, argument.type, stream);
    return wrong;
  }
  return std::nullopt;
}

std::optional<Mismatch> BufferCheck::wrong_elements(const DeviceBuffer& buffer,
                                                    Comparison comparison, CUstream stream) const {
  const ScalarType type = buffer.argument().type;
  if (poison_by_chance(type, comparison.unwritten.count, comparison.mismatch.count)) {
    comparison.mismatch.first = std::min(comparison.mismatch.first, comparison.unwritten.first);
    comparison.mismatch.count += comparison.unwritten.count;
    comparison.unwritten.count = 0;
  }
  for (const auto& [reason, kind] :
       {std::pair(Reason(Status::correctness, "unwritten"), &comparison.unwritten),
        std::pair(Reason(Status::correctness, "nan"), &comparison.not_finite),
        std::pair(Reason(Status::correctness, "mismatch"), &comparison.mismatch)}) {
    if (kind->count == 0) continue;
    const auto size = static_cast<std::int64_t>(size_of(type));
    Mismatch wrong;
    wrong.argument = buffer.argument().name;
    wrong.reason = reason.word();
    wrong.index = static_cast<std::int64_t>(kind->first);
    wrong.count = static_cast<std::int64_t>(kind->count);
    const CUdeviceptr at =
        bound_.result(buffer, copy_) + static_cast<CUdeviceptr>(wrong.index * size);
    const std::vector<std::uint8_t> left = download(at, size, stream);
    wrong.value = to_doubles(left, type).front();
    wrong.exact_value = exact_text(to_bits(left, type).front(), type);
    wrong.expected = std::numeric_limits<double>::quiet_NaN();
    if (request_.as_reference) return wrong;
    const std::vector<std::uint8_t> bytes =
        expected_bytes(buffer, wrong.index * size, size, stream);
    wrong.expected = to_doubles(bytes, type).front();
    wrong.exact_expected = exact_text(to_bits(bytes, type).front(), type);
    return wrong;
  }
  return std::nullopt;
}

std::optional<Mismatch> BufferCheck::wrong_together(const DeviceBuffer& buffer, CUstream stream,
                                                    RunReport& report) const {
  const Argument& argument = buffer.argument();
  if (argument.compares_each() || request_.as_reference) return std::nullopt;
  const std::int64_t bytes = argument.bytes();
  const std::vector<std::uint8_t> written = download(bound_.result(buffer, copy_), bytes, stream);
  const std::vector<std::uint8_t> wanted = expected_bytes(buffer, 0, bytes, stream);
  const Tolerance& tolerance = request_.tolerance_of(argument.name);
  if (argument.compares_sorted) return wrong_sorted(argument, written, wanted, tolerance, report);
  return wrong_sum(argument, sum_of(written, argument.type), sum_of(wanted, argument.type),
                   tolerance, report);
}

std::vector<std::uint8_t> BufferCheck::expected_bytes(const DeviceBuffer& buffer,
                                                      std::int64_t first, std::int64_t bytes,
                                                      CUstream stream) const {
  const std::int64_t lead = first % 8;  // Masks apply to whole words.
  const auto at = expected(buffer) + static_cast<CUdeviceptr>(first - lead);
  std::vector<std::uint8_t> all = download(at, lead + bytes, stream);
  if (data_ != nullptr) apply_mask(data_->mask, static_cast<std::uint64_t>(first - lead), all);
  return {all.begin() + lead, all.end()};
}

void Refiller::add(const DeviceBuffer& buffer, std::size_t copy, std::uint64_t key) {
  const Argument& argument = buffer.argument();
  const Redraw how = buffer.can_redraw() ? redraw_for(argument, key) : Redraw{};
  const bool moves = how.offset != 0 || how.noise != 0;
  refills_.push_back({.to = buffer.data(copy),
                      .from = buffer.has_contents() ? buffer.pristine() : 0,
                      .bytes = argument.bytes(),
                      .bytes_after = buffer.memory(copy).bytes_after(argument.bytes()),
                      .offset = how.offset,
                      .low = how.low,
                      .high = how.high,
                      .noise = how.noise,
                      .salt = buffer.salt(),
                      .element_bytes = moves ? static_cast<int>(size_of(argument.type)) : 0,
                      .poison = poison_byte(argument.type)});
}

void Refiller::add(const BoundKernel::Scratch& scratch, std::size_t copy) {
  const GuardedMemory& memory = (*scratch.copies)[copy];
  const std::int64_t bytes = scratch.argument.bytes();
  refills_.push_back({.to = memory.data(),
                      .bytes = bytes,
                      .bytes_after = memory.bytes_after(bytes),
                      .salt = scratch.salt,
                      .poison = poison_byte(scratch.argument.type)});
}

void Refiller::run() {
  if (refills_.empty()) return;
  if (room_ < refills_.size()) {
    room_ = std::max(2 * room_, refills_.size());
    there_ = allocate(room_ * sizeof(Refill));
  }
  // The source is pageable memory, which is read before the call returns.
  copy(there_.get(), refills_.data(), refills_.size() * sizeof(Refill), cudaMemcpyHostToDevice,
       stream_);
  std::int64_t largest = 0;
  for (const Refill& one : refills_) largest = std::max({largest, one.bytes, one.bytes_after});
  kernels_.refill(stream_, as_address(there_.get()), static_cast<int>(refills_.size()), largest);
  refills_.clear();
}

std::vector<KeptOutput> kept_outputs(const DeviceKernels& kernels, const PreparedWorkload& workload,
                                     CUstream stream) {
  // Counts of each output: elements that differ from their initial value, from a neighbor, from 0.
  Differences differences(kComparisons * workload.expected.size(), stream);
  std::size_t next = 0;
  for (const std::string& name : workload.expected) {
    const DeviceBuffer& buffer = workload.buffers.at(name);
    const Argument& argument = buffer.argument();
    const CUdeviceptr expected = buffer.expected();
    if (buffer.has_contents()) {
      differences.compare(kernels, argument.type, expected, buffer.pristine(), argument.elements(),
                          next);
    }
    differences.compare(kernels, argument.type, expected + size_of(argument.type), expected,
                        std::max<std::int64_t>(argument.elements() - 1, 0), next + 1);
    differences.compare(kernels, argument.type, expected, 0, argument.elements(), next + 2);
    next += kComparisons;
  }
  differences.fetch();
  std::vector<KeptOutput> outputs;
  for (const std::string& name : workload.expected) {
    const DeviceBuffer& buffer = workload.buffers.at(name);
    const std::size_t number = kComparisons * outputs.size();
    const std::int64_t elements = buffer.argument().elements();
    outputs.push_back(
        {.name = name,
         .elements = elements,
         .changed = buffer.has_contents() ? differences.count(number) : elements,
         .is_constant = differences.count(number + 1) == 0,
         .largest = is_floating(buffer.argument().type) ? differences.largest(number + 2) : 0});
  }
  return outputs;
}

void write_kept(const PreparedWorkload& workload, const BoundKernel& bound,
                const std::vector<Edit>& edits, CUstream stream) {
  for (const DeviceBuffer* buffer : bound.buffers()) {
    const Argument& argument = buffer->argument();
    if (!workload.expected.contains(argument.name)) continue;
    const CUdeviceptr result = bound.result(*buffer);
    copy(as_pointer(result), as_pointer(buffer->expected()),
         static_cast<std::size_t>(argument.bytes()), cudaMemcpyDeviceToDevice, stream);
    for (const Edit& edit : edits) {
      if (edit.output != argument.name) continue;
      const auto offset = static_cast<std::size_t>(edit.first) * size_of(argument.type);
      copy(as_pointer(result + offset), edit.bytes.data(), edit.bytes.size(),
           cudaMemcpyHostToDevice, stream);
    }
  }
  synchronize(stream);
}

}  // namespace smemtune::cuda
