#include "tuner/backend/cuda/kept_outputs.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace smemtune::cuda {
namespace {

constexpr CompareRule kEqual;
constexpr std::size_t kComparisons = 3;  // Of each output.

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

std::vector<KeptOutput> kept_outputs(const DeviceKernels& kernels, const PreparedWorkload& workload,
                                     CUstream stream) {
  // For each output: elements that differ from their initial value, from their neighbor, and from 0.
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
