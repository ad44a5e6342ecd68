// SPDX-License-Identifier: Apache-2.0
#include "etcd/history.hpp"

#include <algorithm>

namespace codeq::etcd {

history::verdict history::note(
  std::size_t member, const header& answer, bool is_decision, std::uint64_t at_sending) {
  told_[member] = answer.cluster_id;
  if (known_.cluster_id == 0 && 2 * members_of(answer.cluster_id) >= told_.size())
    known_.cluster_id = answer.cluster_id;
  if (answer.cluster_id != known_.cluster_id)
    return replaced_because().empty() ? verdict::foreign : verdict::replaced;
  if (is_decision && answer.revision < at_sending)
    forgotten_because_ = "etcd is at revision " + std::to_string(answer.revision) + ", but was at "
                         + std::to_string(at_sending) + " before";
  if (!replaced_because().empty())
    return verdict::replaced;
  if (answer.revision < at_sending)
    return verdict::stale;
  known_.revision = std::max(known_.revision, answer.revision);
  return verdict::fits;
}

history::news history::take_news(std::size_t member) {
  // Until it is known which cluster is etcd's, no member is known to be of another one.
  if (known_.cluster_id == 0 || !replaced_because().empty())
    return news::none;
  const auto is_foreign = told_[member] != 0 && told_[member] != known_.cluster_id;
  if (is_foreign == is_noted_foreign_[member])
    return news::none;
  is_noted_foreign_[member] = is_foreign;
  return is_foreign ? news::foreign : news::own;
}

std::string history::foreign_words(std::size_t member) const {
  const auto told = "it has cluster id " + std::to_string(told_[member]);
  if (known_.cluster_id == 0)
    return told + ", and fewer than half of the members have told the same";
  return told + ", but " + std::to_string(known_.cluster_id) + " is known";
}

std::string history::replaced_because() const {
  if (!forgotten_because_.empty() || known_.cluster_id == 0)
    return forgotten_because_;
  for (const auto id : told_)
    if (id != 0 && id != known_.cluster_id && 2 * foreign_members() > told_.size())
      return "etcd has cluster id " + std::to_string(id) + ", but "
             + std::to_string(known_.cluster_id) + " is known";
  return {};
}

std::size_t history::members_of(std::uint64_t cluster_id) const {
  return static_cast<std::size_t>(std::count(told_.begin(), told_.end(), cluster_id));
}

std::size_t history::foreign_members() const {
  return told_.size() - members_of(0) - members_of(known_.cluster_id);
}

} // namespace codeq::etcd
