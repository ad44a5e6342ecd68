// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/commands/encoded_tasks.hpp"
#include "task.capnp.h"

#include <capnp/message.h>

#include <map>
#include <string>
#include <vector>

namespace codeq::test {

/// Bodies of tasks as producers encode them, with these headers.
inline core::encoded_tasks encode_bodies_with_headers(
  const std::vector<std::map<std::string, std::string>>& tasks) {
  std::string all;
  core::encoded_tasks encoded;
  for (const auto& headers : tasks) {
    capnp::MallocMessageBuilder message(1024);
    auto body = message.initRoot<schema::TaskBody>();
    body.setPayload(capnp::Text::Reader("payload").asBytes());
    if (!headers.empty()) {
      auto list = body.initHeaders(static_cast<capnp::uint>(headers.size()));
      capnp::uint i = 0;
      for (const auto& [name, value] : headers) {
        list[i].setName(name);
        list[i++].setValue(value);
      }
    }
    auto chars = message.getSegmentsForOutput()[0].asChars();
    all.append(chars.begin(), chars.size());
    encoded.sizes.push_back(static_cast<std::uint32_t>(chars.size()));
  }
  encoded.body = bytes(std::move(all));
  return encoded;
}

} // namespace codeq::test
