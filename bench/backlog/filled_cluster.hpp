// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/producer.hpp"

#include "backlog/filler.hpp"
#include "load/cluster.hpp"

#include <memory>
#include <utility>

namespace codeq::bench {

/// A coordinator without workers, and the producer that fills its queues.
class filled_cluster {
public:
  /// The options must outlive it. Errors: as `cluster::start` and `producer::connect`.
  [[nodiscard]] static result<std::unique_ptr<filled_cluster>>
  start(const backlog_options& options);

  /// Destroys the producer before the filler, which receives the producer's answers.
  ~filled_cluster() { producer_.reset(); }

  filled_cluster(const filled_cluster&) = delete;
  filled_cluster& operator=(const filled_cluster&) = delete;

  [[nodiscard]] cluster& running() noexcept { return running_; }

  [[nodiscard]] child_process& coordinator() noexcept { return running_.coordinator(); }

  [[nodiscard]] bench::filler& filler() noexcept { return filler_; }

private:
  filled_cluster(
    cluster running, std::unique_ptr<producer> connected, const backlog_options& options)
    : running_(std::move(running)), producer_(std::move(connected)), filler_(*producer_, options) {}

  cluster running_;
  std::unique_ptr<producer> producer_;
  bench::filler filler_;
};

} // namespace codeq::bench
