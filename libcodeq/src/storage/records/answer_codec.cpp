// SPDX-License-Identifier: Apache-2.0
#include "encoding/schema_enums.hpp"
#include "encoding/shared_structs.hpp"
#include "record.capnp.h"
#include "storage/records/record_build.hpp"
#include "storage/records/record_codec.hpp"

/// Records that contain answers to requests: changes and producer sessions.
namespace codeq::storage {

namespace {

/// An answer usually has a single run.
constexpr std::size_t words_per_answer = 6;

template <class Builder>
void write_answer(Builder to, const core::request_answer& answer) {
  encoding::write_runs(to.initTasks(static_cast<unsigned>(answer.tasks.size())), answer.tasks);
  auto kinds = to.initKinds(static_cast<unsigned>(answer.kinds.size()));
  for (std::size_t i = 0; i < answer.kinds.size(); ++i)
    kinds[i] = static_cast<unsigned char>(answer.kinds[i]);
}

template <class Reader>
core::request_answer read_answer(Reader from) {
  core::request_answer answer{encoding::read_runs(from.getTasks())};
  for (auto kind : from.getKinds())
    answer.kinds.push_back(static_cast<enqueue_kind>(kind));
  return answer;
}

} // namespace

std::string encode(const core::tasks_changed& e) {
  auto words = small_words + e.changes.size() * 5 + e.purges.size() * 8 + e.answers.size() * 8;
  return build<schema::ChangeRecord>(words, [&](auto r) {
    r.setPosition(e.position);
    r.setAtMs(ms_of(e.at));
    auto changes = r.initChanges(static_cast<capnp::uint>(e.changes.size()));
    for (capnp::uint i = 0; i < e.changes.size(); ++i) {
      changes[i].setSeq(e.changes[i].seq);
      changes[i].setKind(encoding::to_schema(e.changes[i].kind));
      changes[i].setNotBeforeMs(ms_of(e.changes[i].not_before));
      changes[i].setRetryAtMs(ms_of(e.changes[i].retry_at));
      changes[i].setBodyBytes(e.changes[i].body_bytes);
    }
    auto purges = r.initPurges(static_cast<capnp::uint>(e.purges.size()));
    for (capnp::uint i = 0; i < e.purges.size(); ++i) {
      encoding::write_queue(purges[i].initQueue(), e.purges[i].queue);
      purges[i].setBelow(e.purges[i].below);
    }
    auto answers = r.initAnswers(static_cast<capnp::uint>(e.answers.size()));
    for (capnp::uint i = 0; i < e.answers.size(); ++i) {
      const auto& request = e.answers[i].request;
      encoding::write_producer(answers[i].initProducer(), request.producer);
      answers[i].setNumber(request.number);
      answers[i].setAnsweredBelow(request.answered_below);
      answers[i].setTenant(e.answers[i].tenant);
      write_answer(answers[i], e.answers[i].answer);
    }
  });
}

result<core::tasks_changed> decode_change(std::string_view value) {
  return parse<schema::ChangeRecord>(value, [](auto r) -> result<core::tasks_changed> {
    core::tasks_changed e;
    e.position = r.getPosition();
    e.at = time_of(r.getAtMs());
    for (auto change : r.getChanges())
      e.changes.push_back(
        {change.getSeq(),
         encoding::from_schema<core::change_kind>(change.getKind()),
         time_of(change.getNotBeforeMs()),
         time_of(change.getRetryAtMs()),
         {},
         change.getBodyBytes()});
    for (auto purge : r.getPurges())
      e.purges.push_back({encoding::read_queue(purge.getQueue()), purge.getBelow()});
    for (auto answer : r.getAnswers()) {
      core::request_id request{
        encoding::read_producer(answer.getProducer()),
        answer.getNumber(),
        answer.getAnsweredBelow()};
      e.answers.push_back({request, answer.getTenant(), read_answer(answer)});
    }
    return e;
  });
}

std::string encode(const core::producer_record& session) {
  auto words = small_words + session.answers.size() * words_per_answer;
  return build<schema::ProducerRecord>(words, [&](auto r) {
    r.setAnsweredBelow(session.answered_below);
    r.setLastUsedMs(ms_of(session.last_used));
    r.setTenant(session.tenant);
    auto answers = r.initAnswers(static_cast<capnp::uint>(session.answers.size()));
    for (capnp::uint i = 0; i < session.answers.size(); ++i) {
      answers[i].setNumber(session.answers[i].number);
      write_answer(answers[i], session.answers[i].answer);
    }
  });
}

result<core::producer_record> decode_producer(std::string_view value, const producer_id& producer) {
  return parse<schema::ProducerRecord>(value, [&](auto r) -> result<core::producer_record> {
    core::producer_record session{
      producer, r.getAnsweredBelow(), time_of(r.getLastUsedMs()), {}, r.getTenant()};
    for (auto answer : r.getAnswers())
      session.answers.push_back({answer.getNumber(), read_answer(answer)});
    return session;
  });
}

} // namespace codeq::storage
