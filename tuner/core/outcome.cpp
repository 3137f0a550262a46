#include "tuner/core/outcome.h"

#include "tuner/core/error.h"
#include "tuner/core/text.h"

#include <array>
#include <vector>

namespace smemtune {

namespace {

constexpr std::array kStatuses = {Status::correct, Status::constraints, Status::compile,
                                  Status::runtime, Status::correctness, Status::timeout};

}  // namespace

std::string to_text(Status status) {
  switch (status) {
    case Status::fits:
      return "fits";
    case Status::correct:
      return "correct";
    case Status::constraints:
      return "constraints";
    case Status::compile:
      return "compile";
    case Status::runtime:
      return "runtime";
    case Status::correctness:
      return "correctness";
    case Status::timeout:
      break;
  }
  return "timeout";
}

Status parse_status(const std::string& word) {
  std::vector<std::string> known;
  for (const Status status : kStatuses) {
    if (to_text(status) == word) return status;
    known.push_back(to_text(status));
  }
  const std::string nearest = suggestion(word, known);
  throw InputError(quote(word) + " is not a status" +
                   (nearest.empty() ? "; the statuses are " + joined(known, ", ") : nearest));
}

std::string to_text(ComparedWith compared_with) {
  switch (compared_with) {
    case ComparedWith::unknown:
      return "unknown";
    case ComparedWith::definition:
      return "definition";
    case ComparedWith::expected_file:
      return "expected file";
    case ComparedWith::another_kernel:
      return "another kernel";
    case ComparedWith::only_itself:
      break;
  }
  return "only itself";
}

ComparedWith parse_compared_with(const std::string& word) {
  for (const ComparedWith one :
       {ComparedWith::unknown, ComparedWith::definition, ComparedWith::expected_file,
        ComparedWith::another_kernel, ComparedWith::only_itself}) {
    if (to_text(one) == word) return one;
  }
  throw InputError(quote(word) + " is not a kind of reference for results");
}

}  // namespace smemtune
