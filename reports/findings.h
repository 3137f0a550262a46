#pragma once

#include "reports/report_source.h"

#include <string>
#include <vector>

namespace smemtune {

/// Returns one-sentence findings for a reader in a hurry: which configuration won with what time,
/// its speedup over the default, what it was compared with, what it is tied with, how many
/// configurations were tried and how many failed; for a dry run, what fits.
std::vector<std::string> findings(const ReportSource& source, const db::ProblemResults& section);

/// Returns shell commands that repeat the measurement of the winner, and the search. Empty for
/// imported results.
std::vector<std::string> repeating_commands(const ReportSource& source,
                                            const db::ProblemResults& section);

/// Returns the findings and tables in Markdown, for pull requests.
std::string report_markdown(const ReportSource& source);

}  // namespace smemtune
