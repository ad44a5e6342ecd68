// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "etcd/engine.hpp"
#include "etcd/watch_plan.hpp"

#include <functional>
#include <memory>
#include <string>

namespace codeq::etcd {

/// What the owner of a watch is told. Functions are called on the client's thread.
struct watch_options {
  key_range what;
  /// Changes; some may be told late, twice, or never.
  std::function<void(const watch_line&)> changed;
  /// Changes may be missing, so the range has to be polled. Also called when the watch has begun.
  std::function<void()> missed;
  /// The connection was lost; the watch goes on by itself. The words are for an operator.
  std::function<void(const std::string&)> cut;
};

/// Follows a watch over cuts, as `watch_plan` says. Used on the thread of its engine.
class watcher {
public:
  watcher(engine& engine, watch_options options);
  ~watcher();
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;

  void start();

  /// A poll has found a change of this revision.
  void note_poll(std::uint64_t modified);

private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

} // namespace codeq::etcd
