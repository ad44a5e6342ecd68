// SPDX-License-Identifier: Apache-2.0
#include "etcd/messages.hpp"

#include "base/assert.hpp"

namespace codeq::etcd {

key_range range_of_prefix(const std::string& prefix) {
  CODEQ_ASSERT(!prefix.empty() && static_cast<unsigned char>(prefix.back()) != 0xFF);
  key_range range{prefix, prefix};
  range.end.back() = static_cast<char>(range.end.back() + 1);
  return range;
}

} // namespace codeq::etcd
