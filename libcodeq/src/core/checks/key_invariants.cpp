// SPDX-License-Identifier: Apache-2.0
#include "core/checks/key_invariants.hpp"

#include "core/state/task_keys.hpp"

#include <algorithm>
#include <map>
#include <ostream>
#include <sstream>

namespace codeq::core {

namespace {

std::string text_of(const task_key& name) {
  return name.queue.tenant + '/' + name.queue.queue + " group '" + name.group + "' key '" + name.key
         + '\'';
}

void check_holder(const shard_state& state, const segment& s, std::vector<std::string>& found) {
  auto holders = holders_of(state, key_of(s));
  if (std::count(holders.begin(), holders.end(), key_holder{s.key->since, s.first}) != 1)
    found.push_back("I8: " + to_string(state.id_of(s.first)) + " is not in the index of keys");
  auto shared = state.keys.shared.find(make_key_id(key_of(s)));
  bool is_shared = shared != state.keys.shared.end();
  bool is_same =
    is_shared
    && std::equal(shared->second.begin(), shared->second.end(), holders.begin(), holders.end());
  if (holders.size() > 1 ? !is_same : is_shared)
    found.push_back("I8: " + to_string(state.id_of(s.first)) + " shares its key wrongly");
  if (!s.aside || s.count != 1)
    found.push_back("I8: " + to_string(state.id_of(s.first)) + " has a key but is no aside");
}

/// A task with a key, as one of the key's holders. @pre the segment has a key
std::string text_of(const segment& s) {
  std::ostringstream out;
  out << ' ' << s.key->since << ':' << s.first << " until "
      << s.not_before.time_since_epoch().count() << (s.allow_promotion ? " open" : " guarded")
      << " bytes " << s.body_bytes << (s.replaced ? " replaced" : "");
  return out.str();
}

} // namespace

void find_key_violations(const shard_state& state, std::vector<std::string>& found) {
  std::map<task_key, std::size_t> live;
  std::size_t holders = 0;
  state.segments.for_each([&](const segment& s) {
    // A purged task has released its key before its segment closes.
    if (!s.key || s.view(s.first).gone)
      return;
    ++holders;
    check_holder(state, s, found);
    if (is_terminal(s.view(s.first).state))
      return;
    auto name = name_of(state, key_of(s));
    if (++live[name] > 1)
      found.push_back("I10: " + text_of(name) + " has two live tasks");
    auto owner = owner_of(state, s, state.at);
    if (!owner || owner->seq != s.first)
      found.push_back("I10: " + to_string(state.id_of(s.first)) + " is live without its key");
  });
  if (state.keys.holders.size() != holders)
    found.push_back("I8: the index of keys has tasks that are gone");
}

void write_keys(std::ostream& out, const shard_state& state) {
  std::map<task_key, std::map<key_holder, std::string>> holders;
  state.segments.for_each([&](const segment& s) {
    if (s.key && !s.view(s.first).gone)
      holders[name_of(state, key_of(s))].emplace(key_holder{s.key->since, s.first}, text_of(s));
  });
  for (const auto& [name, of_key] : holders) {
    out << text_of(name) << " held by";
    for (const auto& [holder, text] : of_key)
      out << text;
    out << '\n';
  }
  std::map<task_key, retained_key> closed;
  for (const auto& [id, record] : state.keys.retained) {
    auto name = name_of(state, parts_of(id));
    if (is_retained(state, name))
      closed.emplace(std::move(name), record);
  }
  for (const auto& [name, record] : closed)
    out << text_of(name) << " was of " << record.since << ':' << record.seq << " until "
        << record.expires_at.time_since_epoch().count() << '\n';
}

} // namespace codeq::core
