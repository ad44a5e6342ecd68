// SPDX-License-Identifier: Apache-2.0
#include "encoding/shared_structs.hpp"
#include "record.capnp.h"
#include "storage/record_build.hpp"
#include "storage/record_codec.hpp"

namespace codeq::storage {

std::string encode(const core::queue_configured& e) {
  return build<schema::QueueRecord>(small_words, [&](auto r) {
    r.setPosition(e.position);
    r.setAtMs(ms_of(e.at));
    encoding::write_settings(r.initDefaults(), e.settings.defaults);
    r.setMaxDepth(e.settings.max_depth);
    r.setMaxLeased(e.settings.max_leased);
    r.setKeepPayload(e.settings.keep_payload);
    r.setPaused(e.settings.paused);
  });
}

result<core::queue_configured> decode_queue(std::string_view value, const queue_address& queue) {
  return parse<schema::QueueRecord>(value, [&](auto r) -> result<core::queue_configured> {
    core::queue_configured e;
    e.position = r.getPosition();
    e.at = time_of(r.getAtMs());
    e.queue = queue;
    e.settings.defaults = encoding::read_settings(r.getDefaults());
    e.settings.max_depth = r.getMaxDepth();
    e.settings.max_leased = r.getMaxLeased();
    e.settings.keep_payload = r.getKeepPayload();
    e.settings.paused = r.getPaused();
    return e;
  });
}

} // namespace codeq::storage
