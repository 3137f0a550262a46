#pragma once

#include "tuner/core/value.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

// Stored strings as names, literals and conditions of the code that exports write. What cannot be
// a name is refused; all other text is escaped.

namespace smemtune::db {

/// The names in one scope: stored names and the C++ names that stand for them.
class Names {
 public:
  /// `what`: the kind of name, for error messages. `taken`: names that the scope already contains.
  Names(std::string what, std::set<std::string> taken);

  /// Throws InputError unless C++ may have the name.
  void add(const std::string& name);

  const std::string& of(const std::string& name) const { return names_.at(name); }
  const std::map<std::string, std::string>& all() const { return names_; }

 private:
  std::string what_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> names_;
};

/// Generates a struct that holds Bindings of one kind: a member for each name, which is a number if
/// all its values are.
class BindingsStruct {
 public:
  BindingsStruct(std::string name, const std::string& what);

  void add(const Bindings& bindings);

  std::string definition() const;
  /// Returns text like `{4096, "float"}`, with 0 or an empty string for what the bindings lack.
  std::string value(const Bindings& bindings) const;
  /// Returns the definitions of size_ratio() for two of these structs, and of its two parts:
  /// word_ratio(), and times_sizes(), which multiplies a ratio by those of the numbers. They call
  /// functions of selection.h and constraint_functions().
  std::string ratio_functions() const;
  /// Returns those of the bindings whose members are words.
  Bindings words_of(const Bindings& bindings) const;

  /// Returns the member that stands for a stored name.
  const std::string& member(const std::string& name) const { return members_.of(name); }
  bool is_word(const std::string& name) const { return words_.contains(name); }
  const std::map<std::string, std::string>& members() const { return members_.all(); }

 private:
  std::string name_;
  Names members_;
  std::set<std::string> words_;
};

/// Throws InputError, beginning with `what`, unless a program may define this name in C and C++.
void need_name(const std::string& what, const std::string& name);

/// Returns a word that may be code: a type or an enumerator. Otherwise throws InputError, beginning
/// with `what`.
const std::string& need_word(const std::string& what, const std::string& word);

/// Returns true if a word is surely a type: `float`, `unsigned char`, `__half`.
bool is_type(const std::string& word);

/// Returns the text made safe for a comment: ASCII only, no line end, no backslash before one.
std::string for_comment(const std::string& text);

std::string integer_literal(std::int64_t value);

/// Returns the text as a C++ string literal of ASCII characters, with the quotes.
std::string string_literal(const std::string& text);

/// Returns the C++ functions, in namespace smemtune, that constraints and size_ratio() call; a
/// program may have the text more than once.
std::string constraint_functions();

/// Writes a struct `Limits` with the limits of a device that conditions name, and a function for
/// each condition that takes (Kernel, const Parameters&, const Problem&, const Limits&) and returns
/// whether all its expressions hold. One that cannot be C++, as it has an operator that C++ lacks
/// or a name that nothing has, does not hold.
class ConstraintsCode {
 public:
  struct Condition {
    std::string function;
    std::string comment;
    std::map<std::string, std::vector<std::string>> of_kernels;  ///< Texts, by enumerator.
  };

  ConstraintsCode(const BindingsStruct& problem, const BindingsStruct& parameters,
                  const std::vector<Condition>& conditions);

  const std::string& definitions() const { return definitions_; }

  /// Returns the value of `Limits` for a device, given device_names().
  std::string limits(const Bindings& device) const;

 private:
  std::set<std::string> limits_;  ///< Names of those that constraints use.
  std::string definitions_;
};

}  // namespace smemtune::db
