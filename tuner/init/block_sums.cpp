#include "tuner/init/block_sums.h"

#include "tuner/init/local_values.h"
#include "tuner/init/names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace smemtune {
namespace {

using Kind = Syntax::Kind;
using Names = std::set<std::string>;

/// Returns the variable or array of a name or an element.
std::string base_of(const Syntax& syntax) {
  const Syntax* base = &syntax;
  while ((base->kind == Kind::element || base->is(Kind::unary, "*")) && !base->parts.empty()) {
    base = &base->parts[0];
  }
  return base->kind == Kind::name ? base->text : "";
}

/// Returns true if a syntax chooses between the values that it compares: `if (a > m) m = a`,
/// `a > b ? a : b`, `max(a, b)`.
bool picks(const Syntax& syntax) {
  if (syntax.kind == Kind::call) return holds_any(syntax.text, {"max", "min"});
  if (syntax.kind != Kind::conditional && syntax.kind != Kind::branch) return false;
  const auto is_compared = [&](const std::string& name) {
    return !name.empty() &&
           has_any(syntax.parts[0], [&](const Syntax& part) { return part.is_name(name); });
  };
  if (syntax.kind == Kind::conditional) return is_compared(base_of(syntax.parts[1]));
  return has_any(syntax, [&](const Syntax& part) {
    return part.is(Kind::assignment, "=") && is_compared(base_of(part.parts[0]));
  });
}

/// The variables of a kernel that are sums.
class BlockSums {
 public:
  BlockSums(const Syntax& body, const BodyOf& body_of)
      : body_(body), body_of_(body_of), values_(body) {
    for_each(body, [&](const Syntax& syntax) {
      if (syntax.kind == Kind::loop) {
        for_each(syntax.parts[Syntax::kStep], [&](const Syntax& part) {
          if (part.kind == Kind::name) counters_.insert(part.text);
        });
      }
      const bool is_variable = syntax.kind == Kind::variable && !syntax.parts.empty();
      if (is_variable) gives_[syntax.text].push_back(&syntax.parts[0]);
      if (syntax.kind != Kind::assignment) return;
      const std::string target = base_of(syntax.parts[0]);
      changes_[target].push_back(&syntax);
      gives_[target].push_back(&syntax.parts[1]);
    });
  }

  /// Returns true if all stores through the pointer are sums, one for each block.
  bool are_stored_in(const std::string& pointer) {
    const auto stores = changes_.find(pointer);
    if (stores == changes_.end()) return false;
    return std::ranges::all_of(stores->second, [&](const Syntax* store) {
      const Syntax& target = store->parts[0];
      return store->text == "=" && target.kind == Kind::element &&
             values_.is_made_of(target.parts[1], "blockIdx") &&
             !values_.is_made_of(target.parts[1], "threadIdx") && is_sum(store->parts[1]);
    });
  }

 private:
  /// Returns true if a value is a variable or an element that the kernel adds to.
  bool is_sum(const Syntax& value) {
    const bool is_call = value.kind == Kind::call;
    const std::string name = is_call ? "" : base_of(value);
    if (!is_call && name.empty()) return false;
    adds_ = false;
    seen_.clear();
    return only_adds(value) && adds_;
  }

  /// Returns true if a value is made of sums by nothing but additions. What is made of no sum may be
  /// anything.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax, and once for each variable.
  bool only_adds(const Syntax& value) {
    const std::vector<Syntax>& parts = value.parts;
    if (value.kind == Kind::name || value.kind == Kind::element) return holds_sum(base_of(value));
    if (value.is(Kind::binary, "+")) {
      adds_ = adds_ || is_changed(parts[0]) || is_changed(parts[1]);
      return only_adds(parts[0]) && only_adds(parts[1]);
    }
    if (picks(value)) return false;
    if (value.kind == Kind::conditional) return only_adds(parts[1]) && only_adds(parts[2]);
    if (value.kind == Kind::assignment) return only_adds(parts[1]);
    if (value.kind == Kind::call && value.text.starts_with("__shfl")) {
      return parts.size() < 3 || only_adds(parts[2]);
    }
    if (const Syntax* own = value.kind == Kind::call ? body_of_(value.text) : nullptr) {
      return adds_by(*own);
    }
    return !is_made_of_changed(value);
  }

  /// Returns true if a value is made of a variable or array that is_changed(); one that chooses an
  /// element does not count.
  // NOLINTNEXTLINE(misc-no-recursion): as deep as the syntax.
  bool is_made_of_changed(const Syntax& value) const {
    if (value.kind == Kind::element) return is_made_of_changed(value.parts[0]);
    return is_changed(value) || std::ranges::any_of(value.parts, [&](const Syntax& part) {
             return is_made_of_changed(part);
           });
  }

  /// Returns true if a variable gets its values by additions.
  // NOLINTNEXTLINE(misc-no-recursion): likewise.
  bool holds_sum(const std::string& name) {
    if (!seen_.insert(name).second) return true;
    if (const auto changes = changes_.find(name); changes != changes_.end()) {
      for (const Syntax* change : changes->second) {
        if (change->text == "+=") adds_ = true;
        if (change->text != "+=" && change->text != "=") return false;
      }
    }
    const auto values = gives_.find(name);
    if (values == gives_.end()) return true;
    return !is_picked(name) && is_left_alone_by_calls(name) &&
           std::ranges::all_of(values->second,
                               [&](const Syntax* value) { return only_adds(*value); });
  }

  /// Returns true if a branch chooses what a variable is set to by comparing it.
  bool is_picked(const std::string& name) const {
    return has_any(body_, [&](const Syntax& syntax) {
      return syntax.kind == Kind::branch && picks(syntax) &&
             has_any(syntax, [&](const Syntax& part) {
               return part.is(Kind::assignment, "=") && base_of(part.parts[0]) == name;
             });
    });
  }

  /// Returns true if functions that a variable or array is passed to only add to it.
  bool is_left_alone_by_calls(const std::string& name) {
    return !has_any(body_, [&](const Syntax& call) {
      if (call.kind != Kind::call || call.text.starts_with("__shfl")) return false;
      const bool is_passed = std::ranges::any_of(call.parts, [&](const Syntax& argument) {
        return argument.is_name(name) ||
               (argument.is(Kind::unary, "&") && base_of(argument.parts[0]) == name);
      });
      if (!is_passed || call.text == "atomicAdd") return false;
      const Syntax* const own = body_of_(call.text);
      return own == nullptr || !adds_by(*own);
    });
  }

  /// Returns true if a variable or array gets more than one value and is no loop's counter.
  bool is_changed(const Syntax& syntax) const {
    const auto values = syntax.kind == Kind::name ? gives_.find(syntax.text) : gives_.end();
    return values != gives_.end() && values->second.size() > 1 && !counters_.contains(syntax.text);
  }

  bool adds_by(const Syntax& function) {
    const bool adds = smemtune::only_adds(function);
    adds_ = adds_ || adds;
    return adds;
  }

  const Syntax& body_;
  const BodyOf& body_of_;
  LocalValues values_;
  std::map<std::string, std::vector<const Syntax*>> gives_;    ///< Values, by variable or array.
  std::map<std::string, std::vector<const Syntax*>> changes_;  ///< Assignments, likewise.
  Names counters_;                                             ///< Variables in the steps of loops.
  Names seen_;         ///< Variables that is_sum() has followed.
  bool adds_ = false;  ///< True once is_sum() has met an addition.
};

}  // namespace

bool only_adds(const Syntax& function) {
  const bool adds = has_any(function, [](const Syntax& part) {
    return part.is(Kind::assignment, "+=") || part.is(Kind::binary, "+");
  });
  return adds && !has_any(function, [](const Syntax& part) {
           return picks(part) || part.is(Kind::assignment, "*=") || part.is(Kind::assignment, "-=");
         });
}

bool is_block_sum(const Syntax& body, const std::string& pointer, const BodyOf& body_of) {
  return BlockSums(body, body_of).are_stored_in(pointer);
}

}  // namespace smemtune
