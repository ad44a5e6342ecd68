// SPDX-License-Identifier: Apache-2.0
#include "node/token_warnings.hpp"

#include "observe/line_pace.hpp"
#include "observe/log.hpp"
#include "security/access_limits.hpp"
#include "security/private_file.hpp"

#include <chrono>
#include <memory>

namespace codeq::node {

void warn_of_readers(const std::filesystem::path& file) {
  if (security::is_readable_by_others(file))
    CODEQ_LOG_WARN(
      "token file can be read by every user of this machine file={} advice=\"chmod 600\"",
      file.string());
}

std::function<void(const error& reason)> refusal_log() {
  auto pace = std::make_shared<observe::line_pace>(1, limits::refused_token_line_interval);
  return [pace](const error& reason) {
    if (auto left_out = pace->take(reason.context, std::chrono::steady_clock::now()))
      CODEQ_LOG_WARN("token is refused left_out={} reason=\"{}\"", *left_out, reason.context);
  };
}

} // namespace codeq::node
