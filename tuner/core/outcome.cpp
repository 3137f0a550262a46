#include "tuner/core/outcome.h"

#include "tuner/core/error.h"

#include <array>

namespace smemtune {

namespace {

constexpr std::array kStatuses = {Status::correct, Status::constraints, Status::compile,
                                  Status::runtime, Status::correctness, Status::timeout};

}  // namespace

std::string to_text(Status status) {
  switch (status) {
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
  std::string known;
  for (const Status status : kStatuses) {
    if (to_text(status) == word) return status;
    known += (known.empty() ? "" : ", ") + to_text(status);
  }
  throw InputError("\"" + word + "\" is no status; there are " + known);
}

}  // namespace smemtune
