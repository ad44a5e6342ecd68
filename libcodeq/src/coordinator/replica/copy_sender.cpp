// SPDX-License-Identifier: Apache-2.0
#include "coordinator/replica/copy_sender.hpp"

#include "replication/bounds.hpp"
#include "replication/timing.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace codeq::coordinator {

namespace bounds = replication::bounds;
namespace timing = replication::timing;
using replication::copy_id;
using replication::copy_offer;
using replication::epoch_index;
using replication::epoch_number;
using replication::replica_id;

copy_sender::copy_sender(options opts, replica_host& host, spool_keeper& kept)
  : options_(std::move(opts)), host_(host), kept_(kept) {
}

void copy_sender::begin(replica_id to, epoch_number epoch, monotonic_time now) {
  if (const auto old = copies_.find(to); old != copies_.end())
    host_.close_copy(old->second.id);
  const copy_id id{options_.own, options_.incarnation, ++begun_};
  copies_.insert_or_assign(to, copy{.id = id, .epoch = epoch, .heard = now});
  host_.open_copy(id);
}

copy_sender::copies::iterator copy_sender::find(const copy_id& id) {
  return std::find_if(
    copies_.begin(), copies_.end(), [&id](const auto& sent) { return sent.second.id == id; });
}

void copy_sender::opened(const copy_id& id, result<epoch_index> log, monotonic_time now) {
  const auto found = find(id);
  if (found == copies_.end())
    return host_.close_copy(id);
  if (!log)
    return end(found->first);
  auto& [to, sent] = *found;
  sent.is_offered = true;
  sent.heard = now;
  kept_.keep(to, log->last(), now);
  host_.send(to, copy_offer{sent.epoch, id, std::move(*log)});
}

void copy_sender::answered(replica_id from, const copy_answer& what, monotonic_time now) {
  const auto found = copies_.find(from);
  if (found == copies_.end() || found->second.id != what.id)
    return;
  auto& sent = found->second;
  kept_.note_heard(from, now);
  // A taker whose disk hangs answers, too, and gets on with nothing.
  const auto progress = std::pair(what.state != copy_state::clearing, what.parts);
  if (std::exchange(sent.progress, progress) != progress)
    sent.heard = now;
  switch (what.state) {
  case copy_state::written:
  case copy_state::arrived:
    return note_arrived(from, sent, what);
  case copy_state::clearing:
    return;
  case copy_state::whole:
  case copy_state::unknown:
    return end(from);
  }
}

void copy_sender::note_arrived(replica_id at, copy& sent, const copy_answer& what) {
  sent.parts_written = std::max(sent.parts_written, what.parts);
  const auto arrived = std::max(what.parts, what.arrived);
  while (!sent.missing.empty() && sent.missing.front().number <= arrived)
    sent.missing.pop_front();
  // The answer says nothing of parts that were sent after the question.
  for (const auto& part : sent.missing)
    if (part.number <= what.asked)
      host_.send(at, part);
  read_parts(sent);
}

void copy_sender::read_parts(copy& sent) {
  while (!sent.has_ended && sent.parts_read < sent.parts_written + bounds::copy_parts_ahead) {
    ++sent.parts_read;
    host_.read_part(sent.id);
  }
}

void copy_sender::part_read(const copy_id& id, result<std::string> packed) {
  const auto found = find(id);
  if (found == copies_.end() || found->second.has_ended)
    return;
  if (!packed)
    return end(found->first);
  auto& [to, sent] = *found;
  sent.has_ended = packed->empty();
  copy_part part{
    id, ++sent.parts_sent, std::make_shared<const std::string>(std::move(*packed)), sent.has_ended};
  sent.missing.push_back(part);
  host_.send(to, part);
}

void copy_sender::tend(monotonic_time now) {
  std::vector<replica_id> silent;
  for (auto& [to, sent] : copies_) {
    const auto is_due = std::max(sent.heard, sent.asked) + timing::copy_unanswered < now;
    if (sent.heard + timing::copy_silence < now) {
      silent.push_back(to);
    } else if (sent.is_offered && is_due) {
      sent.asked = now;
      host_.send(to, copy_question{sent.id, sent.parts_sent});
    }
  }
  for (auto to : silent)
    end(to);
}

void copy_sender::end(replica_id to) {
  host_.close_copy(copies_.at(to).id);
  copies_.erase(to);
  options_.ended(to);
}

void copy_sender::clear() {
  for (const auto& [to, sent] : copies_)
    host_.close_copy(sent.id);
  copies_.clear();
}

} // namespace codeq::coordinator
