// SPDX-License-Identifier: Apache-2.0
#include "worker/process/child_messages.hpp"

#include "base/tuning.hpp"
#include "protocol/shared_data.hpp"
#include "worker/process/child_spec.hpp"

#include <algorithm>
#include <utility>

namespace codeq::worker {

namespace {

using protocol::data_of;
using protocol::string_of;

constexpr std::size_t length_bytes = 4;

std::string string_of(capnp::Text::Reader text) {
  return {text.cStr(), text.size()};
}

result<outcome> outcome_of(schema::FromChild::Outcome::Reader from) {
  auto text = string_of(from.getText());
  switch (static_cast<disposition>(from.getKind())) {
  case disposition::completed:
    return outcome::completed(std::move(text));
  case disposition::failed:
    return outcome::failed(std::move(text));
  case disposition::failed_permanently:
    return outcome::failed_permanently(std::move(text));
  case disposition::nack:
    return from.getDelayMs() < 0 ? outcome::nack(std::move(text))
                                 : outcome::nack(duration{from.getDelayMs()}, std::move(text));
  case disposition::abandon:
    return outcome::abandon();
  case disposition::limited:
    return outcome::limited(
      duration{from.getDelayMs()}, string_of(from.getLimitName()), std::move(text));
  case disposition::cancelled:
    break;
  }
  return error{errc::protocol_error, "the child answered an outcome of no known kind"};
}

/// Errors: `protocol_error` for costs that no handler can have given.
result<void> read_costs(schema::FromChild::Outcome::Reader from, outcome& to) {
  auto costs = read_child_limits(from.getCosts());
  bool fits = costs.size() <= limits::task_limits_max;
  for (const auto& cost : costs)
    fits = fits && cost.cost <= limits::limit_cost_settled_max;
  if (!fits)
    return error{errc::protocol_error, "the child answered costs over their limits"};
  for (auto& cost : costs)
    to.cost(std::move(cost.name), cost.cost);
  return {};
}

} // namespace

to_child make_attempt(const task& attempt, std::uint64_t number) {
  return to_child::build([&](schema::ToChild::Builder root) {
    root.setNumber(number);
    auto to = root.initAttempt();
    to.setShard(value(attempt.id.shard));
    to.setSeq(attempt.id.seq);
    to.setTenant(attempt.tenant);
    to.setQueue(attempt.queue);
    to.setKey(data_of(attempt.key));
    to.setGroup(data_of(attempt.group));
    to.setPriority(static_cast<std::uint8_t>(attempt.priority));
    to.setAttempt(attempt.attempt);
    to.setMaxAttempts(attempt.max_attempts);
    to.setToken(value(attempt.token));
    to.setLeaseMs(static_cast<std::uint64_t>(attempt.lease.count()));
    to.setEnqueuedAtMs(attempt.enqueued_at.time_since_epoch().count());
    to.setPayload(data_of(attempt.payload.view()));
    auto headers = to.initHeaders(static_cast<unsigned>(attempt.headers.size()));
    unsigned next = 0;
    for (const auto& [name, value] : attempt.headers) {
      headers[next].setName(name);
      headers[next++].setValue(value);
    }
    to.setCheckpoint(data_of(attempt.checkpoint.view()));
    to.setRemainingMs(static_cast<std::uint64_t>(attempt.lease_remaining().count()));
  });
}

to_child make_child_cancel(std::uint64_t number) {
  return to_child::build([number](schema::ToChild::Builder root) {
    root.setNumber(number);
    root.setCancel();
  });
}

to_child make_lease_left(duration left, std::uint64_t number) {
  return to_child::build([left, number](schema::ToChild::Builder root) {
    root.setNumber(number);
    root.setLeaseMs(static_cast<std::uint64_t>(left.count()));
  });
}

to_child make_child_saved(std::uint64_t checkpoint, bool is_durable, std::uint64_t number) {
  return to_child::build([&](schema::ToChild::Builder root) {
    root.setNumber(number);
    auto saved = root.initSaved();
    saved.setCheckpoint(checkpoint);
    saved.setIsDurable(is_durable);
  });
}

task read_attempt(schema::ToChild::Attempt::Reader from) {
  task made;
  made.id = {shard_id{from.getShard()}, from.getSeq()};
  made.tenant = string_of(from.getTenant());
  made.queue = string_of(from.getQueue());
  made.key = string_of(from.getKey());
  made.group = string_of(from.getGroup());
  made.priority = from.getPriority();
  made.attempt = from.getAttempt();
  made.max_attempts = from.getMaxAttempts();
  made.token = fencing_token{from.getToken()};
  made.lease = duration{static_cast<duration::rep>(from.getLeaseMs())};
  made.enqueued_at = timestamp{duration{from.getEnqueuedAtMs()}};
  made.payload = bytes(string_of(from.getPayload()));
  made.checkpoint = bytes(string_of(from.getCheckpoint()));
  for (auto header : from.getHeaders())
    made.headers.emplace(string_of(header.getName()), string_of(header.getValue()));
  return made;
}

from_child make_child_outcome(const outcome& ended, std::uint64_t number) {
  return from_child::build([&](schema::FromChild::Builder root) {
    root.setNumber(number);
    auto to = root.initOutcome();
    to.setKind(static_cast<std::uint8_t>(ended.what()));
    to.setText(data_of(ended.text()));
    to.setDelayMs(ended.delay() ? ended.delay()->count() : -1);
    to.setLimitName(ended.limit_name());
    write_child_limits(
      to.initCosts(static_cast<unsigned>(ended.costs().size())), ended.costs());
    auto added = to.initFollowUps(static_cast<unsigned>(ended.follow_ups().size()));
    for (unsigned i = 0; i < added.size(); ++i)
      write_spec(added[i], ended.follow_ups()[i]);
  });
}

from_child make_child_progress(int percent, const std::string& note, std::uint64_t number) {
  return from_child::build([&](schema::FromChild::Builder root) {
    root.setNumber(number);
    auto to = root.initProgress();
    to.setPercent(static_cast<std::uint8_t>(percent));
    to.setNote(data_of(note));
  });
}

from_child make_child_extension(duration by, std::uint64_t number) {
  return from_child::build([by, number](schema::FromChild::Builder root) {
    root.setNumber(number);
    root.setExtendMs(static_cast<std::uint64_t>(by.count()));
  });
}

from_child make_child_log(std::string_view line, std::uint64_t number) {
  return from_child::build([line, number](schema::FromChild::Builder root) {
    root.setNumber(number);
    root.setLog(data_of(line));
  });
}

from_child
make_child_checkpoint(std::string_view state, std::uint64_t answered_as, std::uint64_t number) {
  return from_child::build([&](schema::FromChild::Builder root) {
    root.setNumber(number);
    auto to = root.initCheckpoint();
    to.setData(data_of(state));
    to.setNumber(answered_as);
  });
}

result<outcome> read_child_outcome(schema::FromChild::Outcome::Reader from) {
  auto ended = outcome_of(from);
  if (!ended)
    return ended;
  if (auto ok = read_costs(from, *ended); !ok)
    return ok.error();
  for (auto follow_up : from.getFollowUps())
    ended->then(read_spec(follow_up));
  return ended;
}

std::string with_length(const bytes& body) {
  std::string message;
  for (std::size_t i = 0; i < length_bytes; ++i)
    message.push_back(static_cast<char>(body.size() >> (8 * i)));
  message.append(body.view());
  return message;
}

result<std::optional<bytes>> message_buffer::next() {
  if (data_.size() < length_bytes)
    return std::optional<bytes>();
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    length |= std::size_t{static_cast<unsigned char>(data_[i])} << (8 * i);
  if (length > tuning::frame_bytes_max)
    return error{
      errc::protocol_error,
      "a message has " + std::to_string(length) + " bytes; the limit is "
        + std::to_string(tuning::frame_bytes_max)};
  if (data_.size() < length_bytes + length)
    return std::optional<bytes>();
  // In a buffer of its own, since a message is read in place and must be aligned.
  auto words = std::make_shared<std::vector<std::uint64_t>>((length + 7) / 8);
  auto* begin = reinterpret_cast<char*>(words->data());
  std::copy_n(data_.begin() + length_bytes, length, begin);
  data_.erase(0, length_bytes + length);
  return std::optional(bytes(words, {begin, length}));
}

} // namespace codeq::worker
