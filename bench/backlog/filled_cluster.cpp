// SPDX-License-Identifier: Apache-2.0
#include "backlog/filled_cluster.hpp"

namespace codeq::bench {

result<std::unique_ptr<filled_cluster>> filled_cluster::start(const backlog_options& options) {
  auto started = cluster::start(options.cluster);
  if (!started)
    return started.error();
  auto connected = producer::connect({.coordinators = {started->address()}, .name = "filler"});
  if (!connected)
    return connected.error();
  return std::unique_ptr<filled_cluster>(
    new filled_cluster(std::move(*started), std::move(*connected), options));
}

} // namespace codeq::bench
