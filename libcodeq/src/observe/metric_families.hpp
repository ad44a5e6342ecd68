// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/coordinator_counts.hpp"

#include <prometheus/metric_family.h>

#include <cstdint>
#include <string>
#include <vector>

namespace codeq::observe {

using metric_labels = std::vector<prometheus::ClientMetric::Label>;

/// The metrics of one output in the Prometheus text format.
class metric_families {
public:
  // Begin a metric; the values that follow belong to it.
  void begin_gauge(const char* name, const char* help);
  void begin_counter(const char* name, const char* help);
  void begin_histogram(const char* name, const char* help);

  void add(double value, metric_labels of = {});
  void add(std::uint64_t value, metric_labels of = {});
  void add(std::int64_t value, metric_labels of = {});

  /// For a histogram, in seconds.
  void add(const base::time_counts& times, metric_labels of = {});

  [[nodiscard]] std::string text() const;

private:
  void begin(const char* name, const char* help, prometheus::MetricType type);
  prometheus::ClientMetric& append(metric_labels of);

  std::vector<prometheus::MetricFamily> all_;
};

} // namespace codeq::observe
