// SPDX-License-Identifier: Apache-2.0
#include "coordinator/shared/enqueue_shares.hpp"

#include <utility>

namespace codeq::coordinator {

struct enqueue_shares::part {
  part(std::shared_ptr<enqueue_shares> from, std::string of, std::uint64_t count)
    : owner(std::move(from)), tenant(std::move(of)), bytes(count) {}

  ~part() { owner->give_back(tenant, bytes); }

  part(const part&) = delete;
  part& operator=(const part&) = delete;

  std::shared_ptr<enqueue_shares> owner;
  std::string tenant;
  std::uint64_t bytes;
};

enqueue_shares::enqueue_shares(std::uint64_t bytes_max, std::shared_ptr<observe::limit_meter> meter)
  : meter_(std::move(meter)), shares_(bytes_max) {
}

result<enqueue_share>
enqueue_shares::take(const std::string& tenant, std::uint64_t bytes, std::uint64_t kept_free) {
  std::uint64_t held = 0;
  std::uint64_t used = 0;
  {
    std::lock_guard guard(mutex_);
    if (shares_.has_room(tenant, bytes + kept_free)) {
      shares_.force(tenant, bytes);
      return make_part(tenant, bytes);
    }
    held = shares_.used_by(tenant);
    used = shares_.used();
  }
  meter_->note({"enqueue_bytes_max", shares_.total(), "tenant", tenant});
  return error{
    errc::overloaded,
    "tenant " + tenant + " has " + std::to_string(held) + " of " + std::to_string(used)
      + " bytes of requests that are not durable yet; all tenants share enqueue_bytes_max="
      + std::to_string(shares_.total())};
}

enqueue_share enqueue_shares::force(const std::string& tenant, std::uint64_t bytes) {
  std::lock_guard guard(mutex_);
  shares_.force(tenant, bytes);
  return make_part(tenant, bytes);
}

enqueue_share enqueue_shares::make_part(const std::string& tenant, std::uint64_t bytes) {
  return std::make_shared<const part>(shared_from_this(), tenant, bytes);
}

void enqueue_shares::give_back(const std::string& tenant, std::uint64_t bytes) {
  std::lock_guard guard(mutex_);
  shares_.give_back(tenant, bytes);
}

std::uint64_t enqueue_shares::used() const {
  std::lock_guard guard(mutex_);
  return shares_.used();
}

} // namespace codeq::coordinator
