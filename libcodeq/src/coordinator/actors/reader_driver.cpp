// SPDX-License-Identifier: Apache-2.0
#include "coordinator/actors/reader_driver.hpp"

namespace codeq::coordinator {

void reader_driver::start(reader_actor::pointer self, reader_driver_options options) {
  self_ = self;
  options_ = std::move(options);
  reader_.emplace(options_.reader, *this);
}

void reader_driver::fetch(coordinator::fetch_bodies& m) {
  peer_ = m.peer;
  reader_->fetch(std::move(m.wanted));
  peer_ = nullptr;
}

void reader_driver::answer(const coordinator::answer_inquiry& m) {
  peer_ = m.peer;
  reader_->answer(m.asked);
  peer_ = nullptr;
}

reader_actor::behavior_type drive_reader(
  reader_actor::stateful_pointer<reader_driver> self, const reader_driver_options& options) {
  self->set_default_handler(caf::drop);
  self->state.start(self, options);
  return {
    [self](fetch_bodies& m) { self->state.fetch(m); },
    [self](const answer_inquiry& m) { self->state.answer(m); },
  };
}

} // namespace codeq::coordinator
