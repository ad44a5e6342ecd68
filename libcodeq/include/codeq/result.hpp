// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/errc.hpp"

#include <stdexcept>
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

/// Thrown when a `result` is asked for the value that it does not have. Its text is that of the
/// error.
class bad_result_access : public std::logic_error {
public:
  explicit bad_result_access(codeq::error refused)
      : std::logic_error(to_string(refused)), error_(std::move(refused)) {}

  [[nodiscard]] const codeq::error& error() const noexcept { return error_; }

private:
  codeq::error error_;
};

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

  /// @throws bad_result_access when there is an error; so do `*` and `->`
  [[nodiscard]] T& value() & {
    require_value();
    return *std::get_if<0>(&state_);
  }

  [[nodiscard]] const T& value() const& {
    require_value();
    return *std::get_if<0>(&state_);
  }

  [[nodiscard]] T&& value() && {
    require_value();
    return std::move(*std::get_if<0>(&state_));
  }

  /// The value, or `other` when there is an error.
  template <class U>
  [[nodiscard]] T value_or(U&& other) const& {
    return has_value() ? value() : static_cast<T>(std::forward<U>(other));
  }

  template <class U>
  [[nodiscard]] T value_or(U&& other) && {
    return has_value() ? std::move(*this).value() : static_cast<T>(std::forward<U>(other));
  }

  [[nodiscard]] T& operator*() & { return value(); }

  [[nodiscard]] const T& operator*() const& { return value(); }

  [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }

  [[nodiscard]] T* operator->() { return &value(); }

  [[nodiscard]] const T* operator->() const { return &value(); }

  /// @throws std::logic_error when there is a value
  [[nodiscard]] const codeq::error& error() const {
    if (has_value())
      throw std::logic_error("this codeq::result has a value and no error");
    return *std::get_if<1>(&state_);
  }

private:
  void require_value() const {
    if (const auto* refused = std::get_if<1>(&state_))
      throw bad_result_access(*refused);
  }

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

  /// @throws bad_result_access when there is an error
  void value() const {
    if (!has_value())
      throw bad_result_access(error_);
  }

  [[nodiscard]] const codeq::error& error() const { return error_; }

private:
  codeq::error error_;
};

} // namespace codeq
