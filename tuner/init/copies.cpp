#include "tuner/init/copies.h"

#include "tuner/source/cpp_tokens.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace smemtune {
namespace {

constexpr std::string_view kCopy = "smemtune_copy";
constexpr std::string_view kSet = "smemtune_set";

// Any grid and block will do, so that parameters may take their places.
constexpr std::string_view kKernels = R"cu(
// cudaMemcpy() from device to device, and cudaMemset(), as kernels.
__global__ void smemtune_copy(void* to, const void* from, size_t bytes) {
  uint4* words = (uint4*)to;
  char* rest = (char*)to;
  const size_t all = (size_t)gridDim.x * blockDim.x;
  const size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (size_t i = first; i < bytes / 16; i += all) words[i] = ((const uint4*)from)[i];
  for (size_t i = bytes / 16 * 16 + first; i < bytes; i += all) rest[i] = ((const char*)from)[i];
}

__global__ void smemtune_set(void* to, int value, size_t bytes) {
  const unsigned int four = (value & 255) * 0x01010101u;
  uint4* words = (uint4*)to;
  char* rest = (char*)to;
  const size_t all = (size_t)gridDim.x * blockDim.x;
  const size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (size_t i = first; i < bytes / 16; i += all) words[i] = make_uint4(four, four, four, four);
  for (size_t i = bytes / 16 * 16 + first; i < bytes; i += all) rest[i] = (char)value;
}
)cu";

bool is_between_devices(const std::vector<std::string>& arguments) {
  return arguments.size() > 3 && arguments[3].ends_with("cudaMemcpyDeviceToDevice");
}

}  // namespace

std::optional<LaunchSite> as_launch(const std::string& called,
                                    const std::vector<std::string>& arguments) {
  const bool sets = called == "cudaMemset" || called == "cudaMemsetAsync";
  const bool copies =
      (called == "cudaMemcpy" || called == "cudaMemcpyAsync") && is_between_devices(arguments);
  if ((!sets && !copies) || arguments.size() < 3) return std::nullopt;
  LaunchSite site;
  site.kernel = sets ? kSet : kCopy;
  site.grid = {"(" + arguments[2] + " + 4095) / 4096"};
  site.block = {"256"};
  site.arguments = {arguments.begin(), arguments.begin() + 3};
  return site;
}

bool is_copy(const std::string& kernel) { return kernel == kCopy || kernel == kSet; }

bool is_transfer(const std::string& called) { return is_copy(called) || called == "cudaMemcpy"; }

FlatSource with_copy_kernels(FlatSource source) {
  const auto copies = [](const CppToken& token) {
    return token.text.starts_with("cudaMemset") || token.is("cudaMemcpyDeviceToDevice");
  };
  if (std::ranges::any_of(cpp_tokens(source.text), copies)) source.text += kKernels;
  return source;
}

void follow_copies(HostPart& host) {
  const auto filled = host.fills;
  const auto constants = host.copied_to_constants;
  for (const auto& [to, from] : host.copies) {
    const auto fill = filled.find(from);
    if (fill != filled.end()) host.fills.emplace(to, fill->second);
    for (const auto& [constant, data] : constants) {
      if (data.contains(from)) host.copied_to_constants[constant].insert(to);
    }
  }
}

std::string HeldArrays::passed(std::size_t argument, std::size_t frame) const {
  const std::string text = terms_.passed(argument, frame);
  const bool is_cast = text.find('(') != std::string::npos && text.find('+') == std::string::npos;
  const std::string pointer = is_cast ? pointer_in(text) : "";
  return pointer.empty() ? text : pointer;
}

bool HeldArrays::holds(std::set<std::string> names, std::size_t argument, std::size_t frame,
                       Copied copied) const {
  for (;; --frame) {
    const std::string own = passed(argument, frame);
    for (const std::string& name : own.empty() ? std::set<std::string>() : names) {
      const auto copy = copied == Copied::to_device ? std::pair(own, name) : std::pair(name, own);
      if (own == name || host_.copies.contains(copy)) return true;
    }
    if (frame == 0) return false;
    std::set<std::string> nearer;
    for (const auto& [parameter, text] : launch_.frames[frame].parameters) {
      if (names.contains(text)) nearer.insert(parameter);
      for (const std::string& name : names) {
        const bool is_its = name.starts_with(text + "->") || name.starts_with(text + ".");
        if (is_its) nearer.insert(parameter + name.substr(text.size()));
      }
    }
    names = std::move(nearer);
  }
}

}  // namespace smemtune
