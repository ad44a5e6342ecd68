// SPDX-License-Identifier: Apache-2.0
#include "etcd/watcher.hpp"

#include "etcd/etcd_limits.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace codeq::etcd {

struct watcher::impl : std::enable_shared_from_this<impl> {
  impl(engine& of, watch_options how)
    : owner(of),
      options(std::move(how)),
      plan(of.order().count(), of.order().first()),
      timer(of.io()) {}

  void advance() {
    if (is_over)
      return;
    const auto now = steady_now();
    if (plan.is_stalled(now))
      return cut("no change was told in time");
    if (const auto connect = plan.next(now))
      open(*connect);
    const auto pause = std::clamp(
      plan.wake_at() - now + duration{1}, duration{1}, duration{std::chrono::hours{1}});
    timer.expires_after(pause);
    timer.async_wait([self = shared_from_this()](boost::system::error_code stopped) {
      if (!stopped)
        self->advance();
    });
  }

  void open(const watch_plan::connect& connect) {
    member = connect.member;
    link = owner.open(connect.member);
    link->follow(
      {watch_request(options.what, connect.revision),
       [weak = weak_from_this()](std::string_view line) {
         if (auto self = weak.lock())
           self->take(line);
       },
       [weak = weak_from_this()](const std::string& why) {
         if (auto self = weak.lock())
           self->cut(why);
       }});
  }

  void take(std::string_view text) {
    const auto line = read_watch_line(text);
    if (!line)
      return cut(line.error().context);
    // A watch may be of a member that lags, but never of another etcd.
    const auto verdict = owner.judge(member, line->at, false, 0);
    if (verdict == history::verdict::foreign)
      return cut(owner.history().foreign_words(member));
    if (verdict == history::verdict::replaced)
      return cut(owner.history().replaced_because());
    const auto is_missing = plan.note_line(*line);
    if (!line->changes.empty())
      options.changed(*line);
    if (is_missing)
      options.missed();
    if (line->is_canceled || line->compacted > 0)
      return cut(line->reason.empty() ? "etcd ended the watch" : line->reason);
    advance();
  }

  void cut(const std::string& why) {
    if (link)
      link->close();
    link.reset();
    ++owner.counts().watch_cuts;
    plan.cut(steady_now());
    options.cut("the watch at " + to_string(owner.member(member)) + " was cut: " + why);
    advance();
  }

  engine& owner;
  watch_options options;
  watch_plan plan;
  boost::asio::steady_timer timer;
  std::shared_ptr<connection> link;
  std::size_t member = 0;
  bool is_over = false;
};

watcher::watcher(engine& engine, watch_options options)
  : impl_(std::make_shared<impl>(engine, std::move(options))) {}

watcher::~watcher() {
  impl_->is_over = true;
  impl_->timer.cancel();
  if (impl_->link)
    impl_->link->close();
}

void watcher::start() {
  impl_->advance();
}

void watcher::note_poll(std::uint64_t modified) {
  impl_->plan.note_poll(modified, steady_now());
  impl_->advance();
}

} // namespace codeq::etcd
