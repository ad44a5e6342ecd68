// SPDX-License-Identifier: Apache-2.0
#include "backlog/claim_rounds.hpp"

#include "backlog/taker.hpp"

#include <algorithm>
#include <vector>

namespace codeq::bench {

namespace {

struct claim_round {
  claim_figures empty;
  claim_figures full;
};

result<claim_figures> time_claims(cluster& from, const backlog_options& options) {
  auto before = from.coordinator().cpu_time();
  if (!before)
    return before.error();
  auto worker = taker::start(from.address(), options, taker::answer::completed);
  if (!worker)
    return worker.error();
  if (auto done = (*worker)->wait_for(options.claims); !done)
    return done.error();
  auto after = from.coordinator().cpu_time();
  if (!after)
    return after.error();
  auto claims = static_cast<double>(options.claims);
  return claim_figures{
    claims / (*worker)->seconds(),
    std::chrono::duration<double, std::micro>(*after - *before).count() / claims};
}

result<claim_round>
run_round(filled_cluster& empty, filled_cluster& full, const backlog_options& options) {
  auto fresh = options.claims + options.spare();
  if (auto ok = empty.filler().fill(fresh, false); !ok)
    return ok.error();
  if (options.state == "retrying")
    if (auto ok = full.filler().fill(fresh, false); !ok)
      return ok.error();
  if (!pause(options.settle))
    return error{errc::going_away, "interrupted"};
  auto from_empty = time_claims(empty.running(), options);
  if (!from_empty)
    return from_empty.error();
  auto from_full = time_claims(full.running(), options);
  if (!from_full)
    return from_full.error();
  return claim_round{*from_empty, *from_full};
}

template <class Figure>
double median_of(const std::vector<claim_round>& rounds, Figure figure) {
  std::vector<double> values;
  for (const auto& round : rounds)
    values.push_back(figure(round));
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

} // namespace

result<claim_comparison> compare_claims(filled_cluster& full, const backlog_options& options) {
  auto empty = filled_cluster::start(options);
  if (!empty)
    return empty.error();
  std::vector<claim_round> rounds;
  while (rounds.size() < options.rounds) {
    auto round = run_round(**empty, full, options);
    if (!round)
      return round.error();
    rounds.push_back(*round);
  }
  using round = const claim_round&;
  claim_comparison c;
  c.empty.per_second = median_of(rounds, [](round r) { return r.empty.per_second; });
  c.empty.cpu_us = median_of(rounds, [](round r) { return r.empty.cpu_us; });
  c.full.per_second = median_of(rounds, [](round r) { return r.full.per_second; });
  c.full.cpu_us = median_of(rounds, [](round r) { return r.full.cpu_us; });
  c.ratio = median_of(rounds, [](round r) { return r.full.per_second / r.empty.per_second; });
  return c;
}

} // namespace codeq::bench
