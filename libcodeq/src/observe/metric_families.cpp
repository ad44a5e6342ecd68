// SPDX-License-Identifier: Apache-2.0
#include "observe/metric_families.hpp"

#include <utility>

#include <prometheus/text_serializer.h>

namespace codeq::observe {

namespace {

using prometheus::MetricType;

constexpr double milliseconds_per_second = 1000;

} // namespace

void metric_families::begin_gauge(const char* name, const char* help) {
  begin(name, help, MetricType::Gauge);
}

void metric_families::begin_counter(const char* name, const char* help) {
  begin(name, help, MetricType::Counter);
}

void metric_families::begin_histogram(const char* name, const char* help) {
  begin(name, help, MetricType::Histogram);
}

void metric_families::begin(const char* name, const char* help, MetricType type) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  all_.push_back(std::move(family));
}

void metric_families::add(double value, metric_labels of) {
  auto& metric = append(std::move(of));
  if (all_.back().type == MetricType::Counter)
    metric.counter.value = value;
  else
    metric.gauge.value = value;
}

void metric_families::add(std::uint64_t value, metric_labels of) {
  add(static_cast<double>(value), std::move(of));
}

void metric_families::add(std::int64_t value, metric_labels of) {
  add(static_cast<double>(value), std::move(of));
}

void metric_families::add(const base::time_counts& times, metric_labels of) {
  auto& histogram = append(std::move(of)).histogram;
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < times.bounds_ms.size(); ++i) {
    below += times.counts[i];
    histogram.bucket.push_back(
      {below, static_cast<double>(times.bounds_ms[i]) / milliseconds_per_second});
  }
  histogram.sample_count = below + times.counts.back();
  histogram.sample_sum = static_cast<double>(times.sum_ms) / milliseconds_per_second;
}

std::string metric_families::text() const {
  return prometheus::TextSerializer().Serialize(all_);
}

prometheus::ClientMetric& metric_families::append(metric_labels of) {
  auto& metric = all_.back().metric.emplace_back();
  metric.label = std::move(of);
  return metric;
}

} // namespace codeq::observe
