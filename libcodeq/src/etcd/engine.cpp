// SPDX-License-Identifier: Apache-2.0
#include "etcd/engine.hpp"

#include "etcd/etcd_limits.hpp"

#include <map>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace codeq::etcd {

namespace {

namespace asio = boost::asio;
using error_code = boost::system::error_code;

} // namespace

monotonic_time steady_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return monotonic_time{std::chrono::duration_cast<duration>(now)};
}

/// One call, from its first request to its end.
class engine::running : public std::enable_shared_from_this<running> {
public:
  running(engine& owner, errand what)
    : owner_(owner),
      what_(std::move(what)),
      plan_(
        owner.order_.count(), owner.order_.first(), owner.members_.call_limit, steady_now()),
      timer_(owner.io_) {}

  void advance() {
    const auto now = steady_now();
    while (const auto copy = plan_.next(now)) {
      if (last_) {
        ++owner_.counts_.repeated;
        if (flights_.contains(last_->number))
          owner_.order_.note_silence(last_->member);
      }
      last_ = copy;
      send(*copy);
      if (is_over_)
        return;
    }
    if (plan_.is_over(now))
      return finish(error{errc::timeout, unanswered_words()});
    const auto pause = plan_.wake_at() - now + duration{1};
    timer_.expires_after(std::max(pause, duration{1}));
    timer_.async_wait([self = shared_from_this()](error_code stopped) {
      if (!stopped && !self->is_over_)
        self->advance();
    });
  }

  /// Closes what is under way; nothing is told.
  void drop() {
    is_over_ = true;
    timer_.cancel();
    for (auto& [number, flight] : flights_)
      flight.link->close();
    flights_.clear();
  }

private:
  struct flight {
    std::shared_ptr<connection> link;
    /// Whether the connection had served before: then the member may have closed it meanwhile.
    bool is_used = false;
    std::uint64_t revision_at_sending = 0;
  };

  void send(const call::copy& copy) {
    auto& one = flights_[copy.number];
    one.link = owner_.take_connection(copy.member, one.is_used);
    one.revision_at_sending = owner_.history_.known().revision;
    one.link->request(
      {what_.what,
       [weak = weak_from_this()] {
         if (auto self = weak.lock())
           self->plan_.note_sent();
       },
       [weak = weak_from_this(), copy](const result<gateway_answer>& answer) {
         if (auto self = weak.lock(); self && !self->is_over_)
           self->take(copy, answer);
       }});
  }

  void take(const call::copy& copy, const result<gateway_answer>& answer) {
    const auto member = copy.member;
    auto one = std::move(flights_.at(copy.number));
    flights_.erase(copy.number);
    if (!answer)
      return take_failure(copy, answer.error(), one.is_used);
    owner_.keep_connection(member, std::move(one.link));
    auto reading = what_.read(*answer);
    if (const auto* refusal = std::get_if<gateway_refusal>(&reading)) {
      if (refusal->is_final)
        return finish(error{errc::invalid_argument, named(member) + ": " + refusal->words});
      return skip(copy, refusal->words);
    }
    const auto& at = std::get<std::optional<header>>(reading);
    const auto verdict =
      at ? owner_.judge(member, *at, what_.is_decision, one.revision_at_sending)
         : history::verdict::fits;
    if (verdict == history::verdict::replaced)
      return finish(error{
        errc::incompatible_store,
        named(member) + ": " + owner_.history_.replaced_because()
          + "; it was restored or replaced: CLUSTERS.md, Repair, tells what to do"});
    if (verdict == history::verdict::foreign)
      return skip(copy, owner_.history_.foreign_words(member));
    if (verdict == history::verdict::stale)
      return skip(
        copy, "an answer older than revision " + std::to_string(one.revision_at_sending));
    owner_.order_.note_answer(member);
    finish({});
  }

  void take_failure(const call::copy& copy, const error& why, bool is_used) {
    // The member closed a connection that was idle: the request is sent once more on a new one.
    if (is_used && why.code == errc::disconnected) {
      owner_.idle_[copy.member].clear();
      ++owner_.counts_.repeated;
      return send(copy);
    }
    if (why.code == errc::unauthorized || why.code == errc::too_large)
      last_code_ = why.code;
    skip(copy, why.context);
  }

  void skip(const call::copy& copy, std::string words) {
    owner_.order_.note_silence(copy.member);
    plan_.failed(copy, std::move(words), steady_now());
    advance();
  }

  [[nodiscard]] std::string named(std::size_t member) const {
    return "etcd at " + to_string(owner_.members_.urls[member]) + " was asked " + what_.words;
  }

  [[nodiscard]] std::string unanswered_words() const {
    std::string words = "etcd was asked " + what_.words + " and gave no answer within "
                        + std::to_string(owner_.members_.call_limit.count()) + " ms:";
    for (std::size_t i = 0; i < owner_.order_.count(); ++i)
      if (const auto of_member = plan_.words_of(i); !of_member.empty())
        words += " " + to_string(owner_.members_.urls[i]) + ": " + of_member + ";";
    words.pop_back();
    return words;
  }

  void finish(result<void> how) {
    if (!how && how.error().code == errc::timeout) {
      ++owner_.counts_.unanswered;
      if (last_code_ != errc::none)
        how = error{last_code_, how.error().context};
    }
    const auto self = shared_from_this();
    drop();
    what_.done(how, plan_.is_sent());
    owner_.note_end(self);
  }

  engine& owner_;
  errand what_;
  call plan_;
  asio::steady_timer timer_;
  /// Number of the copy -> where it is under way.
  std::map<std::uint64_t, flight> flights_;
  std::optional<call::copy> last_;
  /// The latest failure of a request, except that a member cannot be reached.
  errc last_code_ = errc::none;
  bool is_over_ = false;
};

engine::engine(asio::io_context& io, members members, header known)
  : io_(io),
    members_(std::move(members)),
    order_(members_.urls.size()),
    history_(known, members_.urls.size()),
    idle_(members_.urls.size()) {}

engine::~engine() {
  for (const auto& one : running_)
    one->drop();
  for (auto& links : idle_)
    for (auto& link : links)
      link->close();
}

void engine::run(errand what) {
  ++counts_.calls;
  if (running_.size() < limits::calls_active_max)
    return start(std::move(what));
  if (waiting_.size() < limits::calls_waiting_max) {
    waiting_.push_back(std::move(what));
    return;
  }
  ++counts_.overloaded;
  what.done(
    error{
      errc::overloaded,
      std::to_string(limits::calls_waiting_max) + " requests wait for etcd already"},
    false);
}

void engine::start(errand what) {
  auto one = std::make_shared<running>(*this, std::move(what));
  running_.insert(one);
  one->advance();
}

void engine::note_end(const std::shared_ptr<running>& ended) {
  running_.erase(ended);
  if (waiting_.empty())
    return;
  auto next = std::move(waiting_.front());
  waiting_.pop_front();
  start(std::move(next));
}

history::verdict engine::judge(
  std::size_t member, const header& answer, bool is_decision, std::uint64_t at_sending) {
  const auto verdict = history_.note(member, answer, is_decision, at_sending);
  const auto news = history_.take_news(member);
  if (news == history::news::none || !members_.changed)
    return verdict;
  const auto is_foreign = news == history::news::foreign;
  members_.changed(
    members_.urls[member], is_foreign ? history_.foreign_words(member) : std::string());
  return verdict;
}

std::shared_ptr<connection> engine::open(std::size_t member) {
  return make_connection(
    io_, members_.urls[member], members_.tls ? members_.tls->current() : nullptr);
}

std::shared_ptr<connection> engine::take_connection(std::size_t member, bool& is_used) {
  auto& idle = idle_[member];
  is_used = !idle.empty();
  if (!is_used)
    return open(member);
  auto link = std::move(idle.back());
  idle.pop_back();
  return link;
}

void engine::keep_connection(std::size_t member, std::shared_ptr<connection> idle) {
  if (idle->is_reusable() && idle_[member].size() < limits::calls_active_max)
    idle_[member].push_back(std::move(idle));
}

} // namespace codeq::etcd
