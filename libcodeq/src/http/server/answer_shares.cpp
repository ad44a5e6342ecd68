// SPDX-License-Identifier: Apache-2.0
#include "http/server/answer_shares.hpp"

#include <utility>

namespace codeq::http {

answer_bytes::answer_bytes(
  std::shared_ptr<answer_shares> from, std::string_view kind, std::string owner)
  : from_(std::move(from)), kind_(kind), owner_(std::move(owner)) {
}

answer_bytes::~answer_bytes() {
  force(0);
}

result<void> answer_bytes::resize(std::uint64_t bytes) {
  return from_->resize(*this, bytes);
}

void answer_bytes::force(std::uint64_t bytes) {
  from_->force(*this, bytes);
}

std::uint64_t answer_bytes::size() const {
  return from_->size_of(*this);
}

answer_shares::answer_shares(std::uint64_t bytes_max, std::shared_ptr<observe::limit_meter> meter)
  : meter_(std::move(meter)), shares_(bytes_max) {
}

answer_share answer_shares::open(std::string_view kind, std::string owner) {
  return std::make_shared<answer_bytes>(shared_from_this(), kind, std::move(owner));
}

std::uint64_t answer_shares::used_by(const std::string& owner) const {
  std::lock_guard guard(mutex_);
  return shares_.used_by(owner);
}

bool answer_shares::has_room(const std::string& owner, std::uint64_t bytes) const {
  std::lock_guard guard(mutex_);
  return shares_.has_room(owner, bytes);
}

result<void> answer_shares::resize(answer_bytes& share, std::uint64_t bytes) {
  std::uint64_t held = 0;
  std::uint64_t more = 0;
  {
    std::lock_guard guard(mutex_);
    more = bytes > share.size_ ? bytes - share.size_ : 0;
    if (more == 0 || shares_.take(share.owner_, more)) {
      shares_.give_back(share.owner_, share.size_ + more - bytes);
      share.size_ = bytes;
      return {};
    }
    held = shares_.used_by(share.owner_);
  }
  meter_->note({"http_answers_bytes_max", shares_.total(), share.kind_, share.owner_});
  return error{
    errc::overloaded,
    std::string(share.kind_) + " " + share.owner_ + " has " + std::to_string(held)
      + " bytes of responses at once and needs " + std::to_string(more)
      + " more; all share http_answers_bytes_max=" + std::to_string(shares_.total())};
}

void answer_shares::force(answer_bytes& share, std::uint64_t bytes) {
  std::lock_guard guard(mutex_);
  if (bytes > share.size_)
    shares_.force(share.owner_, bytes - share.size_);
  else
    shares_.give_back(share.owner_, share.size_ - bytes);
  share.size_ = bytes;
}

std::uint64_t answer_shares::size_of(const answer_bytes& share) const {
  std::lock_guard guard(mutex_);
  return share.size_;
}

} // namespace codeq::http
