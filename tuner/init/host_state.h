#pragma once

#include "tuner/source/launch_site.h"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace smemtune {

/// The values that the variables of a host function have at one place in it. Every text keeps its
/// meaning: when a variable gets another value, texts that use it get the name of its former value.
class HostState {
 public:
  /// Gives a variable a value, nullopt if it is not known. `line`: that of the loop that changes
  /// it.
  void assign(const std::string& name, std::optional<std::string> value, std::size_t line = 0);
  /// Gives the present value of a variable a name of its own, which texts use from here on, and
  /// returns that name.
  std::string keep_former(const std::string& name);
  /// Gives a variable a value that tells nothing by itself, such as a loop's counter.
  void make_counter(const std::string& name);
  void set_shape(const std::string& name, std::vector<std::string> extents) {
    shapes_[name] = std::move(extents);
  }
  /// Sets one extent of a dim3: `grid.x = n`.
  void set_extent(const std::string& name, std::size_t axis, const std::string& value);
  void set_list(const std::string& name, std::vector<std::string> elements);
  void set_bytes(const std::string& pointer, const std::string& bytes) {
    allocated_.insert_or_assign(pointer, bytes);
  }
  /// Adds a text that stands for another everywhere behind it: `v.size()`, `sizeof(a)`.
  void set_text(const std::string& text, const std::string& value) {
    variables_.insert_or_assign(text, value);
  }

  /// Returns the extents of a dim3 that a text is or names; the text itself if it is none.
  std::vector<std::string> extents(const std::string& text, int depth = 0) const;
  std::vector<std::string> list(const std::string& name) const;
  std::optional<std::string> value(const std::string& name) const;
  /// Returns true if a text uses one of these variables, even through others.
  bool uses(const std::string& text, const std::set<std::string>& wanted) const;

  /// Keeps what this state and another have in common: behind two branches.
  void join(const HostState& other);
  /// Notes the condition of branches that begin here; join_if() joins what the two leave, with a
  /// conditional for each variable that they leave different.
  void begin_branches(const std::string& condition) {
    ++branches_;
    variables_[condition_name()] = condition;
  }
  void join_if(const HostState& other);
  void end_branches() {
    variables_.erase(condition_name());
    --branches_;
  }

  /// Returns the state as a frame. `elsewhere`: bytes that other functions allocate.
  HostFrame frame(const std::map<std::string, std::string>& elsewhere) const;

 private:
  static constexpr const char* kCondition = "if (";  ///< No variable's name begins so.

  std::string condition_name() const { return kCondition + std::to_string(branches_); }

  void rename(const std::string& name, const std::string& former);
  bool mentions(const std::string& name) const;

  std::map<std::string, std::string> variables_;
  std::map<std::string, std::string> allocated_;
  std::map<std::string, std::vector<std::string>> shapes_;
  std::map<std::string, std::vector<std::string>> lists_;
  std::map<std::string, std::vector<std::string>> choices_;
  std::map<std::string, std::size_t> changed_;  ///< See HostFrame::changed.
  std::map<std::string, std::string> former_;   ///< Names of former values, and their variables.
  std::map<std::string, int> versions_;
  int branches_ = 0;  ///< Branches around this place, one in the other.
};

}  // namespace smemtune
