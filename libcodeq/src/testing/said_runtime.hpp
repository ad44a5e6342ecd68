// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/testing.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace codeq::testing {

/// Records the calls of a handler.
class said_runtime final : public attempt_runtime {
public:
  struct hearer {
    /// Returns the remaining time of the lease.
    std::function<duration()> left;
    /// The runtime of the node, which gets every call, too. Null without a node: then each
    /// checkpoint counts as saved.
    std::shared_ptr<attempt_runtime> line{};
    /// Sends the calls that `line` has gathered. Not empty when there is a `line`.
    std::function<void()> pass_on{};
  };

  explicit said_runtime(hearer by) : by_(std::move(by)) {}

  [[nodiscard]] duration lease_remaining() const override { return by_.left(); }

  void progress(int percent, std::string note) override {
    said_.progress.emplace_back(percent, note);
    if (!by_.line)
      return;
    by_.line->progress(percent, std::move(note));
    by_.pass_on();
  }

  void extend(duration by) override {
    said_.extensions.push_back(by);
    if (!by_.line)
      return;
    by_.line->extend(by);
    by_.pass_on();
  }

  void log(std::string_view line) override { said_.log.emplace_back(line); }

  void save_checkpoint(std::string state, checkpoint_saved then) override {
    said_.checkpoints.push_back(state);
    // The node may answer after this call; the checkpoint then counts as not saved, since the lease
    // has ended.
    auto is_saved = std::make_shared<bool>(!by_.line);
    if (by_.line) {
      by_.line->save_checkpoint(std::move(state), [is_saved](bool saved) { *is_saved = saved; });
      by_.pass_on();
    }
    if (then)
      then(*is_saved);
  }

  [[nodiscard]] const handler_said& said() const noexcept { return said_; }

private:
  hearer by_;
  handler_said said_;
};

} // namespace codeq::testing
