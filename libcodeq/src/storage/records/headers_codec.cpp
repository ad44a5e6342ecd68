// SPDX-License-Identifier: Apache-2.0
#include "storage/records/headers_codec.hpp"

#include "codeq/limits.hpp"

#include "encoding/shared_structs.hpp"
#include "record.capnp.h"
#include "storage/records/record_build.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace codeq::storage {

namespace {

static_assert(std::endian::native == std::endian::little, "Cap'n Proto's words are little-endian");

/// Place of `headers` among the pointers of a `TaskBody`.
constexpr std::uint64_t headers_pointer = 1;

/// A word of a body. @pre it is within the body
std::uint64_t word_at(std::string_view body, std::uint64_t place) {
  std::uint64_t word = 0;
  std::memcpy(&word, body.data() + place * sizeof word, sizeof word);
  return word;
}

struct task_headers {
  std::uint32_t index = 0;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// The headers of a body; none when they cannot be read or are larger than a producer may send.
task_headers read_headers(std::uint32_t index, std::string_view body) {
  task_headers found{index, {}};
  aligned_record record(body);
  const auto* begin = reinterpret_cast<const capnp::word*>(record.words.get());
  kj::ArrayPtr<const capnp::word> segment(begin, record.count);
  std::size_t size = 0;
  try {
    // A body is a message without its segment table.
    capnp::SegmentArrayMessageReader message(kj::arrayPtr(&segment, 1));
    for (auto header : message.getRoot<schema::TaskBody>().getHeaders()) {
      found.headers.emplace_back(
        encoding::read_text(header.getName()), encoding::read_text(header.getValue()));
      size += header.getName().size() + header.getValue().size();
    }
  } catch (const kj::Exception&) {
    return {index, {}};
  }
  return size <= limits::headers_bytes_max ? found : task_headers{index, {}};
}

std::string encode_found(const std::vector<task_headers>& found, timestamp at) {
  std::size_t words = small_words;
  for (const auto& task : found)
    for (const auto& [name, value] : task.headers)
      words += (name.size() + value.size()) / sizeof(capnp::word) + 8;
  return build<schema::HeadersRecord>(words, [&](auto r) {
    r.setAtMs(ms_of(at));
    auto tasks = r.initTasks(static_cast<capnp::uint>(found.size()));
    for (capnp::uint i = 0; i < found.size(); ++i) {
      tasks[i].setIndex(found[i].index);
      auto headers = tasks[i].initHeaders(static_cast<capnp::uint>(found[i].headers.size()));
      for (capnp::uint j = 0; j < headers.size(); ++j) {
        headers[j].setName(found[i].headers[j].first);
        headers[j].setValue(found[i].headers[j].second);
      }
    }
  });
}

template <class Headers>
bool contains(Headers headers, const std::string& name, const std::string& value) {
  for (auto header : headers)
    if (encoding::read_text(header.getName()) == name)
      return encoding::read_text(header.getValue()) == value;
  return false;
}

} // namespace

bool may_have_headers(std::string_view body) noexcept {
  auto words = body.size() / sizeof(std::uint64_t);
  if (words == 0)
    return false;
  auto root = word_at(body, 0);
  // The kind of a pointer is in its lowest two bits; 0 is a struct.
  if ((root & 3) != 0)
    return true;
  auto offset = static_cast<std::int32_t>(root) >> 2;
  auto data_words = root >> 32 & 0xffff;
  if (root >> 48 <= headers_pointer)
    return false;
  auto place = 1 + static_cast<std::uint64_t>(offset) + data_words + headers_pointer;
  return place >= words || word_at(body, place) != 0;
}

std::string encode_headers(std::span<const core::encoded_tasks> pieces, timestamp at) {
  std::vector<task_headers> found;
  std::uint32_t index = 0;
  for (const auto& piece : pieces) {
    std::size_t begin = 0;
    for (auto size : piece.sizes) {
      auto body = piece.body.view().substr(begin, size);
      begin += size;
      if (may_have_headers(body))
        if (auto task = read_headers(index, body); !task.headers.empty())
          found.push_back(std::move(task));
      ++index;
    }
  }
  return found.empty() ? std::string() : encode_found(found, at);
}

result<timestamp> decode_headers_time(std::string_view value) {
  return parse<schema::HeadersRecord>(
    value, [](auto r) -> result<timestamp> { return time_of(r.getAtMs()); });
}

result<bool> has_headers(
  std::string_view value,
  std::uint32_t index,
  const std::map<std::string, std::string>& wanted) {
  return parse<schema::HeadersRecord>(value, [&](auto r) -> result<bool> {
    for (auto task : r.getTasks())
      if (task.getIndex() == index)
        return std::all_of(wanted.begin(), wanted.end(), [&](const auto& header) {
          return contains(task.getHeaders(), header.first, header.second);
        });
    return false;
  });
}

} // namespace codeq::storage
