// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/space/space.hpp"

namespace slurmtune {

/// Per parameter an index into its levels; -1 = absent (a condition does not hold).
using Levels = std::vector<std::int32_t>;

/// A parameter and the values that it can take, in the order of the study.
struct LevelParameter {
  std::string name;
  ParameterType type = ParameterType::integer;
  Scale scale = Scale::linear;
  std::string role;           ///< "" = none
  std::vector<Value> levels;  ///< in the given order; those of ranges ascend
  bool derived = false;       ///< follows from others: gradient_accumulation of the batch rule
};

/// The parameters of a space with their levels. Values that are listed are the levels. So is every
/// number of an integer range of at most `range_values_max`; of longer ones, and of real ranges,
/// `range_levels` numbers stand for all: evenly spaced on the range's scale, both ends among them,
/// integers rounded and equal ones once. A derived parameter has every value that follows from some
/// level of what it is derived from, ascending.
[[nodiscard]] std::vector<LevelParameter> level_parameters(const Space& space);
inline constexpr std::int64_t range_values_max = 1024;
inline constexpr int range_levels = 65;

/// The valid configurations of a space, numbered from 0 without a gap. Nothing is stored for those
/// that are invalid, and little for the others: parameters that no constraint ties together are
/// apart, and of a group that is tied together equal parts are stored once (level_diagram.hpp).
///
/// The order of the numbers is fixed for a space, but not that of the study: groups in the order of
/// their first parameters, the last group changes fastest; within a group parameters in the order
/// in which they were bound (that of the study where that was little work), each by level. A copy
/// shares what is stored, and may be read from several threads at once.
class ValidSet {
 public:
  [[nodiscard]] const std::vector<LevelParameter>& parameters() const;

  /// How many there are; exact. 0 only of a table without rows, or of a space that has none.
  [[nodiscard]] std::uint64_t size() const;

  /// The k-th; k < size(). A uniform sample is that of a uniform number below size().
  [[nodiscard]] Levels at(std::uint64_t k) const;

  /// The number of a configuration; nothing if it is not valid.
  [[nodiscard]] std::optional<std::uint64_t> rank(std::span<const std::int32_t> levels) const;

  /// The valid ones that are one decision away from the k-th, by parameter: of ordered parameters
  /// the next valid level below and above, of categorical and boolean ones every other. What is
  /// derived follows; a parameter that comes to be there takes its first level that is valid, one
  /// that does not apply any more goes; all else stays. Each once.
  [[nodiscard]] std::vector<std::uint64_t> neighbours(std::uint64_t k) const;

  /// What a point is called in a study.
  [[nodiscard]] Configuration configuration(std::span<const std::int32_t> levels) const;
  /// The point of a configuration, valid or not; nothing if a value is no level, or a name no
  /// parameter.
  [[nodiscard]] std::optional<Levels> levels(const Configuration& configuration) const;

  /// What is stored, in bytes: figures for benchmarks and `slurmtune space`.
  [[nodiscard]] std::size_t stored_bytes() const;

 private:
  friend class ValidSetMaker;
  struct Body;
  explicit ValidSet(std::shared_ptr<const Body> body);

  std::shared_ptr<const Body> body_;
};

/// Applies each constraint as soon as its parameters are bound. Constraints have the meaning that
/// they have in Space::contains; knobs are not in the set. May be empty: count_space
/// (space_counts.hpp) tells why. Errors: invalid_input, `study.toml:1: …`, if there are 2^63 valid
/// configurations or more, or if constraints tie so many values together that memory (700 MiB)
/// does not hold what they leave.
[[nodiscard]] Expected<ValidSet> make_valid_set(const Space& space);

/// A table of configurations: each row has a level of every parameter; equal rows are one. The k-th
/// is the k-th in the order of levels, the first parameter first. Two parameters or more may depend
/// on each other in any way. All levels must be -1 or one of the parameter's.
[[nodiscard]] ValidSet valid_set_of_rows(std::vector<LevelParameter> parameters,
                                         std::vector<Levels> rows);

}  // namespace slurmtune
