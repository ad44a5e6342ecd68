// SPDX-License-Identifier: Apache-2.0
#include "etcd/client.hpp"

#include "base/assert.hpp"
#include "etcd/engine.hpp"
#include "etcd/etcd_limits.hpp"
#include "etcd/gateway_json.hpp"
#include "etcd/watcher.hpp"

#include <mutex>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace codeq::etcd {

namespace asio = boost::asio;

namespace {

/// Makes an errand of a request whose answer has one type.
template <class Answer, class Read>
engine::errand make_errand(
  gateway_request what,
  std::string words,
  Read read,
  std::function<void(const result<Answer>&)> done) {
  auto kept = std::make_shared<Answer>();
  engine::errand errand;
  errand.what = std::move(what);
  errand.words = std::move(words);
  errand.read = [kept, read](const gateway_answer& answer)
    -> gateway_reading<std::optional<header>> {
    auto reading = read(answer);
    if (auto* refusal = std::get_if<gateway_refusal>(&reading))
      return std::move(*refusal);
    *kept = std::move(std::get<Answer>(reading));
    const auto is_told = kept->at.cluster_id != 0;
    return is_told ? std::optional(kept->at) : std::optional<header>();
  };
  errand.done = [kept, done = std::move(done)](const result<void>& how, bool) {
    done(how ? result<Answer>(std::move(*kept)) : result<Answer>(how.error()));
  };
  return errand;
}

} // namespace

struct client::impl {
  explicit impl(options how)
    : core(
        io,
        {std::move(how.members),
         std::move(how.tls),
         how.call_limit,
         std::move(how.member_changed)},
        how.known),
      known(how.known) {}

  template <class Action>
  void post(Action action) {
    asio::post(io, std::move(action));
  }

  /// Makes what has changed visible to other threads.
  void publish() {
    std::lock_guard guard(mutex);
    known = core.history().known();
    replaced_because = core.history().replaced_because();
    counts = core.counts();
  }

  void run(engine::errand what) {
    what.done = [this, done = std::move(what.done)](const result<void>& how, bool is_sent) {
      publish();
      done(how, is_sent);
    };
    post([this, what = std::move(what)]() mutable { core.run(std::move(what)); });
  }

  void decide(swap what, std::function<void(const swap_answer&)> done);
  void read_page(
    std::shared_ptr<range_answer> so_far,
    key_range what,
    std::string first,
    std::function<void(const result<range_answer>&)> done);

  asio::io_context io{1};
  engine core;
  std::unique_ptr<watcher> watch;
  mutable std::mutex mutex;
  header known;
  std::string replaced_because;
  client_counts counts;
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::thread thread;
};

void client::impl::decide(swap what, std::function<void(const swap_answer&)> done) {
  if (auto fits = check(what); !fits) {
    post([done = std::move(done), why = fits.error()] {
      done({swap_end::not_sent, std::nullopt, 0, why.context});
    });
    return;
  }
  auto kept = std::make_shared<decision>();
  engine::errand errand;
  errand.what = to_request(what);
  errand.words = "to change " + what.key;
  errand.is_decision = true;
  errand.read = [kept, what = std::move(what)](const gateway_answer& answer)
    -> gateway_reading<std::optional<header>> {
    auto reading = read_decision(answer, what);
    if (auto* refusal = std::get_if<gateway_refusal>(&reading))
      return std::move(*refusal);
    *kept = std::move(std::get<decision>(reading));
    return std::optional(kept->at);
  };
  errand.done = [kept, done = std::move(done)](const result<void>& how, bool is_sent) {
    if (!how)
      return done(
        {is_sent ? swap_end::unknown : swap_end::not_sent,
         std::nullopt,
         0,
         how.error().context});
    done(
      {kept->is_applied ? swap_end::applied : swap_end::not_applied,
       std::move(kept->current),
       kept->at.revision,
       {}});
  };
  run(std::move(errand));
}

void client::impl::read_page(
  std::shared_ptr<range_answer> so_far,
  key_range what,
  std::string first,
  std::function<void(const result<range_answer>&)> done) {
  auto request = to_request(what, first);
  auto words = "for the keys from " + first + " on";
  auto take = [this, so_far, what = std::move(what), done = std::move(done)](
                const result<range_answer>& page) mutable {
    if (!page)
      return done(page);
    if (so_far->at.cluster_id == 0)
      so_far->at = page->at;
    so_far->count = page->count;
    so_far->found.insert(so_far->found.end(), page->found.begin(), page->found.end());
    const auto is_enough = what.keys_max > 0 && so_far->found.size() >= what.keys_max;
    if (!page->has_more || page->found.empty() || is_enough) {
      so_far->count = std::max<std::uint64_t>(so_far->count, so_far->found.size());
      return done(std::move(*so_far));
    }
    if (so_far->found.size() >= limits::range_keys_max)
      return done(error{
        errc::too_large,
        "etcd has more than " + std::to_string(limits::range_keys_max) + " keys from "
          + what.first + " on"});
    // The smallest key after the last one.
    auto next = page->found.back().key + '\0';
    read_page(so_far, std::move(what), std::move(next), std::move(done));
  };
  run(make_errand<range_answer>(
    std::move(request), std::move(words), &read_range, std::move(take)));
}

client::client(options how) {
  CODEQ_ASSERT(!how.members.empty() && how.members.size() <= limits::members_max);
  impl_ = std::make_unique<impl>(std::move(how));
  impl_->thread = std::thread([impl = impl_.get()] { impl->io.run(); });
}

client::~client() {
  impl_->io.stop();
  impl_->thread.join();
}

void client::decide(swap what, std::function<void(const swap_answer&)> done) {
  impl_->decide(std::move(what), std::move(done));
}

void client::read(key_range what, std::function<void(const result<range_answer>&)> done) {
  auto first = what.first;
  impl_->read_page(
    std::make_shared<range_answer>(), std::move(what), std::move(first), std::move(done));
}

void client::grant(duration length, std::function<void(const result<lease_answer>&)> done) {
  impl_->run(make_errand<lease_answer>(
    grant_request(length), "for a lease", &read_grant, std::move(done)));
}

void client::keep_alive(
  std::uint64_t lease, std::function<void(const result<lease_answer>&)> done) {
  impl_->run(make_errand<lease_answer>(
    keep_alive_request(lease), "to keep a lease", &read_keep_alive, std::move(done)));
}

void client::revoke(std::uint64_t lease, std::function<void(const result<lease_answer>&)> done) {
  impl_->run(make_errand<lease_answer>(
    revoke_request(lease), "to end a lease", &read_revoke, std::move(done)));
}

void client::watch(watch_options how) {
  impl_->post([impl = impl_.get(), how = std::move(how)]() mutable {
    CODEQ_ASSERT(!impl->watch);
    how.cut = [impl, cut = std::move(how.cut)](const std::string& why) {
      impl->publish();
      cut(why);
    };
    impl->watch = std::make_unique<watcher>(impl->core, std::move(how));
    impl->watch->start();
  });
}

void client::note_poll(std::uint64_t modified) {
  impl_->post([impl = impl_.get(), modified] {
    if (impl->watch)
      impl->watch->note_poll(modified);
  });
}

void client::run_after(duration pause, std::function<void()> action) {
  impl_->post([impl = impl_.get(), pause, action = std::move(action)]() mutable {
    auto timer = std::make_shared<asio::steady_timer>(impl->io, pause);
    timer->async_wait([timer, action = std::move(action)](boost::system::error_code stopped) {
      if (!stopped)
        action();
    });
  });
}

header client::known() const {
  std::lock_guard guard(impl_->mutex);
  return impl_->known;
}

std::string client::replaced_because() const {
  std::lock_guard guard(impl_->mutex);
  return impl_->replaced_because;
}

client_counts client::counts() const {
  std::lock_guard guard(impl_->mutex);
  return impl_->counts;
}

} // namespace codeq::etcd
