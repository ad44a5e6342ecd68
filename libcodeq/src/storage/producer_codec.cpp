// SPDX-License-Identifier: Apache-2.0
#include "record.capnp.h"
#include "storage/answer_build.hpp"
#include "storage/record_build.hpp"
#include "storage/record_codec.hpp"

namespace codeq::storage {

namespace {

/// An answer is mostly one run.
constexpr std::size_t words_per_answer = 6;

} // namespace

std::string encode(const core::producer_record& session) {
  auto words = small_words + session.answers.size() * words_per_answer;
  return build<schema::ProducerRecord>(words, [&](auto r) {
    r.setAnsweredBelow(session.answered_below);
    r.setLastUsedMs(ms_of(session.last_used));
    auto answers = r.initAnswers(static_cast<capnp::uint>(session.answers.size()));
    for (capnp::uint i = 0; i < session.answers.size(); ++i) {
      answers[i].setNumber(session.answers[i].number);
      write_answer(answers[i], session.answers[i].answer);
    }
  });
}

result<core::producer_record> decode_producer(std::string_view value, const producer_id& producer) {
  return parse<schema::ProducerRecord>(value, [&](auto r) -> result<core::producer_record> {
    core::producer_record session{producer, r.getAnsweredBelow(), time_of(r.getLastUsedMs()), {}};
    for (auto answer : r.getAnswers())
      session.answers.push_back({answer.getNumber(), read_answer(answer)});
    return session;
  });
}

} // namespace codeq::storage
