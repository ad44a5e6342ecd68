// SPDX-License-Identifier: Apache-2.0
#include "encoding/shared_structs.hpp"
#include "record.capnp.h"
#include "storage/record_build.hpp"
#include "storage/record_codec.hpp"

namespace codeq::storage {

std::string encode(const core::tasks_changed& e) {
  return build<schema::ChangeRecord>(
    small_words + e.changes.size() * 4 + e.purges.size() * 8, [&](auto r) {
      r.setPosition(e.position);
      r.setAtMs(ms_of(e.at));
      auto changes = r.initChanges(static_cast<capnp::uint>(e.changes.size()));
      for (capnp::uint i = 0; i < e.changes.size(); ++i) {
        changes[i].setSeq(e.changes[i].seq);
        changes[i].setKind(static_cast<schema::ChangeKind>(e.changes[i].kind));
        changes[i].setNotBeforeMs(ms_of(e.changes[i].not_before));
        changes[i].setRetryAtMs(ms_of(e.changes[i].retry_at));
      }
      auto purges = r.initPurges(static_cast<capnp::uint>(e.purges.size()));
      for (capnp::uint i = 0; i < e.purges.size(); ++i) {
        encoding::write_queue(purges[i].initQueue(), e.purges[i].queue);
        purges[i].setBelow(e.purges[i].below);
      }
    });
}

result<core::tasks_changed> decode_change(std::string_view value) {
  return parse<schema::ChangeRecord>(value, [](auto r) -> result<core::tasks_changed> {
    core::tasks_changed e;
    e.position = r.getPosition();
    e.at = time_of(r.getAtMs());
    for (auto change : r.getChanges())
      e.changes.push_back(
        {change.getSeq(),
         static_cast<core::change_kind>(change.getKind()),
         time_of(change.getNotBeforeMs()),
         time_of(change.getRetryAtMs())});
    for (auto purge : r.getPurges())
      e.purges.push_back({encoding::read_queue(purge.getQueue()), purge.getBelow()});
    return e;
  });
}

} // namespace codeq::storage
