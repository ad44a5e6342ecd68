// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace codeq::coordinator {

/// A costly question that many may ask. It is open once at a time, and whoever asks meanwhile
/// shares the next answer, which is never older than the question. Used from one thread.
template <class T>
class shared_question {
public:
  using done_function = std::function<void(const T&)>;

  /// `ask` asks the question and calls its argument once, later.
  void connect(std::function<void(done_function)> ask) { ask_ = std::move(ask); }

  void ask(done_function done) {
    waiting_.push_back(std::move(done));
    if (!is_open_)
      start();
  }

private:
  void start() {
    is_open_ = true;
    ask_([this, asked = std::exchange(waiting_, {})](const T& answer) {
      for (const auto& done : asked)
        done(answer);
      is_open_ = false;
      if (!waiting_.empty())
        start();
    });
  }

  std::function<void(done_function)> ask_;
  std::vector<done_function> waiting_;
  bool is_open_ = false;
};

} // namespace codeq::coordinator
