// SPDX-License-Identifier: Apache-2.0
#include "encoding/schema_enums.hpp"
#include "encoding/shared_structs.hpp"
#include "record.capnp.h"
#include "storage/records/record_build.hpp"
#include "storage/records/record_codec.hpp"

#include <algorithm>

/// Records of single tasks: history, checkpoint, key. Each is overwritten by the next one of its
/// kind.
namespace codeq::storage {

std::string encode(const core::task_note& note) {
  const auto& event = note.event;
  auto texts = event.worker.size() + event.text.size() + event.subject.size();
  auto words = small_words + texts / sizeof(capnp::word);
  return build<schema::HistoryRecord>(words, [&](auto r) {
    r.setNumber(note.number);
    r.setAtMs(ms_of(event.at));
    r.setKind(static_cast<std::uint8_t>(event.what));
    r.setBy(static_cast<std::uint8_t>(event.by));
    r.setState(encoding::to_schema(event.state));
    r.setUntilMs(ms_of(event.until));
    r.setAttempt(static_cast<std::uint16_t>(event.attempt));
    r.setToken(value(event.token));
    r.setGrantedAtMs(ms_of(note.granted_at));
    r.setWorker({event.worker.data(), event.worker.size()});
    r.setText({reinterpret_cast<const kj::byte*>(event.text.data()), event.text.size()});
    r.setSegment(note.segment);
    r.setAside(note.aside);
    r.setSubject({event.subject.data(), event.subject.size()});
    if (note.tasks > 1)
      r.setTasks(static_cast<std::uint16_t>(note.tasks));
  });
}

result<core::task_note> decode_note(std::string_view value, sequence seq) {
  return parse<schema::HistoryRecord>(value, [&](auto r) -> result<core::task_note> {
    core::task_note note;
    note.seq = seq;
    note.tasks = std::max<std::uint32_t>(r.getTasks(), 1);
    note.segment = r.getSegment();
    note.aside = r.getAside();
    note.number = r.getNumber();
    note.granted_at = time_of(r.getGrantedAtMs());
    auto& event = note.event;
    event.at = time_of(r.getAtMs());
    event.what = static_cast<task_event::kind>(r.getKind());
    event.by = static_cast<task_event::author>(r.getBy());
    event.state = encoding::from_schema<task_state>(r.getState());
    event.until = time_of(r.getUntilMs());
    event.attempt = r.getAttempt();
    event.token = static_cast<fencing_token>(r.getToken());
    event.worker = encoding::read_text(r.getWorker());
    event.text.assign(r.getText().asChars().begin(), r.getText().size());
    event.subject = encoding::read_text(r.getSubject());
    return note;
  });
}

std::string encode(const core::audit_entry& entry) {
  auto text_of = [](const std::string& text) {
    return capnp::Text::Reader(text.data(), text.size());
  };
  const auto& by = *entry.by;
  auto texts = entry.tenant.size() + entry.queue.size() + by.subject.size() + by.tenant.size()
               + by.remote.size() + entry.detail.size();
  auto words = small_words + texts / sizeof(capnp::word);
  return build<schema::AuditRecord>(words, [&](auto r) {
    r.setAction(static_cast<std::uint8_t>(entry.action));
    r.setTenant(text_of(entry.tenant));
    r.setQueue(text_of(entry.queue));
    r.setTask(entry.task);
    r.setChanged(entry.changed);
    r.setSubject(text_of(by.subject));
    r.setBearerTenant(text_of(by.tenant));
    r.setRemote(text_of(by.remote));
    r.setDetail(text_of(entry.detail));
  });
}

result<core::audit_entry>
decode_audit(std::string_view value, timestamp at, std::uint64_t operation) {
  return parse<schema::AuditRecord>(value, [&](auto r) -> result<core::audit_entry> {
    core::audit_entry entry;
    core::command_origin by{at, operation};
    by.subject = encoding::read_text(r.getSubject());
    by.tenant = encoding::read_text(r.getBearerTenant());
    by.remote = encoding::read_text(r.getRemote());
    entry.by = std::make_shared<const core::command_origin>(std::move(by));
    entry.action = static_cast<operator_action>(r.getAction());
    entry.tenant = encoding::read_text(r.getTenant());
    entry.queue = encoding::read_text(r.getQueue());
    entry.task = r.getTask();
    entry.changed = r.getChanged();
    entry.detail = encoding::read_text(r.getDetail());
    return entry;
  });
}

std::string encode(const core::lease_checkpoint& checkpoint, timestamp at) {
  auto words = small_words + checkpoint.data.size() / sizeof(capnp::word);
  return build<schema::CheckpointRecord>(words, [&](auto r) {
    r.setToken(value(checkpoint.mark.token));
    r.setNumber(checkpoint.mark.number);
    r.setAtMs(ms_of(at));
    auto data = checkpoint.data.view();
    r.setData({reinterpret_cast<const kj::byte*>(data.data()), data.size()});
  });
}

result<checkpoint_record> decode_checkpoint(std::string_view value, sequence seq) {
  return parse<schema::CheckpointRecord>(value, [&](auto r) -> result<checkpoint_record> {
    auto data = r.getData().asChars();
    checkpoint_record record;
    record.checkpoint.seq = seq;
    record.checkpoint.mark = {static_cast<fencing_token>(r.getToken()), r.getNumber()};
    record.checkpoint.data = bytes(std::string(data.begin(), data.size()));
    record.at = time_of(r.getAtMs());
    return record;
  });
}

std::string encode(const core::retained_key& record) {
  return build<schema::KeyRecord>(small_words, [&](auto r) {
    r.setSeq(record.seq);
    r.setSince(record.since);
    r.setExpiresAtMs(ms_of(record.expires_at));
  });
}

result<core::retained_key> decode_key(std::string_view value) {
  return parse<schema::KeyRecord>(value, [](auto r) -> result<core::retained_key> {
    return core::retained_key{r.getSeq(), r.getSince(), time_of(r.getExpiresAtMs())};
  });
}

} // namespace codeq::storage
