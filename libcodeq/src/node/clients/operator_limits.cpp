// SPDX-License-Identifier: Apache-2.0
#include "client/limit_questions.hpp"
#include "node/clients/operator_impl.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

/// The requests about limits.
namespace codeq {

template <class Of>
result<client::told_parts<client::limits_part>>
operator_client::impl::ask_limit_parts(shard_request what, Of of) {
  return ask_shards<client::limits_part>(what, [&](std::uint16_t shard, duration most) {
    return client::or_absent(ask_for(most, of(shard), client::read_limits));
  });
}

template <class Of>
result<limit_info>
operator_client::impl::ask_limit(shard_request what, const limit_address& limit, Of of) {
  auto parts = ask_limit_parts(what, of);
  if (!parts)
    return parts.error();
  return client::without(parts->missing, client::merge_limit(limit, parts->parts));
}

result<client::limits_part> operator_client::impl::ask_owner(
  const limit_address& limit, const std::string& key) {
  // Shards without a primary must not take the time of the answer.
  constexpr duration wait_max{500};
  const auto shard = client::shard_of_key(limit, key, shard_count());
  return ask_for(
    std::min(options.timeout, wait_max),
    client::ask_limit_key(shard, limit, key),
    client::read_limits);
}

result<limit_key_info> operator_client::impl::with_waiting(
  const limit_address& limit, result<limit_key_info> owned) {
  if (!owned)
    return owned;
  // The change is made: shards without a primary must not take the time of its answer.
  constexpr duration wait_max{500};
  const auto owner = client::shard_of_key(limit, owned->key, shard_count());
  for (std::uint16_t shard = 0; shard < shard_count(); ++shard) {
    if (shard == owner)
      continue;
    const auto most = owned->missing.empty() ? wait_max : wait_max / 10;
    const auto part = client::or_absent(ask_for(
      std::min(options.timeout, most),
      client::ask_limit_key(shard, limit, owned->key),
      client::read_limits));
    if (part)
      client::add_waiting(*owned, *part);
    else
      owned->missing.push_back(shard_id{shard});
  }
  return owned;
}

void operator_client::impl::add_owned(task_explanation& to) {
  const auto part = ask_owner({to.task.tenant, to.limit}, to.limit_key);
  if (part)
    client::add_owned(to, *part, to_timestamp(std::chrono::system_clock::now()));
}

void operator_client::impl::add_owned(queue_explanation& to) {
  for (auto& wait : to.keys) {
    const limit_address limit{to.queue.tenant, wait.limit};
    if (!client::has_told(to, client::shard_of_key(limit, wait.at.key, shard_count())))
      continue;
    if (const auto part = ask_owner(limit, wait.at.key))
      client::add_owned(wait.at, *part);
  }
}

result<limit_info>
operator_client::set_limit(const limit_address& limit, const limit_definition& definition) {
  auto whole = node::new_operation();
  return impl_->ask_limit(impl::shard_request::change, limit, [&](std::uint16_t shard) {
    return client::ask_set_limit(shard, {limit, definition, false}, whole);
  });
}

result<limit_info>
operator_client::preview_limit(const limit_address& limit, const limit_definition& definition) {
  client::limit_change change{limit, definition, true};
  auto parts =
    impl_->ask_limit_parts(impl::shard_request::read_settings, [&](std::uint16_t shard) {
      return client::ask_set_limit(shard, change);
    });
  if (!parts)
    return parts.error();
  return client::without(parts->missing, client::merge_preview(change, parts->parts));
}

result<limit_info> operator_client::show_limit(const limit_address& limit) {
  return impl_->ask_limit(impl::shard_request::read_settings, limit, [&](std::uint16_t shard) {
    return client::ask_limit(shard, limit);
  });
}

result<limit_info> operator_client::delete_limit(const limit_address& limit) {
  // The refusal of the deletion itself tells whose token it takes, instead of who may look.
  const auto before = show_limit(limit);
  if (!before && before.error().code != errc::unauthorized)
    return client::before_change(before.error());
  auto whole = node::new_operation();
  auto deleted =
    impl_->ask_limit(impl::shard_request::change, limit, [&](std::uint16_t shard) {
      return client::ask_delete_limit(shard, limit, whole);
    });
  if (deleted && before)
    client::count_before(*deleted, *before);
  return deleted;
}

result<limit_list> operator_client::list_limits(const std::string& tenant) {
  auto parts = impl_->ask_limit_parts(impl::shard_request::read, [&](std::uint16_t shard) {
    return client::ask_limits(shard, tenant);
  });
  if (!parts)
    return parts.error();
  return client::merge_limits(tenant, *parts);
}

result<limit_keys_page>
operator_client::limit_keys(const limit_address& limit, const limit_keys_request& page) {
  if (page.limit < 1 || page.limit > limits::limits_page_max)
    return node::out_of_range("limit", page.limit, 1, limits::limits_page_max);
  // A shard without the limit has no keys, and a limit that no shard has is an error.
  auto known = impl_->ask_limit_parts(impl::shard_request::read, [&](std::uint16_t shard) {
    return client::ask_limit(shard, limit);
  });
  auto exists = known ? client::check_exists(limit, *known) : result<void>(known.error());
  if (!exists)
    return exists.error();
  auto parts = impl_->ask_limit_parts(impl::shard_request::read, [&](std::uint16_t shard) {
    return client::ask_limit_keys(shard, limit, page);
  });
  if (!parts)
    return parts.error();
  return client::merge_limit_keys(limit, std::move(*parts), page.limit);
}

result<limit_key_info> operator_client::close_limit_key(
  const limit_address& limit, const std::string& key, duration how_long) {
  auto shard = client::shard_of_key(limit, key, impl_->shard_count());
  return impl_->with_waiting(
    limit,
    client::only_key(
      impl_->ask(client::ask_close_key(shard, limit, key, how_long), client::read_limits)));
}

result<limit_key_info>
operator_client::open_limit_key(const limit_address& limit, const std::string& key) {
  auto shard = client::shard_of_key(limit, key, impl_->shard_count());
  return impl_->with_waiting(
    limit,
    client::only_key(
      impl_->ask(client::ask_open_key(shard, limit, key), client::read_limits)));
}

} // namespace codeq
