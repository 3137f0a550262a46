#include "tuner/core/outcome.h"

#include "tuner/core/names.h"

namespace smemtune {

namespace {

constexpr EnumWords<Status, 6> kStoredStatuses = {{{Status::correct, "correct"},
                                                   {Status::constraints, "constraints"},
                                                   {Status::compile, "compile"},
                                                   {Status::runtime, "runtime"},
                                                   {Status::correctness, "correctness"},
                                                   {Status::timeout, "timeout"}}};

constexpr EnumWords<ComparedWith, 5> kComparedWith = {
    {{ComparedWith::unknown, "unknown"},
     {ComparedWith::definition, "definition"},
     {ComparedWith::expected_file, "expected file"},
     {ComparedWith::another_kernel, "another kernel"},
     {ComparedWith::only_itself, "only itself"}}};

}  // namespace

std::string to_text(Status status) {
  return status == Status::fits ? "fits" : word_of(status, kStoredStatuses);
}

Status parse_status(const std::string& word) {
  return parse_word(word, kStoredStatuses, "a status");
}

std::string to_text(ComparedWith compared_with) { return word_of(compared_with, kComparedWith); }

ComparedWith parse_compared_with(const std::string& word) {
  return parse_word(word, kComparedWith, "a kind of reference for results");
}

}  // namespace smemtune
