// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event.hpp"
#include "encoding/shared_structs.hpp"

/// How the codecs build and read the answer of a request, which several records have; for them
/// only.
namespace codeq::storage {

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

} // namespace codeq::storage
