// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/errc.hpp"

#include <string>
#include <utility>
#include <variant>

namespace codeq {

/// A refusal: the code is for programs, the context explains in words what happened.
struct error {
  errc code = errc::none;
  std::string context;

  friend bool operator==(const error&, const error&) = default;
};

/// "code: context", for logs and people.
[[nodiscard]] std::string to_string(const error& e);

/// Either a value or an `error`; the shape of C++23's `std::expected`.
template <class T>
class [[nodiscard]] result {
public:
  using value_type = T;

  // NOLINTNEXTLINE(google-explicit-constructor)
  result(T value) : state_(std::in_place_index<0>, std::move(value)) {}

  // NOLINTNEXTLINE(google-explicit-constructor)
  result(codeq::error e) : state_(std::in_place_index<1>, std::move(e)) {}

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }

  explicit operator bool() const noexcept { return has_value(); }

  /// @pre has_value()
  [[nodiscard]] T& value() & { return std::get<0>(state_); }

  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }

  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }

  [[nodiscard]] T& operator*() & { return value(); }

  [[nodiscard]] const T& operator*() const& { return value(); }

  [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }

  [[nodiscard]] T* operator->() { return &value(); }

  [[nodiscard]] const T* operator->() const { return &value(); }

  /// @pre !has_value()
  [[nodiscard]] const codeq::error& error() const { return std::get<1>(state_); }

private:
  std::variant<T, codeq::error> state_;
};

/// Success without a value, or an `error`.
template <>
class [[nodiscard]] result<void> {
public:
  result() = default;

  // NOLINTNEXTLINE(google-explicit-constructor)
  result(codeq::error e) : error_(std::move(e)) {}

  [[nodiscard]] bool has_value() const noexcept { return error_.code == errc::none; }

  explicit operator bool() const noexcept { return has_value(); }

  [[nodiscard]] const codeq::error& error() const { return error_; }

private:
  codeq::error error_;
};

} // namespace codeq
