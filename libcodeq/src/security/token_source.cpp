// SPDX-License-Identifier: Apache-2.0
#include "security/token_source.hpp"

#include "security/token_file.hpp"

#include <utility>

namespace codeq::security {

result<std::shared_ptr<token_source>> token_source::open(std::filesystem::path file) {
  std::shared_ptr<token_source> source(new token_source(std::move(file)));
  if (auto ok = source->reload(); !ok)
    return ok.error();
  return source;
}

std::shared_ptr<const token_table> token_source::current() const {
  std::lock_guard lock(mutex_);
  return table_;
}

result<void> token_source::reload() {
  auto table = read_token_file(file_);
  if (!table)
    return table.error();
  auto fresh = std::make_shared<const token_table>(std::move(*table));
  std::lock_guard lock(mutex_);
  table_ = std::move(fresh);
  return {};
}

} // namespace codeq::security
