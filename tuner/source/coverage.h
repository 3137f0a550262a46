#pragma once

#include "tuner/source/source_items.h"

#include <set>
#include <string>

namespace smemtune {

/// Whether a kernel's body, as far as its text shows, leaves elements as they are of what it writes
/// through the pointer `name`: each store stands behind a condition on more than an upper bound
/// (`i > 0`, `i < n - 1`, `flag[i]`), or goes where other data say (`out[where[i]] = `).
/// `arguments`: names that are the same for all threads.
bool may_leave_elements(const CppTokens& tokens, TokenRange body, const std::string& name,
                        const std::set<std::string>& arguments);

}  // namespace smemtune
