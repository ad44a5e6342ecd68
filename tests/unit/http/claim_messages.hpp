// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coordinator/session/claim_wire.hpp"
#include "support/task_bodies.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

/// What claims and shards say to each other, for the tests of both parts of a claim.
namespace codeq::test {

inline std::string text_of(const core::claim& step) {
  return "claim " + std::to_string(step.credits);
}

inline std::string text_of(const core::revoke_credits& step) {
  return "revoke " + std::to_string(step.credits);
}

inline std::string text_of(const coordinator::claim_attached&) {
  return "attach";
}

inline std::string text_of(const coordinator::claim_question& step) {
  return "ask " + std::to_string(step.number);
}

inline std::string text_of(const coordinator::claim_received& step) {
  return "received " + std::to_string(step.messages);
}

inline std::string text_of(const coordinator::claim_detached&) {
  return "detach";
}

/// Tasks that a shard has granted, of which it says that no more are ready.
inline coordinator::task_delivery granted_tasks(shard_id from, std::uint32_t count) {
  core::granted_run run;
  run.first = 1;
  run.count = count;
  run.first_token = fencing_token{1};
  run.queue = {"t", "q"};
  run.max_attempts = 3;
  run.lease = duration{1000};
  const std::vector<std::map<std::string, std::string>> headers(count);
  coordinator::task_delivery tasks{from, {}, {encode_bodies_with_headers(headers)}, false};
  tasks.granted.runs.push_back(std::move(run));
  return tasks;
}

} // namespace codeq::test
