#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/core/value.h"

#include <string_view>
#include <vector>

namespace smemtune {

/// Returns whether a document is a T1 specification, as Kernel Tuner and KTT read it.
bool is_t1(const Json& root);

/// Translates a T1 specification into a space file, with its kernel and the parameters as macros.
/// Throws InputError, beginning with the JSON pointer, for features that have no counterpart here
/// (another language than CUDA, arguments from scripts) and for values that are not a list.
/// `source`: the kernel's text, if it exists.
Json space_of_t1(const Json& root, std::string_view source);

/// Returns the integers and words of a list in Python's syntax: `[1, 2]`, `["float", "half"]`,
/// `range(1, 9, 2)`, `list(range(4))`, `[2**i for i in range(6) if i != 3]`. Expressions in it are
/// those of space files, and nothing is executed. Throws InputError.
std::vector<Value> python_list(std::string_view text);

}  // namespace smemtune
