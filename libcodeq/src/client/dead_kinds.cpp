// SPDX-License-Identifier: Apache-2.0
#include "client/dead_kinds.hpp"

#include "base/error_fingerprint.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace codeq::client {

void dead_kinds::add(const task_summary& dead) {
  ++tasks_;
  auto fingerprint = base::fingerprint_of(dead.error_text);
  auto at = kinds_.find(fingerprint);
  if (at == kinds_.end() && kinds_.size() >= kinds_max_) {
    ++left_out_;
    return;
  }
  auto died = dead.ended_at.value_or(timestamp{});
  auto& kind = at == kinds_.end() ? kinds_[fingerprint] : at->second;
  bool is_new = kind.tasks == 0;
  ++kind.tasks;
  kind.first_died = is_new ? died : std::min(kind.first_died, died);
  if (!is_new && died < kind.last_died)
    return;
  kind.fingerprint = std::move(fingerprint);
  kind.last_died = died;
  kind.last = dead.id;
  kind.error_text = dead.error_text;
}

dead_summary dead_kinds::summary() const {
  dead_summary all{{}, tasks_, left_out_};
  for (const auto& [fingerprint, kind] : kinds_)
    all.kinds.push_back(kind);
  std::sort(all.kinds.begin(), all.kinds.end(), [](const dead_kind& a, const dead_kind& b) {
    return std::tie(b.tasks, a.fingerprint) < std::tie(a.tasks, b.fingerprint);
  });
  return all;
}

} // namespace codeq::client
