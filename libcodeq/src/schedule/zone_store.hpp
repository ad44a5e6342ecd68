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

  explicit zone_store(std::string folder = std::string(default_folder));

  /// The zone as it was read last; a zone without a file is found without the folder. Errors:
  /// `invalid_argument` names an unknown zone and the nearest known name; `corruption`, `io_error`.
  [[nodiscard]] result<zone_ptr> find(std::string_view name);

  /// A zone whose file differs from what was read.
  struct change {
    std::string name;
    /// The new rules, or why the last known ones stay in force.
    result<zone_ptr> zone;
  };

  /// Looks whether files of known zones changed (by inode, size and time of change), reads those
  /// that did, and returns zones with new rules and, once per change, those whose file could not be
  /// used. Call it every minute; it costs one `stat` per known zone.
  [[nodiscard]] std::vector<change> refresh();

  /// All names in the folder, sorted; empty without it.
  [[nodiscard]] std::vector<std::string> names() const;

private:
  /// What tells a file from its earlier contents.
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

  [[nodiscard]] error unknown(std::string_view name);
  [[nodiscard]] std::string path_of(const std::string& name) const;
  [[nodiscard]] result<zone_ptr> read(const std::string& name) const;
  /// The default when there is no such file.
  [[nodiscard]] version version_of(const std::string& name) const;

  std::string folder_;
  std::mutex mutex_;
  std::map<std::string, entry, std::less<>> known_;
  /// For the text of errors; empty when not listed since the last refresh.
  std::vector<std::string> names_;
};

} // namespace codeq::schedule
