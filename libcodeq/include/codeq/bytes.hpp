// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace codeq {

/// An immutable slice of shared memory. Copies share the owner and never the bytes; a slice keeps
/// its whole owner alive. Safe to hand between threads.
class bytes {
public:
  bytes() = default;

  /// A slice of memory that `owner` keeps alive.
  bytes(std::shared_ptr<const void> owner, std::string_view view)
    : owner_(std::move(owner)), view_(view) {}

  /// Takes ownership of a string with one allocation; the characters are moved, not copied.
  [[nodiscard]] static bytes from(std::string text) {
    auto owner = std::make_shared<const std::string>(std::move(text));
    std::string_view view = *owner;
    return {std::move(owner), view};
  }

  [[nodiscard]] std::string_view view() const noexcept { return view_; }

  [[nodiscard]] const char* data() const noexcept { return view_.data(); }

  [[nodiscard]] std::size_t size() const noexcept { return view_.size(); }

  [[nodiscard]] bool empty() const noexcept { return view_.empty(); }

  /// The part [offset, offset + length), sharing the owner. @pre it lies within the slice.
  [[nodiscard]] bytes slice(std::size_t offset, std::size_t length) const {
    return {owner_, view_.substr(offset, length)};
  }

  friend bool operator==(const bytes& a, const bytes& b) noexcept { return a.view_ == b.view_; }

private:
  std::shared_ptr<const void> owner_;
  std::string_view view_;
};

} // namespace codeq
