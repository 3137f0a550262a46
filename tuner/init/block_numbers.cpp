#include "tuner/init/block_numbers.h"

#include "tuner/config/space_words.h"
#include "tuner/init/local_values.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smemtune {
namespace {

using Kind = Syntax::Kind;
using Names = std::set<std::string>;

constexpr std::string_view kDimensions = LocalValues::kDimensions;

class BlockNumberReader {
 public:
  BlockNumberReader(const ParsedSource& source, const Syntax& body, KernelFunction& kernel)
      : source_(source),
        values_(body),
        shared_(arrays_of(source.tokens(), body.whole, "__shared__")),
        kernel_(kernel) {}

  void read(const Syntax& body) {
    walk(body);
    add_whole();
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  void walk(const Syntax& syntax) {
    if (syntax.kind == Kind::binary) read_numbers(syntax);
    if (syntax.is(Kind::binary, "<") || syntax.is(Kind::binary, ">=")) read_extent(syntax);
    if (syntax.is(Kind::binary, "*")) read_tile(syntax);
    if (syntax.kind == Kind::element) read_shared(syntax);
    if (syntax.kind == Kind::assignment) read_result(syntax);
    for (const Syntax& part : syntax.parts) walk(part);
  }

  void add(BlockNumber::Kind kind, std::size_t axis, const std::string& text, const Syntax& place) {
    kernel_.block_numbers.push_back({kind, axis, text, source_.line(place.cursor)});
  }

  /// Reads `i < width`, `width` of which may be a macro.
  void read_extent(const Syntax& comparison) {
    const Syntax& index = comparison.parts[0];
    const std::string extent = joined(source_.tokens(), comparison.parts[1].range);
    const std::optional<std::size_t> axis = values_.block_axis(index);
    const bool is_first = axis && kernel_.extents[*axis].empty();
    const bool is_plain = index.kind == Kind::name && is_identifier(extent);
    if (is_plain && is_first) kernel_.extents[*axis] = extent;
  }

  /// Reads numbers that a thread's number is compared with, added to, ...
  void read_numbers(const Syntax& binary) {
    for (std::size_t axis = 0; axis < kDimensions.size(); ++axis) {
      if (!values_.is_of_thread(binary, axis)) continue;
      for (const std::int64_t number : values_.numbers(binary)) {
        add(BlockNumber::Kind::thread, axis, std::to_string(number), binary);
      }
    }
  }

  /// Reads `blockIdx.x * 256`.
  void read_tile(const Syntax& product) {
    for (std::size_t axis = 0; axis < kDimensions.size(); ++axis) {
      for (const std::size_t side : {0U, 1U}) {
        const std::set<std::int64_t> numbers = values_.numbers(product.parts[1 - side]);
        const bool is_tile = values_.is_made_of(product.parts[side], "blockIdx", axis) &&
                             !values_.is_made_of(product, "blockDim");
        if (!is_tile || numbers.empty()) continue;
        add(BlockNumber::Kind::tile, axis, std::to_string(*numbers.begin()), product);
      }
    }
  }

  /// Reads an index of an array in shared memory whose extents are written.
  void read_shared(const Syntax& element) {
    std::size_t dimension = 0;
    const Syntax* base = &element.parts[0];
    for (; base->kind == Kind::element; base = &base->parts[0]) ++dimension;
    const auto array = std::ranges::find(shared_, base->text, &SharedArray::name);
    if (base->kind != Kind::name || array == shared_.end()) return;
    if (dimension >= array->extents.size()) return;
    const std::string& extent = array->extents[dimension];
    const Syntax& index = element.parts[1];
    const bool is_first = index.kind == Kind::literal && values_.numbers(index).empty();
    bool is_of_thread = false;
    for (std::size_t axis = 0; axis < kDimensions.size(); ++axis) {
      if (!values_.is_of_thread(index, axis)) continue;
      is_of_thread = true;
      const bool is_scaled = has_any(index, [&](const Syntax& part) {
        return is_one_of(part.text, {"*", "<<"}) && values_.is_of_thread(part, axis);
      });
      add(is_scaled ? BlockNumber::Kind::scaled : BlockNumber::Kind::array, axis, extent, element);
    }
    const auto place = std::pair(array->name, dimension);
    if (is_of_thread) by_threads_.insert(place);
    if (is_of_thread || is_first || values_.follows_block(index)) return;
    otherwise_.emplace(place, &element);
  }

  /// Adds the arrays of which each thread uses its elements, and some are chosen otherwise.
  void add_whole() {
    for (const auto& [place, element] : otherwise_) {
      if (!by_threads_.contains(place)) continue;
      const auto array = std::ranges::find(shared_, place.first, &SharedArray::name);
      for (std::size_t axis = 0; axis < kDimensions.size(); ++axis) {
        add(BlockNumber::Kind::whole, axis, array->extents[place.second], *element);
      }
    }
  }

  /// Reads `out[blockIdx.x] = ...` unless that is a sum.
  void read_result(const Syntax& assignment) {
    const Syntax& target = assignment.parts[0];
    if (target.kind != Kind::element) return;
    const auto pointer =
        std::ranges::find(kernel_.parameters, target.parts[0].text, &KernelParameter::name);
    const bool is_of_block = values_.is_made_of(target.parts[1], "blockIdx") &&
                             !values_.is_made_of(target.parts[1], "threadIdx");
    if (pointer == kernel_.parameters.end() || !is_of_block || pointer->is_block_sum) return;
    for (std::size_t axis = 0; axis < kDimensions.size(); ++axis) {
      if (kernel_.strides_by_block[axis]) add(BlockNumber::Kind::result, axis, "", assignment);
    }
  }

  using Place = std::pair<std::string, std::size_t>;  // A dimension of a shared array.

  const ParsedSource& source_;
  LocalValues values_;
  std::vector<SharedArray> shared_;
  KernelFunction& kernel_;
  std::set<Place> by_threads_;                     ///< Those that threads' numbers index.
  std::multimap<Place, const Syntax*> otherwise_;  ///< Elements that something else chooses.
};

/// Notes loops whose counter goes on by blockDim.
void add_loops_by_block(const Syntax& body, KernelFunction& kernel) {
  const LocalValues values(body);
  for_each(body, [&](const Syntax& loop) {
    if (loop.kind != Kind::loop) return;
    for_each(loop, [&](const Syntax& step) {
      if (step.kind != Kind::assignment || step.parts[0].kind != Kind::name) return;
      const bool counts = has_any(loop.parts[Syntax::kCondition], [&](const Syntax& one) {
        return one.is_name(step.parts[0].text);
      });
      for (std::size_t axis = 0; axis < kDimensions.size(); ++axis) {
        const bool is_its = counts && is_one_of(step.text, {"+=", "="}) &&
                            values.is_made_of(step.parts[1], "blockDim", axis);
        kernel.loops_by_block[axis] = kernel.loops_by_block[axis] || is_its;
      }
    });
  });
}

/// Reads a function and those that it calls.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the functions call each other, once for each.
void read_function(const ParsedSource& source, const Syntax& body, const BodyOf& body_of,
                   Names& seen, KernelFunction& kernel) {
  BlockNumberReader(source, body, kernel).read(body);
  add_loops_by_block(body, kernel);
  for_each(body, [&](const Syntax& part) {
    const Syntax* const called = part.kind == Kind::call ? body_of(part.text) : nullptr;
    const bool is_new = called != nullptr && seen.insert(part.text).second;
    if (is_new) read_function(source, *called, body_of, seen, kernel);
  });
}

}  // namespace

void add_block_numbers(const ParsedSource& source, const Syntax& body, const BodyOf& body_of,
                       KernelFunction& kernel) {
  Names seen;
  read_function(source, body, body_of, seen, kernel);
}

}  // namespace smemtune
