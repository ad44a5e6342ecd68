// SPDX-License-Identifier: Apache-2.0
#include "ctl/text.hpp"

#include "base/duration_text.hpp"

#include <algorithm>
#include <string>

namespace codeq::ctl {

std::string printable(std::string_view text) {
  std::string safe(text);
  for (char& c : safe) {
    auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && c != '\n' && c != '\t') || code == 0x7f)
      c = '?';
  }
  return safe;
}

std::string in_one_line(std::string_view text) {
  auto line = printable(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::string format_duration(duration value) {
  return value == duration{0} ? "0ms" : base::format_duration(value);
}

std::string format_fields(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::size_t width = 0;
  for (const auto& [name, value] : fields)
    width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, value] : fields)
    text += name + std::string(width - name.size() + 2, ' ') + value + "\n";
  return text;
}

std::string format_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string padding(widths[i] - row[i].size(), ' ');
      text += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    text += "\n";
  }
  return text;
}

std::string missing_text(const std::vector<shard_id>& missing) {
  if (missing.empty())
    return {};
  return "\nNo answer from " + shards_text(missing)
         + ": whether a change is in force there is not known. In a cluster shard 0 passes it on "
           "when they are served again; otherwise make it again.\n";
}

std::string left_out_text(
  const std::vector<shard_id>& missing, std::uint32_t unnamed, std::string_view things) {
  if (missing.empty() && unnamed == 0)
    return {};
  const auto number = std::to_string(unnamed);
  auto text = number + (unnamed == 1 ? " shard" : " shards");
  if (!missing.empty())
    text = shards_text(missing) + (unnamed > 0 ? " and " + number + " more" : "");
  return "\nNo answer from " + text + ": their " + std::string(things) + " are left out.\n";
}

void
write_shards(base::json_writer& out, std::string_view name, const std::vector<shard_id>& shards) {
  if (shards.empty())
    return;
  out.begin_array(name);
  for (auto shard : shards)
    out.number(std::uint64_t{value(shard)});
  out.end_array();
}

} // namespace codeq::ctl
