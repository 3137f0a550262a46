#pragma once

#include "tuner/source/source_items.h"

#include <set>
#include <string>

namespace smemtune {

/// Returns true if a kernel's body, as far as its text shows, leaves some of the elements unchanged
/// that it writes through the pointer `name`: each store stands behind a condition on more than an
/// upper bound (`i > 0`, `i < n - 1`, `flag[i]`), or goes where other data say
/// (`out[where[i]] = `). `arguments`: names that have the same value in all threads.
bool may_leave_elements(const CppTokens& tokens, TokenRange body, const std::string& name,
                        const std::set<std::string>& arguments);

}  // namespace smemtune
