// SPDX-License-Identifier: Apache-2.0
#include "protocol/task_header.hpp"

#include "codeq/result.hpp"

#include "protocol/frame.hpp"
#include "task.capnp.h"

#include <utility>

namespace codeq::protocol {

std::string header_of(const bytes& body, std::string_view name) {
  auto parsed = frame<schema::TaskBody>::parse(body);
  if (!parsed)
    return {};
  auto value = parsed->read([&](auto task) -> result<std::string> {
    for (auto header : task.getHeaders())
      if (std::string_view(header.getName().cStr(), header.getName().size()) == name)
        return std::string(header.getValue().cStr(), header.getValue().size());
    return std::string();
  });
  return value ? std::move(*value) : std::string();
}

} // namespace codeq::protocol
