// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/nominal_time.hpp"
#include "schedule/random_rule.hpp"
#include "schedule/rule.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace codeq::test {

/// An occurrence as the oracle found it.
struct expected_occurrence {
  schedule::local_seconds local;
  bool is_second = false;
  schedule::sys_seconds at;
};

/// Part of the time, [from, until).
struct time_range {
  schedule::sys_seconds from;
  schedule::sys_seconds until;
};

/// Finds occurrences by walking through every minute, or every second, of a zone, and noting which
/// local times are shown first, again, or never. It shares no code with what it checks: it has
/// zones from another library and does not read the text of rules.
class schedule_oracle {
public:
  /// False for names that are not those of places, such as `Factory`.
  [[nodiscard]] static bool knows(const std::string& zone);

  /// The instants at which the offset of a zone changes between 1970 and 2037, which is as far as
  /// the library reads its files.
  [[nodiscard]] static std::vector<schedule::sys_seconds> changes_of(const std::string& zone);

  /// All occurrences of a range, in order.
  [[nodiscard]] const std::vector<expected_occurrence>& walk(
    const std::string& zone, const random_cron& cron, schedule::gap_policy gap,
    schedule::fold_policy fold, time_range range);

private:
  struct step {
    schedule::local_seconds local;
    bool matches = false;
  };

  void show_all(const std::string& zone, const random_cron& cron, time_range range);
  [[nodiscard]] bool fires(std::size_t index, schedule::fold_policy fold) const;
  [[nodiscard]] std::size_t place_of(schedule::local_seconds local) const;

  std::chrono::seconds unit_{60};
  schedule::sys_seconds begin_;
  std::vector<step> steps_;
  /// By local time: the first and the last step that show it; none when they are equal to the
  /// number of steps.
  std::vector<std::uint32_t> first_shown_;
  std::vector<std::uint32_t> last_shown_;
  schedule::local_seconds lowest_;
  std::vector<expected_occurrence> found_;
};

} // namespace codeq::test
