#pragma once

#include "reports/report_source.h"

#include <string>
#include <vector>

namespace smemtune {

/// What a person who reads one line wants to know, a sentence each: which configuration won and
/// with what time, over its default, what it was compared with, what it is tied with, how much was
/// tried and what became of the rest; of a dry run, what fits.
std::vector<std::string> findings(const ReportSource& source, const db::StoredSection& section);

/// Shell commands that measure it again: the winner, and the search. None for what was imported.
std::vector<std::string> repeating_commands(const ReportSource& source,
                                            const db::StoredSection& section);

}  // namespace smemtune
