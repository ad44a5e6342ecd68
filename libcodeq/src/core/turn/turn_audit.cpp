// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "base/tuning.hpp"
#include "core/tables/history.hpp"
#include "core/turn/turn.hpp"

#include <algorithm>
#include <utility>

/// The audit log: one entry per command of an operator, however many parts the command has.
namespace codeq::core {

namespace {

/// True when both belong to the same command.
bool is_same(const audit_entry& a, const audit_entry& b) {
  return a.by->at == b.by->at && a.by->operation == b.by->operation;
}

/// Adds a further change of the same command.
void merge(audit_entry& to, const audit_entry& more) {
  to.changed += more.changed;
  to.task = 0;
  if (to.queue != more.queue)
    to.queue.clear();
  if (to.detail.empty())
    to.detail = more.detail;
}

} // namespace

void turn::run(const note_command& c) {
  audit({c.origin, c.action, c.tenant, {}, 0, 0, c.detail});
}

void turn::run(const tell_audit& c) {
  effects_.emplace_back(
    audit_wanted{{inquiry::kind::audit, c.peer, c.number, {}, {}}, c.filter, c.is_of_shard});
}

void turn::audit(
  operator_action action, const queue_address& of, sequence task, std::uint64_t changed) {
  audit({origin_, action, of.tenant, of.queue, task, changed, {}});
}

void turn::audit(audit_entry entry) {
  if (!entry.by || !entry.by->is_audited)
    return;
  entry.detail = cut_text(entry.detail, limits::audit_detail_bytes_max);
  auto& open = state_.open_audits;
  auto known = std::find_if(
    open.begin(), open.end(), [&](const audit_entry& one) { return is_same(one, entry); });
  if (known != open.end()) {
    auto whole = std::move(*known);
    open.erase(known);
    merge(whole, entry);
    entry = std::move(whole);
  } else {
    entry.position = state_.positions.take(1);
    if (open.size() >= tuning::open_audits_max)
      open.erase(open.begin());
  }
  open.push_back(entry);
  auto noted = std::find_if(audited_.begin(), audited_.end(), [&](const audit_entry& one) {
    return one.position == entry.position;
  });
  if (noted != audited_.end())
    *noted = std::move(entry);
  else
    audited_.push_back(std::move(entry));
}

void turn::close_audits() {
  if (audited_.empty())
    return;
  closed_audits_.push_back({state_.positions.take(1), now_.shard, std::move(audited_)});
  audited_.clear();
}

} // namespace codeq::core
