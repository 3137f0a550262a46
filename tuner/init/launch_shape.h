#pragma once

#include "tuner/init/kernel_parameters.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace smemtune {

/// Drafts a kernel's block and grid in the names of the space; numbers that the block needs become
/// parameters. Refers to the kernel and the parameters that it is made from.
class LaunchShapeDraft {
 public:
  LaunchShapeDraft(const LaunchedKernel& of, DraftedParameters& chosen)
      : of_(of), chosen_(chosen) {}

  /// Returns the block's extents from x on: as the host has them, as the kernel suggests, or a
  /// TODO.
  Json block();

  /// Returns the grid's extents from x on, each as the host has it if that can be said in our
  /// names, or a TODO.
  Json grid(const Json& block);

  /// Leaves out the values of parameters with which such a block would have more threads than any
  /// device allows.
  void keep_within_limits(const Json& block);

  /// Returns a text of the host at this launch in our names; nullopt if it has other names.
  std::optional<std::string> in_our_names(const std::string& text, const Json& block) const;

 private:
  /// Returns true if an expression of the source has a value in the space, too.
  bool is_known(const std::string& text) const;
  /// Returns the host's texts, with the extents of `block` for the texts that are the host's block.
  HostTerms terms(const Json& block) const;
  /// Returns the block as the host has it: each of the host's texts is one extent, so that one
  /// number for two dimensions stays one. Nullopt if an extent is not known.
  std::optional<Json> block_of_host();
  std::optional<Json> extent_of_host(std::size_t i);
  /// Returns true if all threads along this dimension do the same, over and over.
  bool ignores_dimension(std::size_t i) const;
  /// Returns the parameter that is the block's extent, by its name and its default, or as the host
  /// has its number in both places; empty if there are none or several.
  std::string parameter_of_extent(std::size_t i, std::int64_t number);
  /// Gives such a parameter the values that a block may have, if the grid follows it.
  void vary_extent(const std::string& name, std::size_t i, std::int64_t number);
  /// Returns numbers of threads around one: whole warps where there is one dimension.
  Json values_of_threads(std::int64_t number) const;
  /// Returns the kernel's launch bound if that is a number and bounds one dimension.
  std::optional<std::int64_t> most_threads() const;
  /// Returns the host's name for dimension i of the block.
  std::string variable_of_block(std::size_t i) const;
  /// Returns true if other numbers of threads than the host's are worth a try: the kernel reads the
  /// block's size, the host does not insist on its number, and the grid follows the block where it
  /// has to.
  bool is_free(std::size_t i, std::int64_t number) const;
  /// Returns true if the grid's dimension i contains the block's variable or its number.
  bool grid_follows(std::size_t i, std::int64_t number) const;
  /// Adds a parameter for the block's dimension i alone.
  std::string add_extent(std::size_t i, const Json& values, std::int64_t value);
  std::string add_parameter_of_block(const std::string& base, const Json& values,
                                     std::int64_t value);
  /// Adds a parameter for each variable in a text for which the host tries several values.
  void add_choices(const std::string& text, int depth = 0);
  Json block_of_bounds() const;
  /// Returns a block of parameters whose names say that they are its extents; empty if not all of
  /// its dimensions have one.
  Json named_block();
  /// Returns a guess, for a kernel that reads its block's size where nothing says how large it is.
  Json guessed_block();
  /// Returns a parameter whose name says so, or the extent of a shared array, row by row.
  std::string proposed_block(std::size_t i) const;
  /// Returns the host's text for dimension i; all of its texts if it has no text for each.
  std::string launched_with(const std::vector<std::string>& texts, std::size_t i) const;
  /// Returns the host's extent, with parameters in place of their number if the grid has that
  /// number as a literal.
  std::optional<std::string> grid_of_host(const std::string& text, std::size_t i,
                                          const Json& block) const;
  std::vector<std::pair<std::string, std::int64_t>> products_of_parameters(std::size_t i,
                                                                           const Json& block) const;
  std::string proposed_grid(const std::vector<std::string>& texts, std::size_t i,
                            const Json& block) const;
  /// Returns the problem's size in dimension i, as far as the kernel's comparisons and names tell.
  std::string size_of_axis(std::size_t i) const;

  const LaunchedKernel& of_;
  DraftedParameters& chosen_;
  /// The host's variable and the parameter for it.
  std::vector<std::pair<std::string, std::string>> tried_;
};

/// Returns an extent, which may be a number, as text.
std::string extent_text(const Json& extent);

}  // namespace smemtune
