// SPDX-License-Identifier: Apache-2.0
#include "client/operator_replies.hpp"
#include "protocol/convert.hpp"
#include "protocol/limit_convert.hpp"
#include "protocol/operator_convert.hpp"
#include "protocol/schedule_convert.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace codeq {

namespace {

constexpr protocol::shard_place place{shard_id{1}, 4};
constexpr timestamp now{duration{1'700'000'000'000}};

const auto worker = std::make_shared<const worker_identity>(worker_identity{"w", 1});

// Messages that a coordinator receives from nodes and operators.

void read(const protocol::hello& m) {
  static_cast<void>(protocol::to_introduction(m));
}

void read(const protocol::enqueue_request& m) {
  static_cast<void>(protocol::number_of(m));
  static_cast<void>(protocol::to_command(m, 1, now, place));
}

void read(const protocol::heartbeat_request& m) {
  static_cast<void>(protocol::to_command(m, 1));
}

void read(const protocol::result_request& m) {
  static_cast<void>(protocol::to_command(m, 1, now, place));
}

void read(const protocol::resume_request& m) {
  static_cast<void>(protocol::to_command(m, 1, worker));
}

void read(const protocol::await_request& m) {
  static_cast<void>(protocol::to_command(m, 1));
}

template <class S>
requires requires {
  typename protocol::reply_of<S>::type;
}

void read(const protocol::frame<S>& m) {
  static_cast<void>(protocol::address_of(m));
  static_cast<void>(protocol::to_command(m, protocol::asked_at{1, place}));
}

void read(const protocol::stats_request&) {
}

void read(const protocol::workers_request& m) {
  static_cast<void>(protocol::read_workers_request(m));
}

void read(const protocol::schedule_request& m) {
  auto asked = protocol::read_schedule_request(m, place);
  if (asked && asked->definition)
    static_cast<void>(protocol::read_content(*asked->definition));
}

// Messages that an operator receives from coordinators.

void read(const protocol::schedule_reply& m) {
  static_cast<void>(client::read_schedules(m));
}

void read(const protocol::status_reply& m) {
  static_cast<void>(client::read_status(m));
}

void read(const protocol::change_reply& m) {
  static_cast<void>(client::read_change(m));
}

void read(const protocol::queue_reply& m) {
  static_cast<void>(client::read_queue(m));
}

void read(const protocol::bulk_reply& m) {
  static_cast<void>(client::read_bulk(m));
}

void read(const protocol::list_reply& m) {
  static_cast<void>(client::read_list(m));
}

void read(const protocol::explain_reply& m) {
  static_cast<void>(client::read_explain(m));
}

void read(const protocol::events_reply& m) {
  static_cast<void>(client::read_events(m));
}

void read(const protocol::stats_reply& m) {
  static_cast<void>(client::read_stats(m));
}

void read(const protocol::workers_reply& m) {
  static_cast<void>(client::read_workers(m));
}

void read(const protocol::audit_reply& m) {
  static_cast<void>(client::read_audit(m));
}

void read(const protocol::backup_reply& m) {
  static_cast<void>(client::read_backup(m));
  static_cast<void>(client::read_backups(m));
}

/// All other messages are read field by field where they are used.
template <class Frame>
void read_any(const Frame& m) {
  if constexpr (requires { read(m); })
    read(m);
}

} // namespace

} // namespace codeq

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace codeq;
  if (size < 2)
    return 0;
  std::string body(reinterpret_cast<const char*>(data) + 2, size - 2);
  body.resize(body.size() / 8 * 8);
  protocol::wire_frame frame{
    static_cast<std::uint16_t>(data[0] | data[1] << 8), bytes(std::move(body))};
  static_cast<void>(protocol::visit_frame(frame, [](const auto& m) { read_any(m); }));
  return 0;
}
