// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/result.hpp"
#include "schedule/time_zone.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace codeq::schedule {

/// The zones of a folder of zone files, each read when it is first asked for. It remains known when
/// its file vanishes or is damaged later. The only class that reads files; safe to use from several
/// threads.
class zone_store {
public:
  /// The folder of Debian's `tzdata`.
  static constexpr std::string_view default_folder = "/usr/share/zoneinfo";

  /// A zone whose file differs from what was read.
  struct change {
    std::string name;
    /// The new rules, or why the file could not be used.
    result<zone_ptr> zone;
    /// False when no rules were known before, so that schedules waited for the file.
    bool was_known = true;
  };

  /// `on_change` is called by `refresh` and `await` for each change, on their thread.
  explicit zone_store(
    std::string folder = std::string(default_folder),
    std::function<void(const change&)> on_change = {});

  /// The zone as it was read last; a zone without a file is found without the folder. Errors:
  /// `invalid_argument` names an unknown zone and the nearest known name; `corruption`, `io_error`.
  [[nodiscard]] result<zone_ptr> find(std::string_view name);

  /// Schedules wait for a zone that `find` did not find. `refresh` looks for its file from now on.
  /// Reports the zone as a change the first time.
  void await(std::string_view name);

  /// Looks whether files of known zones changed (by inode, size and time of change), reads those
  /// that did, and returns zones with new rules and, once per change, those whose file could not be
  /// used. Call it every minute; it costs one `stat` per known zone.
  /// Each change is returned to one caller; others see the generation.
  [[nodiscard]] std::vector<change> refresh();

  /// Grows whenever the rules of a known zone change. Times that were computed from zones are
  /// computed again when it differs.
  [[nodiscard]] std::uint64_t generation() const;

  /// All names in the folder, sorted; empty without it.
  [[nodiscard]] std::vector<std::string> names() const;

private:
  /// Tells a file from its earlier contents.
  struct version {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t bytes = -1;
    std::int64_t changed_ns = 0;

    friend bool operator==(const version&, const version&) = default;
  };

  struct entry {
    zone_ptr zone;
    version seen;
  };

  [[nodiscard]] std::vector<change> find_changes();
  void find_awaited(std::vector<change>& changes);
  [[nodiscard]] error unknown(std::string_view name);
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] result<zone_ptr> read(const std::string& name) const;
  [[nodiscard]] result<zone_ptr> no_file(const std::string& name) const;
  /// The default when there is no such file.
  [[nodiscard]] version version_of(const std::string& name) const;

  std::string folder_;
  std::function<void(const change&)> on_change_;
  mutable std::mutex mutex_;
  std::map<std::string, entry, std::less<>> known_;
  /// Zones that are awaited, and what was seen of their files.
  std::map<std::string, version, std::less<>> awaited_;
  std::uint64_t generation_ = 0;
  /// For the text of errors; empty when not listed since the last refresh.
  std::vector<std::string> names_;
};

} // namespace codeq::schedule
