#pragma once

#include "tuner/config/json_reader.h"
#include "tuner/core/value.h"

#include <string_view>
#include <vector>

namespace smemtune {

/// Whether a document is a T1 specification, as Kernel Tuner and KTT read it.
bool is_t1(const Json& root);

/// The space file that says what a T1 specification does: its kernel, with parameters as macros.
/// Throws InputError, beginning with the JSON pointer, for what has no counterpart here (another
/// language than CUDA, arguments from scripts) and for values that are no list. `source`: the
/// kernel's text, if it is there.
Json space_of_t1(const Json& root, std::string_view source);

/// The integers and words of a list as Python writes it: `[1, 2]`, `["float", "half"]`,
/// `range(1, 9, 2)`, `list(range(4))`, `[2**i for i in range(6) if i != 3]`. Expressions in it are
/// those of space files, and nothing is executed. Throws InputError.
std::vector<Value> python_list(std::string_view text);

}  // namespace smemtune
