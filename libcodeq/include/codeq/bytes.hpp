// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace codeq {

/// An immutable slice of shared memory. It is made from a string and read as a `std::string_view`.
/// Copies share the owner and never the bytes; a slice keeps its whole owner alive. Safe to hand
/// between threads.
class bytes {
public:
  bytes() = default;

  /// Takes ownership of a string; the characters are moved, not copied.
  // NOLINTNEXTLINE(google-explicit-constructor)
  bytes(std::string text) {
    if (text.empty())
      return;
    auto owner = std::make_shared<const std::string>(std::move(text));
    view_ = *owner;
    owner_ = std::move(owner);
  }

  /// Copies the characters.
  // NOLINTNEXTLINE(google-explicit-constructor)
  bytes(std::string_view text) : bytes(std::string(text)) {}

  /// Copies the characters up to the first zero.
  // NOLINTNEXTLINE(google-explicit-constructor)
  bytes(const char* text) : bytes(std::string(text)) {}

  bytes(std::nullptr_t) = delete;

  /// A slice of memory that `owner` keeps alive.
  bytes(std::shared_ptr<const void> owner, std::string_view view)
    : owner_(std::move(owner)), view_(view) {}

  /// The characters; valid while a copy of this slice exists.
  [[nodiscard]] std::string_view view() const noexcept { return view_; }

  // NOLINTNEXTLINE(google-explicit-constructor)
  operator std::string_view() const noexcept { return view_; }

  [[nodiscard]] const char* data() const noexcept { return view_.data(); }

  [[nodiscard]] std::size_t size() const noexcept { return view_.size(); }

  [[nodiscard]] bool empty() const noexcept { return view_.empty(); }

  /// The part [offset, offset + length), sharing the owner. @pre it lies within the slice.
  [[nodiscard]] bytes slice(std::size_t offset, std::size_t length) const {
    return {owner_, view_.substr(offset, length)};
  }

  /// Compares the characters, also with strings.
  template <std::convertible_to<std::string_view> Text>
  friend bool operator==(const bytes& a, const Text& b) noexcept {
    return a.view_ == std::string_view(b);
  }

private:
  std::shared_ptr<const void> owner_;
  std::string_view view_;
};

} // namespace codeq
