// SPDX-License-Identifier: Apache-2.0
#include "storage/keys/keyspace.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace codeq::storage {

using detail::decode_numbered;
using detail::encode_numbered;

namespace {

constexpr std::string_view store_name = "store";
constexpr std::string_view boot_name = "boot";
constexpr std::size_t shard_bytes = sizeof(std::uint16_t);
constexpr std::size_t number_bytes = sizeof(std::uint64_t);
static_assert(key_prefix_bytes == 1 + shard_bytes);

/// The kinds of a shard's records that are the same on all its replicas.
constexpr std::array data_tags{
  key_tag::aside,
  key_tag::block,
  key_tag::shard,
  key_tag::copied_fate,
  key_tag::change,
  key_tag::fate,
  key_tag::grant,
  key_tag::history,
  key_tag::schedule,
  key_tag::schedule_progress,
  key_tag::occurrence,
  key_tag::limit,
  key_tag::limit_key,
  key_tag::permit,
  key_tag::audit,
  key_tag::key,
  key_tag::totals,
  key_tag::producer,
  key_tag::queue,
  key_tag::body,
  key_tag::outcome,
  key_tag::segment,
  key_tag::follow_up,
  key_tag::checkpoint,
  key_tag::headers,
  key_tag::dead,
};

/// The records of a replica. Stored on disk, never renumber.
enum class replica_part : std::uint8_t { replica = 0, position = 1, epoch_start = 2 };

template <class Integer>
void append_big_endian(std::string& out, Integer number) {
  for (auto shift = std::numeric_limits<Integer>::digits; shift > 0;) {
    shift -= 8;
    out.push_back(static_cast<char>(number >> shift & 0xff));
  }
}

template <class Integer>
Integer read_big_endian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (char byte : bytes.substr(0, sizeof(Integer)))
    number = number << 8 | static_cast<unsigned char>(byte);
  return static_cast<Integer>(number);
}

std::string encode_prefix(key_tag kind, shard_id shard) {
  std::string key;
  key.reserve(key_prefix_bytes + number_bytes);
  key.push_back(static_cast<char>(kind));
  append_big_endian(key, value(shard));
  return key;
}

std::string encode_part(shard_id shard, replica_part part) {
  auto key = encode_prefix(key_tag::replica, shard);
  append_big_endian(key, static_cast<std::uint8_t>(part));
  return key;
}

/// The shard of a replica's record; empty when it is another part or size.
std::optional<shard_id>
decode_part(std::string_view bytes, replica_part part, std::size_t more_bytes = 0) {
  bool fits = bytes.size() == key_prefix_bytes + 1 + more_bytes
              && bytes.front() == static_cast<char>(key_tag::replica)
              && bytes[key_prefix_bytes] == static_cast<char>(part);
  if (!fits)
    return std::nullopt;
  return shard_id{read_big_endian<std::uint16_t>(bytes.substr(1))};
}

/// The smallest key greater than all keys of `kind` and `shard`.
std::string end_of(key_tag kind, shard_id shard) {
  if (value(shard) == std::numeric_limits<std::uint16_t>::max())
    return std::string(1, static_cast<char>(static_cast<char>(kind) + 1));
  return encode_prefix(kind, shard_id{static_cast<std::uint16_t>(value(shard) + 1)});
}

key_range range_of(key_tag kind, shard_id shard, std::uint64_t from = 0) {
  return {encode_numbered(kind, shard, from), end_of(kind, shard)};
}

key_range range_of(key_tag kind) {
  auto first = static_cast<char>(kind);
  return {std::string(1, first), std::string(1, static_cast<char>(first + 1))};
}

key_range range_up_to(key_tag kind, shard_id shard, std::uint64_t last) {
  // The successor of a string is the string with a zero byte appended.
  return {encode_numbered(kind, shard, 0), encode_numbered(kind, shard, last) + '\0'};
}

void append_text(std::string& out, std::string_view text) {
  append_big_endian(out, static_cast<std::uint16_t>(text.size()));
  out.append(text);
}

/// Takes a text and its length from the front of `bytes`; empty when they are too short.
std::optional<std::string> take_text(std::string_view& bytes) {
  if (bytes.size() < sizeof(std::uint16_t))
    return std::nullopt;
  auto size = read_big_endian<std::uint16_t>(bytes);
  bytes.remove_prefix(sizeof(std::uint16_t));
  if (bytes.size() < size)
    return std::nullopt;
  std::string text(bytes.substr(0, size));
  bytes.remove_prefix(size);
  return text;
}

} // namespace

std::string detail::encode_numbered(key_tag kind, shard_id shard, std::uint64_t number) {
  auto key = encode_prefix(kind, shard);
  append_big_endian(key, number);
  return key;
}

std::optional<std::pair<shard_id, std::uint64_t>>
detail::decode_numbered(key_tag kind, std::string_view bytes) {
  if (bytes.size() != key_prefix_bytes + number_bytes || bytes.front() != static_cast<char>(kind))
    return std::nullopt;
  return std::pair{
    shard_id{read_big_endian<std::uint16_t>(bytes.substr(1))},
    read_big_endian<std::uint64_t>(bytes.substr(key_prefix_bytes))};
}

std::string store_key::encode() const {
  return static_cast<char>(key_tag::store) + std::string(store_name);
}

std::optional<store_key> store_key::decode(std::string_view bytes) {
  if (bytes != store_key{}.encode())
    return std::nullopt;
  return store_key{};
}

std::string boot_key::encode() const {
  return static_cast<char>(key_tag::store) + std::string(boot_name);
}

std::optional<boot_key> boot_key::decode(std::string_view bytes) {
  if (bytes != boot_key{}.encode())
    return std::nullopt;
  return boot_key{};
}

std::string replica_key::encode() const {
  return encode_part(shard, replica_part::replica);
}

std::optional<replica_key> replica_key::decode(std::string_view bytes) {
  auto found = decode_part(bytes, replica_part::replica);
  return found ? std::optional{replica_key{*found}} : std::nullopt;
}

std::string replica_position_key::encode() const {
  return encode_part(shard, replica_part::position);
}

std::optional<replica_position_key> replica_position_key::decode(std::string_view bytes) {
  auto found = decode_part(bytes, replica_part::position);
  return found ? std::optional{replica_position_key{*found}} : std::nullopt;
}

std::string epoch_start_key::encode() const {
  auto key = encode_part(shard, replica_part::epoch_start);
  append_big_endian(key, epoch);
  return key;
}

std::optional<epoch_start_key> epoch_start_key::decode(std::string_view bytes) {
  auto found = decode_part(bytes, replica_part::epoch_start, sizeof epoch);
  if (!found)
    return std::nullopt;
  return epoch_start_key{
    *found, read_big_endian<std::uint32_t>(bytes.substr(key_prefix_bytes + 1))};
}

std::string shard_key::encode() const {
  return encode_prefix(key_tag::shard, shard);
}

std::optional<shard_key> shard_key::decode(std::string_view bytes) {
  if (bytes.size() != key_prefix_bytes || bytes.front() != static_cast<char>(key_tag::shard))
    return std::nullopt;
  return shard_key{shard_id{read_big_endian<std::uint16_t>(bytes.substr(1))}};
}

std::string detail::encode_queue(key_tag kind, shard_id shard, const queue_address& queue) {
  return encode_prefix(kind, shard) + queue.tenant + '\0' + queue.queue;
}

std::optional<std::pair<shard_id, queue_address>>
detail::decode_queue(key_tag kind, std::string_view bytes) {
  if (bytes.size() < key_prefix_bytes || bytes.front() != static_cast<char>(kind))
    return std::nullopt;
  auto names = bytes.substr(key_prefix_bytes);
  auto tenant = names.substr(0, names.find('\0'));
  auto queue = names.substr(std::min(names.size(), tenant.size() + 1));
  if (!is_valid_name(tenant) || !is_valid_name(queue))
    return std::nullopt;
  return std::pair{
    shard_id{read_big_endian<std::uint16_t>(bytes.substr(1))},
    queue_address{std::string(tenant), std::string(queue)}};
}

std::string key_key::encode() const {
  auto key = encode_prefix(key_tag::key, shard);
  append_text(key, name.queue.tenant);
  append_text(key, name.queue.queue);
  append_text(key, name.group);
  append_text(key, name.key);
  return key;
}

std::optional<key_key> key_key::decode(std::string_view bytes) {
  if (bytes.size() < key_prefix_bytes || bytes.front() != static_cast<char>(key_tag::key))
    return std::nullopt;
  key_key key{shard_id{read_big_endian<std::uint16_t>(bytes.substr(1))}, {}};
  bytes.remove_prefix(key_prefix_bytes);
  auto tenant = take_text(bytes);
  auto queue = take_text(bytes);
  auto group = take_text(bytes);
  auto name = take_text(bytes);
  if (!tenant || !queue || !group || !name || !bytes.empty())
    return std::nullopt;
  key.name = {{*tenant, *queue}, *group, *name};
  return key;
}

std::string producer_key::encode() const {
  auto key = encode_numbered(key_tag::producer, shard, producer.high);
  append_big_endian(key, producer.low);
  return key;
}

std::optional<producer_key> producer_key::decode(std::string_view bytes) {
  bool fits = bytes.size() == key_prefix_bytes + 2 * number_bytes
              && bytes.front() == static_cast<char>(key_tag::producer);
  if (!fits)
    return std::nullopt;
  return producer_key{
    shard_id{read_big_endian<std::uint16_t>(bytes.substr(1))},
    {read_big_endian<std::uint64_t>(bytes.substr(key_prefix_bytes)),
     read_big_endian<std::uint64_t>(bytes.substr(key_prefix_bytes + number_bytes))}};
}

std::string history_key::encode() const {
  auto key = encode_numbered(key_tag::history, shard, seq);
  append_big_endian(key, slot);
  return key;
}

std::optional<history_key> history_key::decode(std::string_view bytes) {
  if (bytes.empty())
    return std::nullopt;
  auto task = decode_numbered(key_tag::history, bytes.substr(0, bytes.size() - 1));
  if (!task)
    return std::nullopt;
  return history_key{task->first, task->second, static_cast<std::uint8_t>(bytes.back())};
}

std::string occurrence_key::encode() const {
  auto key = detail::encode_queue(key_tag::occurrence, shard, {schedule.tenant, schedule.name});
  key += '\0';
  append_big_endian(key, slot);
  return key;
}

std::optional<occurrence_key> occurrence_key::decode(std::string_view bytes) {
  if (bytes.size() < 2 || bytes[bytes.size() - 2] != '\0')
    return std::nullopt;
  auto found = detail::decode_queue(key_tag::occurrence, bytes.substr(0, bytes.size() - 2));
  if (!found)
    return std::nullopt;
  auto& [tenant, name] = found->second;
  return occurrence_key{
    found->first,
    {std::move(tenant), std::move(name)},
    static_cast<std::uint8_t>(bytes.back())};
}

std::string limit_name_key::encode() const {
  return detail::encode_queue(key_tag::limit, shard, {limit.tenant, limit.name});
}

std::optional<limit_name_key> limit_name_key::decode(std::string_view bytes) {
  auto found = detail::decode_queue(key_tag::limit, bytes);
  if (!found)
    return std::nullopt;
  auto& [tenant, name] = found->second;
  return limit_name_key{found->first, {std::move(tenant), std::move(name)}};
}

std::string limit_key_key::encode() const {
  auto encoded = encode_prefix(key_tag::limit_key, shard);
  encoded += limit.tenant;
  encoded += '\0';
  encoded += limit.name;
  encoded += '\0';
  return encoded + key;
}

std::optional<limit_key_key> limit_key_key::decode(std::string_view bytes) {
  if (bytes.size() < key_prefix_bytes || bytes.front() != static_cast<char>(key_tag::limit_key))
    return std::nullopt;
  auto names = bytes.substr(key_prefix_bytes);
  auto tenant_bytes = names.find('\0');
  auto name_end = tenant_bytes == names.npos ? names.npos : names.find('\0', tenant_bytes + 1);
  if (name_end == names.npos)
    return std::nullopt;
  return limit_key_key{
    shard_id{read_big_endian<std::uint16_t>(bytes.substr(1))},
    {std::string(names.substr(0, tenant_bytes)),
     std::string(names.substr(tenant_bytes + 1, name_end - tenant_bytes - 1))},
    std::string(names.substr(name_end + 1))};
}

std::string permit_key::encode() const {
  auto encoded = encode_prefix(key_tag::permit, shard);
  append_big_endian(encoded, value(asker));
  append_big_endian(encoded, number);
  return encoded;
}

std::optional<permit_key> permit_key::decode(std::string_view bytes) {
  bool is_whole = bytes.size() == key_prefix_bytes + shard_bytes + number_bytes;
  if (!is_whole || bytes.front() != static_cast<char>(key_tag::permit))
    return std::nullopt;
  return permit_key{
    shard_id{read_big_endian<std::uint16_t>(bytes.substr(1))},
    shard_id{read_big_endian<std::uint16_t>(bytes.substr(key_prefix_bytes))},
    read_big_endian<std::uint64_t>(bytes.substr(key_prefix_bytes + shard_bytes))};
}

std::string audit_key::encode() const {
  auto key = encode_numbered(key_tag::audit, shard, at_ms);
  append_big_endian(key, operation);
  append_big_endian(key, position);
  return key;
}

std::optional<audit_key> audit_key::decode(std::string_view bytes) {
  bool fits = bytes.size() == key_prefix_bytes + 3 * number_bytes
              && bytes.front() == static_cast<char>(key_tag::audit);
  if (!fits)
    return std::nullopt;
  auto number_at = [&](std::size_t place) {
    return read_big_endian<std::uint64_t>(bytes.substr(key_prefix_bytes + place * number_bytes));
  };
  return audit_key{
    shard_id{read_big_endian<std::uint16_t>(bytes.substr(1))},
    number_at(0),
    number_at(1),
    number_at(2)};
}

key_range segments_of(shard_id shard, sequence from) {
  return range_of(key_tag::segment, shard, from);
}

key_range asides_of(shard_id shard, sequence from) {
  return range_of(key_tag::aside, shard, from);
}

key_range grants_of(shard_id shard, std::uint64_t from_position) {
  return range_of(key_tag::grant, shard, from_position);
}

key_range outcomes_of(shard_id shard, std::uint64_t from_position) {
  return range_of(key_tag::outcome, shard, from_position);
}

key_range changes_of(shard_id shard, std::uint64_t from_position) {
  return range_of(key_tag::change, shard, from_position);
}

key_range queues_of(shard_id shard) {
  return {encode_prefix(key_tag::queue, shard), end_of(key_tag::queue, shard)};
}

key_range totals_of(shard_id shard) {
  return {encode_prefix(key_tag::totals, shard), end_of(key_tag::totals, shard)};
}

key_range schedules_of(shard_id shard) {
  return {encode_prefix(key_tag::schedule, shard), end_of(key_tag::schedule, shard)};
}

key_range progress_of(shard_id shard) {
  return {
    encode_prefix(key_tag::schedule_progress, shard), end_of(key_tag::schedule_progress, shard)};
}

key_range occurrences_of(shard_id shard) {
  return {encode_prefix(key_tag::occurrence, shard), end_of(key_tag::occurrence, shard)};
}

key_range occurrences_of(shard_id shard, const schedule_address& schedule) {
  auto begin =
    detail::encode_queue(key_tag::occurrence, shard, {schedule.tenant, schedule.name}) + '\0';
  auto end = begin;
  end.back() = '\1';
  return {std::move(begin), std::move(end)};
}

key_range limits_of(shard_id shard) {
  return {encode_prefix(key_tag::limit, shard), end_of(key_tag::limit, shard)};
}

key_range limit_keys_of(shard_id shard) {
  return {encode_prefix(key_tag::limit_key, shard), end_of(key_tag::limit_key, shard)};
}

key_range permits_of(shard_id shard) {
  return {encode_prefix(key_tag::permit, shard), end_of(key_tag::permit, shard)};
}

key_range follow_ups_of(shard_id shard) {
  return range_of(key_tag::follow_up, shard);
}

key_range blocks_of(shard_id shard) {
  return range_of(key_tag::block, shard);
}

key_range fates_of(shard_id shard, sequence from) {
  return range_of(key_tag::fate, shard, from);
}

key_range copied_fates_of(shard_id shard, sequence from) {
  return range_of(key_tag::copied_fate, shard, from);
}

key_range checkpoints_of(shard_id shard) {
  return range_of(key_tag::checkpoint, shard);
}

key_range history_of(shard_id shard, sequence seq) {
  auto begin = encode_numbered(key_tag::history, shard, seq);
  return {begin, begin + '\xff'};
}

key_range audits_of(shard_id shard, std::uint64_t from_ms) {
  return range_of(key_tag::audit, shard, from_ms);
}

key_range keys_of(shard_id shard) {
  return {encode_prefix(key_tag::key, shard), end_of(key_tag::key, shard)};
}

key_range producers_of(shard_id shard) {
  return range_of(key_tag::producer, shard);
}

key_range replica_of(shard_id shard) {
  return {encode_prefix(key_tag::replica, shard), end_of(key_tag::replica, shard)};
}

std::vector<key_range> data_of(shard_id shard) {
  std::vector<key_range> ranges;
  for (auto kind : data_tags)
    ranges.push_back({encode_prefix(kind, shard), end_of(kind, shard)});
  return ranges;
}

bool is_removed_singly(std::string_view key) {
  constexpr std::array once{
    key_tag::aside, key_tag::change, key_tag::grant, key_tag::segment, key_tag::follow_up};
  return !key.empty() && std::find(once.begin(), once.end(), key_tag{key.front()}) != once.end();
}

bool is_data_of(shard_id shard, std::string_view key) {
  if (key.size() < key_prefix_bytes)
    return false;
  auto is_data = std::find(data_tags.begin(), data_tags.end(), key_tag{key.front()})
                 != data_tags.end();
  return is_data && read_big_endian<std::uint16_t>(key.substr(1)) == value(shard);
}

key_range all_replicas() {
  return range_of(key_tag::replica);
}

key_range all_outcomes() {
  return range_of(key_tag::outcome);
}

key_range all_fates() {
  return range_of(key_tag::fate);
}

key_range all_copied_fates() {
  return range_of(key_tag::copied_fate);
}

key_range all_histories() {
  return range_of(key_tag::history);
}

key_range all_headers() {
  return range_of(key_tag::headers);
}

key_range all_audits() {
  return range_of(key_tag::audit);
}

key_range all_keys() {
  return range_of(key_tag::key);
}

key_range fates_up_to(shard_id shard, sequence seq) {
  return range_up_to(key_tag::fate, shard, seq);
}

key_range copied_fates_up_to(shard_id shard, sequence seq) {
  return range_up_to(key_tag::copied_fate, shard, seq);
}

} // namespace codeq::storage
