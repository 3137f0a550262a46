#include "tuner/backend/cuda/buffer_check.h"

#include "tuner/backend/contents.h"
#include "tuner/backend/element_codec.h"
#include "tuner/backend/tolerances.h"
#include "tuner/core/reasons.h"

#include <algorithm>
#include <bit>
#include <limits>
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

/// Values on the device, which kernels write, and here.
template <typename T>
class OnDevice {
 public:
  OnDevice(std::size_t count, CUstream stream)
      : here_(count), there_(allocate(count * sizeof(T) + 1)) {
    copy(there_.get(), here_.data(), count * sizeof(T), cudaMemcpyHostToDevice, stream);
  }

  CUdeviceptr address(std::size_t i) const { return as_address(there_.get()) + i * sizeof(T); }

  /// Without waiting for the stream.
  void fetch(CUstream stream) {
    copy(here_.data(), there_.get(), here_.size() * sizeof(T), cudaMemcpyDeviceToHost, stream);
  }

  const T& operator[](std::size_t i) const { return here_[i]; }
  std::size_t size() const { return here_.size(); }

 private:
  std::vector<T> here_;
  DeviceMemory there_;
};

class BufferCheck {
 public:
  BufferCheck(const PreparedWorkload& workload, const BoundKernel& bound, const RunRequest& request,
              CUstream stream)
      : workload_(workload), bound_(bound), request_(request), stream_(stream) {
    for (const DeviceBuffer* buffer : bound.buffers()) {
      const bool compared =
          request.as_reference || workload.expected.contains(buffer->argument().name);
      if (buffer->is_result() && compared) results_.push_back(buffer);
    }
    for (const auto& [name, buffer] : workload.buffers) {
      if (buffer.argument().role == Role::input && buffer.has_contents()) {
        inputs_.push_back(&buffer);
      }
    }
  }

  std::optional<Mismatch> check(const DeviceKernels& kernels, RunReport& report) const {
    OnDevice<Comparison> comparisons(results_.size(), stream_);
    OnDevice<ByteDifference> differences(
        workload_.buffers.size() + bound_.scratch().size() + inputs_.size(), stream_);
    compare_results(kernels, comparisons);
    compare_bytes(kernels, differences);
    comparisons.fetch(stream_);
    differences.fetch(stream_);
    synchronize(stream_);
    note_errors(comparisons, report);
    if (auto wrong = wrong_bytes(differences)) return wrong;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (auto wrong = wrong_elements(*results_[i], comparisons[i])) return wrong;
      if (auto wrong = wrong_sum(*results_[i], report)) return wrong;
    }
    return std::nullopt;
  }

 private:
  void compare_results(const DeviceKernels& kernels,
                       const OnDevice<Comparison>& comparisons) const {
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const DeviceBuffer& buffer = *results_[i];
      const Argument& argument = buffer.argument();
      // A reference is compared with itself: that finds what is not finite, and what it did not
      // write.
      const CUdeviceptr actual = bound_.result(buffer);
      const CUdeviceptr expected = request_.as_reference ? actual : buffer.expected();
      CompareRule rule = compare_rule(request_.tolerance_of(argument.name), argument.type,
                                      bound_.result_is_poisoned(buffer));
      if (argument.compares_sum) rule.absolute = std::numeric_limits<double>::infinity();
      kernels.compare(stream_, argument.type, actual, expected, argument.elements(), rule,
                      comparisons.address(i));
    }
  }

  // The guard zones of the workload's buffers, those of scratch, the inputs: in this order.
  void compare_bytes(const DeviceKernels& kernels,
                     const OnDevice<ByteDifference>& differences) const {
    std::size_t next = 0;
    for (const auto& [name, buffer] : workload_.buffers) {
      kernels.check_guards(stream_, buffer.data(), buffer.argument().bytes(), buffer.bytes_after(),
                           buffer.salt(), differences.address(next++));
    }
    for (const BoundKernel::Scratch& scratch : bound_.scratch()) {
      const GuardedMemory& guarded = scratch.copies->front();
      const std::int64_t bytes = scratch.argument.bytes();
      kernels.check_guards(stream_, guarded.data(), bytes, guarded.bytes_after(bytes), scratch.salt,
                           differences.address(next++));
    }
    for (const DeviceBuffer* buffer : inputs_) {
      kernels.compare_bytes(stream_, buffer->data(), buffer->pristine(), buffer->argument().bytes(),
                            differences.address(next++));
    }
  }

  void note_errors(const OnDevice<Comparison>& comparisons, RunReport& report) const {
    for (std::size_t i = 0; i < comparisons.size(); ++i) {
      if (results_[i]->argument().compares_sum) continue;
      report.max_absolute_error = std::max(report.max_absolute_error,
                                           std::bit_cast<double>(comparisons[i].max_absolute_bits));
      report.max_relative_error = std::max(report.max_relative_error,
                                           std::bit_cast<double>(comparisons[i].max_relative_bits));
    }
  }

  std::optional<Mismatch> wrong_bytes(const OnDevice<ByteDifference>& differences) const {
    constexpr Reason kOverrun(Status::correctness, "overrun");
    std::size_t next = 0;
    for (const auto& [name, buffer] : workload_.buffers) {
      if (auto wrong = mismatch(buffer.argument(), kOverrun, differences[next++])) return wrong;
    }
    for (const BoundKernel::Scratch& scratch : bound_.scratch()) {
      if (auto wrong = mismatch(scratch.argument, kOverrun, differences[next++])) return wrong;
    }
    for (const DeviceBuffer* buffer : inputs_) {
      auto wrong = mismatch(buffer->argument(), {Status::correctness, "input_modified"},
                            differences[next++]);
      if (!wrong) continue;
      wrong->value = element(buffer->data(), wrong->index, buffer->argument().type);
      wrong->expected = element(buffer->pristine(), wrong->index, buffer->argument().type);
      return wrong;
    }
    return std::nullopt;
  }

  // In elements, of which the bytes may be parts.
  static std::optional<Mismatch> mismatch(const Argument& argument, const Reason& reason,
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

  std::optional<Mismatch> wrong_elements(const DeviceBuffer& buffer, Comparison comparison) const {
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
      Mismatch wrong;
      wrong.argument = buffer.argument().name;
      wrong.reason = reason.word();
      wrong.index = static_cast<std::int64_t>(kind->first);
      wrong.count = static_cast<std::int64_t>(kind->count);
      wrong.value = element(bound_.result(buffer), wrong.index, type);
      wrong.exact_value = exact_element(bound_.result(buffer), wrong.index, type);
      wrong.expected = std::numeric_limits<double>::quiet_NaN();
      if (request_.as_reference) return wrong;
      wrong.expected = element(buffer.expected(), wrong.index, type);
      wrong.exact_expected = exact_element(buffer.expected(), wrong.index, type);
      return wrong;
    }
    return std::nullopt;
  }

  std::optional<Mismatch> wrong_sum(const DeviceBuffer& buffer, RunReport& report) const {
    const Argument& argument = buffer.argument();
    if (!argument.compares_sum || request_.as_reference) return std::nullopt;
    const auto sum = [&](CUdeviceptr data) {
      return sum_of(download(data, argument.bytes(), stream_), argument.type);
    };
    return smemtune::wrong_sum(argument, sum(bound_.result(buffer)), sum(buffer.expected()),
                               request_.tolerance_of(argument.name), report);
  }

  double element(CUdeviceptr buffer, std::int64_t index, ScalarType type) const {
    const auto size = static_cast<std::int64_t>(size_of(type));
    const auto bytes = download(buffer + static_cast<CUdeviceptr>(index * size), size, stream_);
    return to_doubles(bytes, type).front();
  }

  std::string exact_element(CUdeviceptr buffer, std::int64_t index, ScalarType type) const {
    const auto size = static_cast<std::int64_t>(size_of(type));
    const auto bytes = download(buffer + static_cast<CUdeviceptr>(index * size), size, stream_);
    return exact_text(to_bits(bytes, type).front(), type);
  }

  const PreparedWorkload& workload_;
  const BoundKernel& bound_;
  const RunRequest& request_;
  CUstream stream_;
  std::vector<const DeviceBuffer*> results_;  ///< To be compared.
  std::vector<const DeviceBuffer*> inputs_;   ///< Not to be changed.
};

}  // namespace

void prepare_buffers(const DeviceKernels& kernels, const PreparedWorkload& workload,
                     const BoundKernel& bound, CUstream stream) {
  for (const auto& [name, buffer] : workload.buffers) {
    buffer.restore(0, stream);
    kernels.fill_guards(stream, buffer.data(), buffer.argument().bytes(), buffer.bytes_after(),
                        buffer.salt());
  }
  for (const BoundKernel::Scratch& scratch : bound.scratch()) {
    const GuardedMemory& memory = scratch.copies->front();
    const std::int64_t bytes = scratch.argument.bytes();
    check(cudaMemsetAsync(as_pointer(memory.data()), poison_byte(scratch.argument.type),
                          static_cast<std::size_t>(bytes), stream),
          "cudaMemsetAsync");
    kernels.fill_guards(stream, memory.data(), bytes, memory.bytes_after(bytes), scratch.salt);
  }
}

std::optional<Mismatch> check_buffers(const DeviceKernels& kernels,
                                      const PreparedWorkload& workload, const BoundKernel& bound,
                                      const RunRequest& request, CUstream stream,
                                      RunReport& report) {
  return BufferCheck(workload, bound, request, stream).check(kernels, report);
}

}  // namespace smemtune::cuda
