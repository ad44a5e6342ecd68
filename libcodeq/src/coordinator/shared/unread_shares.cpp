// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shared/unread_shares.hpp"

#include <utility>

namespace codeq::coordinator {

namespace {

constexpr std::uint64_t step_bytes = 64u << 10;

} // namespace

unread_shares::unread_shares(std::uint64_t bytes_max, std::shared_ptr<observe::limit_meter> meter)
  : meter_(std::move(meter)), shares_(bytes_max) {
}

result<void>
unread_shares::change(const std::string& tenant, std::uint64_t before, std::uint64_t bytes) {
  std::uint64_t held = 0;
  {
    std::lock_guard guard(mutex_);
    if (bytes <= before) {
      shares_.give_back(tenant, before - bytes);
      return {};
    }
    if (shares_.take(tenant, bytes - before))
      return {};
    held = shares_.used_by(tenant);
  }
  meter_->note({"unread_bytes_max", shares_.total(), "tenant", tenant});
  return error{
    errc::overloaded,
    "the nodes of tenant " + tenant + " have not read " + std::to_string(held)
      + " bytes; all tenants share unread_bytes_max=" + std::to_string(shares_.total())};
}

std::uint64_t unread_shares::used() const {
  std::lock_guard guard(mutex_);
  return shares_.used();
}

unread_part::unread_part(std::shared_ptr<unread_shares> shares, std::string tenant)
  : shares_(std::move(shares)), tenant_(std::move(tenant)) {
}

unread_part::~unread_part() {
  std::ignore = keep(0);
}

result<void> unread_part::keep(std::uint64_t bytes) {
  auto rounded = (bytes + step_bytes - 1) / step_bytes * step_bytes;
  if (rounded == bytes_)
    return {};
  auto changed = shares_->change(tenant_, bytes_, rounded);
  if (changed)
    bytes_ = rounded;
  return changed;
}

} // namespace codeq::coordinator
