// SPDX-License-Identifier: Apache-2.0
#include "codeq/testing.hpp"

#include <ostream>
#include <string_view>

namespace codeq {

namespace {

std::string_view name_of(disposition what) {
  switch (what) {
  case disposition::completed:
    return "completed";
  case disposition::failed:
    return "failed";
  case disposition::failed_permanently:
    return "failed_permanently";
  case disposition::nack:
    return "nack";
  case disposition::abandon:
    return "abandon";
  case disposition::cancelled:
    return "cancelled";
  case disposition::limited:
    return "limited";
  }
  return "unknown";
}

} // namespace

std::ostream& operator<<(std::ostream& out, task_state state) {
  return out << to_string(state);
}

std::ostream& operator<<(std::ostream& out, enqueue_kind kind) {
  return out << to_string(kind);
}

std::ostream& operator<<(std::ostream& out, disposition what) {
  return out << name_of(what);
}

std::ostream& operator<<(std::ostream& out, const task_id& id) {
  return out << to_string(id);
}

} // namespace codeq
