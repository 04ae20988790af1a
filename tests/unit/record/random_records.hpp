// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "slurmtune/base/random.hpp"
#include "slurmtune/record/decision.hpp"
#include "slurmtune/record/manifest.hpp"
#include "slurmtune/record/verdict.hpp"

namespace slurmtune {

/// Makes records with everything that a format must carry: absent fields, empty lists, text with
/// quotes, line ends and every plane of Unicode, the smallest and the largest numbers.
class RandomRecords {
 public:
  explicit RandomRecords(Seed seed) : random_(seed) {}

  [[nodiscard]] double real();
  [[nodiscard]] std::string text();
  [[nodiscard]] Values values();
  [[nodiscard]] Experiment experiment();
  [[nodiscard]] Manifest manifest();
  [[nodiscard]] TaskStart task_start();
  [[nodiscard]] Verdict verdict();
  [[nodiscard]] NodeRecord node();
  [[nodiscard]] ShardLine later_line();  ///< any but task_start
  [[nodiscard]] TuningResult result();
  [[nodiscard]] Decision decision();

 private:
  [[nodiscard]] bool flip() { return random_.below(2) == 0; }
  [[nodiscard]] int count() { return static_cast<int>(random_.below(4)); }
  [[nodiscard]] std::int64_t integer();
  [[nodiscard]] int small_integer();
  [[nodiscard]] Instant instant();
  [[nodiscard]] Interval interval() { return {real(), real(), real()}; }
  [[nodiscard]] Outcome outcome();
  [[nodiscard]] Ranked ranked();
  template <class IdType>
  [[nodiscard]] IdType id() {
    return {text()};
  }
  template <class Make>
  [[nodiscard]] auto maybe(Make make) -> std::optional<decltype(make())> {
    if (flip()) return std::nullopt;
    return make();
  }
  template <class Make>
  [[nodiscard]] auto list(Make make) -> std::vector<decltype(make())> {
    std::vector<decltype(make())> made;
    for (int i = count(); i > 0; --i) made.push_back(make());
    return made;
  }

  Random random_;
};

}  // namespace slurmtune
