// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "codeq/ids.hpp"
#include "codeq/task.hpp"
#include "codeq/time.hpp"

#include "core/commands/permit_command.hpp"
#include "core/flow/awaited_keys.hpp"
#include "core/flow/depth_desk.hpp"
#include "core/flow/permit_line.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace codeq::core {

/// The permits of a shard's tasks from the shards that own their limit keys: what is asked for,
/// held, spent and to be returned. Volatile: after a start the leases say which permits are spent,
/// and each owner is told (`ask_permits::is_list`) before it is asked for others.
///
/// One message to each owner is under way at a time, and has everything that came up meanwhile. It
/// is repeated until it is heard; so are permits that are asked for, since the answer may be lost.
///
/// A task whose keys belong to several other shards asks them one after the other. It keeps what it
/// has got no longer than the first permit may be unspent, or than the others take to answer; then
/// it returns that, and begins with the owner that it waits for. So tasks that need the same
/// permits in different orders do not wait for each other, and a task that waits for a busy key
/// holds no slot of another.
///
/// A queue with a maximum of leases, which another shard owns, has slots in place of tasks: as many
/// are asked for as tasks could be leased. A lease spends one, whichever it is. When it ends before
/// the time in which the slot had to be spent is over, another lease may spend it again; else it is
/// returned, so that slots go round among the shards.
///
/// Where tasks of different fairness keys wait for the same keys, one that has asked for more than
/// its part gives places to others each `ask_again`, so that a flood that came first does not keep
/// them away.
///
/// Nothing is asked for while a queue is idle, since each permit that comes would take a slot from
/// others until its time is over.
///
/// Permits of a key that is closed, by a report here or by the owner, are returned in the same turn
/// when they are not spent, and those that were asked for are asked for anew.
///
/// Costs are logarithmic in the number of tasks, but for what is said of closed keys.
class permit_desk {
public:
  /// A permit that is not spent so long after it came is returned.
  static constexpr duration unspent_max{45};
  /// The same for a permit of a rate: shorter than `permit_late_max` by the time that it takes to
  /// arrive.
  static constexpr duration rate_unspent_max{22};
  /// Maximum time for which a task keeps permits without a rate while a slow owner has not
  /// answered. With `unspent_max` it would never have all of them. A permit of a rate stands for a
  /// start now.
  static constexpr duration kept_max{1000};
  /// A message that is not answered is sent again after this time; then after twice the time, up to
  /// the longest. Only the answer to the last one counts, and has to have the time to come even
  /// from an owner that is slow.
  static constexpr duration answer_wait{250};
  static constexpr duration answer_wait_max{1000};
  /// Interval after which permits that have not come are asked for again.
  static constexpr duration ask_again{500};
  /// Permits of one limit key that are asked for at a time. Further tasks wait here, but one of a
  /// higher priority takes the place of another.
  static constexpr std::size_t asked_per_key_max = 16;
  /// Permits from one owner that are asked for, held or spent; slots do not count. A tenant has at
  /// most as many as it leaves to others, and at least one. When its keys want more, those that
  /// were asked for first are asked for later again: keys without room keep none from others.
  static constexpr std::size_t permits_per_owner_max = 10'000;
  /// Slots of a queue that are asked for at a time.
  static constexpr std::size_t slots_asked_max = 100;
  /// Slots of a queue that are asked for, held or spent. A list of what the shard has contains them
  /// all, and has to fit into one message.
  static constexpr std::size_t slots_per_queue_max = 10'000;
  /// Permits that one message wants, or returns, at most.
  static constexpr std::size_t message_permits_max = 1000;

  /// The uses of a task whose keys one other shard owns.
  struct share {
    shard_id owner{};
    std::vector<task_limit> uses;
  };

  /// Whether the limit of a tenant's use has a rate.
  using rate_question = std::function<bool(const std::string& tenant, const task_limit& use)>;

  /// A task of this shard that uses keys of others.
  struct permit_task {
    sequence seq = 0;
    std::uint8_t priority = 0;
    /// In the shard's numbering.
    std::uint32_t queue = 0;
    std::string tenant;
    /// One for each owner; at least one.
    std::vector<share> shares;
    /// The names of its queue, and of its fairness key, which is empty in queues without such keys.
    permit_turn turn{};
  };

  /// The shard begins to use permits; until then all limit keys count as its own. `session`:
  /// greater than that of each earlier process.
  void open(shard_id own, std::uint16_t shard_count, std::uint32_t session);

  [[nodiscard]] bool is_open() const noexcept { return shard_count_ > 0; }

  /// Number of the shards whose keys there are; 1 until it is open.
  [[nodiscard]] std::uint16_t shard_count() const noexcept {
    return is_open() ? shard_count_ : std::uint16_t{1};
  }

  /// The shard that owns the key, if it is another one than this.
  [[nodiscard]] std::optional<shard_id>
  owner_elsewhere(std::string_view tenant, const task_limit& use) const;

  /// The task was leased by an earlier process: its permits are spent.
  void adopt(const permit_task& task);

  /// The task is ready but for its permits. @pre it neither waits nor has them
  void wait(const permit_task& task);

  [[nodiscard]] bool is_waiting(sequence seq) const;
  /// The task has all permits that it needs.
  [[nodiscard]] bool has_permit(sequence seq) const;

  /// The use that the task waits for now. @pre is_waiting(seq)
  [[nodiscard]] const task_limit& awaited_use(sequence seq) const;

  /// The keys that the tasks of a queue wait for now.
  [[nodiscard]] const awaited_keys& awaited_of(std::uint32_t queue) const;

  /// The queues with such tasks.
  [[nodiscard]] const std::map<std::uint32_t, awaited_keys>& awaiting() const noexcept {
    return awaited_;
  }

  /// Nothing of the queue can be leased now: what its tasks ask for is recalled, what they have is
  /// due to be returned, and no more is asked for until it is not idle any more. Lasts no longer
  /// than tasks of it wait.
  void
  set_idle(std::uint32_t queue, const std::string& tenant, bool is_idle, monotonic_time now);

  /// Number of tasks that wait for the same key and come before this one, about as many when
  /// fairness keys take turns; counts at most `tuning::turns_counted_max` of each priority, beside
  /// those that were asked for.
  [[nodiscard]] std::size_t
  waiting_before(sequence seq, const fair_terms_of& terms_of = {}) const;

  /// The task is not ready any more. Returns true when it was waiting. If it has all permits, they
  /// are returned when their time is over.
  bool leave(sequence seq);

  /// The task is leased. @pre it has all permits
  void spend(sequence seq);

  /// Its lease ended, which has to be synced before permits are returned. @pre they were spent
  void end(sequence seq);

  /// The attempt that is about to end cost this.
  void settle(sequence seq, const task_limit& cost);

  /// A queue of this shard whose slots another shard owns has a maximum of leases from now on.
  /// `leased`: what it has leased already; these slots are spent. @pre it has no slots
  void open_slots(std::uint32_t queue, const queue_address& name, std::size_t leased);

  /// It has no maximum any more: all its slots are returned.
  void close_slots(std::uint32_t queue);

  /// So many further leases could begin, the first one with this priority. Does nothing when the
  /// queue has no maximum, as all that follow.
  void want_slots(std::uint32_t queue, std::size_t count, std::uint8_t priority);

  /// Number of the queue's slots that leases may spend.
  [[nodiscard]] std::size_t free_slots(std::uint32_t queue) const;

  /// A lease of the queue begins. @pre there is a free slot
  void spend_slot(std::uint32_t queue);

  /// A lease of the queue ended, which has to be synced before its slot is returned.
  void end_slot(std::uint32_t queue, monotonic_time now);

  /// The queue has no use for more free slots than `left`: returns the others.
  void return_slots(std::uint32_t queue, std::size_t left);

  /// Takes the queues whose free slots have changed by time, by words of owners or by
  /// `return_slots`.
  [[nodiscard]] std::set<std::uint32_t> take_changed_slots() {
    return std::exchange(changed_slots_, {});
  }

  /// Some queue has a maximum, and slots of another shard.
  [[nodiscard]] bool has_slot_queues() const noexcept { return !pools_.empty(); }

  /// Number of the queue's slots that were asked for, and have not come.
  [[nodiscard]] std::size_t awaited_slots(std::uint32_t queue) const;

  /// The owner has not answered yet whether it gives those that were asked for last.
  [[nodiscard]] bool is_asking_slots(std::uint32_t queue) const;

  /// A slot of the queue was not spent in time since its last lease.
  [[nodiscard]] bool has_missed_slot(std::uint32_t queue) const;

  /// The owner of the queue's slots counts them, as far as it has said.
  [[nodiscard]] bool does_owner_count(std::uint32_t queue) const;

  /// The owner of the queue's slots does not answer. When it does, `take_changed_slots` has the
  /// queue.
  [[nodiscard]] bool is_owner_silent(std::uint32_t queue, monotonic_time now) const;

  /// Number of the queue's leases that have slots.
  [[nodiscard]] std::size_t spent_slots(std::uint32_t queue) const;

  /// A queue of this shard whose depth another shard counts has this maximum from now on, and so
  /// many live tasks. @pre it has no quota
  void open_depth(
    std::uint32_t queue, const queue_address& name, std::uint64_t maximum, std::uint64_t depth);

  /// The quotas of queues with a maximum depth, of which the messages tell as well.
  [[nodiscard]] depth_desk& depths() noexcept { return depths_; }
  [[nodiscard]] const depth_desk& depths() const noexcept { return depths_; }

  /// A key of the owner is closed for so long from now on. Its permits that are not spent go with
  /// the next `return_unspent`, as those that an owner recalls.
  void close(shard_id owner, permit_closure closure, monotonic_time now);

  /// An owner says something. Returns the tasks that have all permits now.
  [[nodiscard]] std::vector<sequence>
  hear(const give_permits& said, monotonic_time now, const rate_question& has_rate);

  /// A limit has got a rate: no task keeps permits for longer than `unspent_max` from now on.
  void keep_none_longer(monotonic_time now);

  /// The owner is served anew: what was under way may be lost.
  void moved(shard_id owner);

  /// Returns the permits that were not spent in time, and those of closed keys. Every turn calls it
  /// before it leases tasks.
  void return_unspent(monotonic_time now);

  struct letter {
    shard_id to{};
    ask_permits what;
  };

  /// The messages to send now.
  [[nodiscard]] std::vector<letter>
  say(monotonic_time now, const fair_terms_of& terms_of = {});

  /// When to call `return_unspent` and `say` if nothing else happens.
  [[nodiscard]] std::optional<monotonic_time> next_look() const;

  /// The turn changes what permits are for: others must not learn it before it is synced.
  void sync_turn() noexcept { must_sync_ = true; }

  /// True when this turn has to be synced, since permits are returned because of its ends.
  [[nodiscard]] bool take_must_sync() { return std::exchange(must_sync_, false); }

  /// Number of permits that are asked for, had or spent.
  [[nodiscard]] std::size_t size() const noexcept { return numbers_.size(); }

private:
  enum class stage : std::uint8_t { queued, asked, held, spent };

  /// A permit of a task, from one owner.
  struct part {
    shard_id owner{};
    permit what;
    std::vector<task_limit> costs{};
  };

  struct entry {
    std::uint32_t queue = 0;
    permit_turn turn{};
    /// In the order in which the owners are asked.
    std::vector<part> parts;
    /// The number of permits that the task has; `is` is about the next one, or about all.
    std::size_t had = 0;
    stage is = stage::queued;
    /// When those that it has are returned, if they are not spent.
    monotonic_time until{};
    /// Milliseconds that its fairness key was charged when the permit was asked for.
    std::int64_t charged = 0;

    [[nodiscard]] const part& awaited() const { return parts[had]; }
    [[nodiscard]] part& awaited() { return parts[had]; }
  };

  /// The tasks that wait for the same keys; priority first.
  using place = std::pair<std::uint8_t, sequence>;

  struct line {
    std::size_t asked_max = asked_per_key_max;
    permit_line queued{};
    std::set<place> asked{};

    /// The first queued task may be asked for now, if necessary in place of another one.
    [[nodiscard]] bool may_ask() const;

    /// Tasks of several fairness keys wait here, and no further one may be asked for.
    [[nodiscard]] bool has_full_turns() const {
      return queued.has_turns() && asked.size() >= asked_max;
    }
  };

  /// The slots of a queue; each is in one of the sets.
  struct slot_pool {
    shard_id owner{};
    permit what;
    std::set<sequence> waiting{};
    std::set<sequence> held{};
    std::vector<sequence> spent{};
    /// Leases that began before the queue had a maximum, beyond `slots_per_queue_max`: the owner
    /// does not know them.
    std::size_t uncounted = 0;
    /// Some of those that wait were not heard by the owner.
    bool is_unheard = false;
    bool has_missed = false;
  };

  /// Slots have places among the tasks, with numbers that no task has.
  static constexpr sequence first_slot = sequence{1} << 63;

  [[nodiscard]] static constexpr bool is_slot_place(sequence seq) noexcept {
    return seq >= first_slot;
  }

  /// Tenant; limits and keys.
  using line_name = std::pair<std::string, std::vector<std::pair<std::string, std::string>>>;

  /// A key to be closed until that time, however often and late the owner is told.
  struct closing {
    permit_closure what;
    monotonic_time until{};
  };

  using lines_of_owner = std::map<line_name, line>;

  struct owner_state {
    bool is_listed = false;
    /// The last message is not answered.
    bool is_awaiting = false;
    bool was_list = false;
    bool counts_slots = false;
    std::uint64_t said = 0;
    /// When to send it again, and when the first message that is not answered was sent.
    monotonic_time look{};
    duration wait = answer_wait;
    monotonic_time unanswered_since{};
    /// When to ask again for what is asked for, and the last one of these that was; 0: all were.
    monotonic_time ask_at{};
    permit_number asked_again = 0;
    lines_of_owner lines{};
    /// Lines with tasks whose permits may be asked for, and those with slots.
    std::set<line_name> open_lines{};
    std::set<line_name> open_slots{};
    /// The lines with `has_full_turns`, and the last one in which places were given to other keys.
    std::set<line_name> full_turns{};
    line_name last_turns{};
    /// The line that was asked for last, and the queue whose slot was. The next one follows it, so
    /// that all have their turns.
    line_name last_line{};
    line_name last_slots{};
    std::set<permit_number> asked{};
    /// Permits that are asked for, held or spent, in all and by tenant.
    std::size_t out = 0;
    std::map<std::string, std::size_t> out_of_tenants{};
    std::map<permit_number, permit_return> returns{};
    std::vector<closing> closures{};
    /// How many of these the last message had.
    std::size_t closures_said = 0;
    /// The latest recall of the owner that was followed, and the one that the last message had.
    std::uint64_t recall = 0;
    std::uint64_t recall_said = 0;
    std::vector<permit_number> returns_said{};
    /// How long the owner takes to answer: the longest time, reduced by an eighth at each answer.
    duration pace{0};
    /// The queues whose slots were asked for since the owner answered.
    std::set<std::uint32_t> slots_said{};
    /// The tasks that were asked for since the owner answered, and have permits of other owners.
    std::set<sequence> keeping_said{};

    [[nodiscard]] bool is_silent(monotonic_time now) const {
      return is_awaiting && unanswered_since + answer_wait < now;
    }

    [[nodiscard]] std::set<line_name>& open_of(const line_name& name);
    void count_out(const permit& what);
    void discount_out(const permit& what);
    [[nodiscard]] bool may_ask(const std::string& tenant) const;
    /// The first open line of the tenants behind this one.
    [[nodiscard]] std::set<line_name>::const_iterator next_tenant(const std::string& tenant) const;
    /// The next open line of a tenant that may ask; empty when there is none.
    [[nodiscard]] std::optional<line_name> next_line() const;
    /// The tenants with open lines that may not ask.
    [[nodiscard]] std::set<std::string> tenants_without_room() const;
  };

  [[nodiscard]] static line_name line_of(const permit& what);
  [[nodiscard]] static place place_of(std::uint8_t priority, sequence seq);
  /// Valid as long as the task.
  [[nodiscard]] static held_task as_waiting(const entry& task, sequence seq);
  [[nodiscard]] static entry entry_of(const permit_task& task);
  [[nodiscard]] permit_task slot_task(std::uint32_t queue, const slot_pool& pool);
  void drop_waiting(slot_pool& pool, std::size_t left);
  /// The owner may give other slots than before.
  void note_answering(shard_id owner);
  /// The slot has come, or its time is over.
  void note_slot(std::uint32_t queue, sequence seq, bool is_held);
  permit_number next_number();
  permit_number take_number(sequence seq);
  static void note_line(owner_state& owner, const line_name& name, const line& of);
  void leave_line(const entry& task, sequence seq);
  void queue(entry& task, sequence seq);
  /// The lines of the keys that tasks of the queue wait for. Valid until a task leaves a line.
  [[nodiscard]] std::vector<std::pair<shard_id, lines_of_owner::iterator>>
  lines_of(std::uint32_t queue, const std::string& tenant);
  /// The tasks of the queue that are asked for wait here again.
  void recall_asked(std::uint32_t queue, const std::string& tenant);
  /// A task that was asked for waits here again.
  void recall(sequence seq);
  /// The permits that the task has are returned.
  void give_back_had(entry& task, sequence seq, bool is_unspent);
  /// How long the task may keep the permit that comes while it gets the rest.
  [[nodiscard]] duration time_to_keep(const entry& task, const rate_question& has_rate) const;
  /// How long the owner takes to answer, as far as that is known.
  [[nodiscard]] duration pace_of(shard_id owner) const;
  /// The tasks of the queue keep the permits that they have no longer.
  void keep_none_of(std::uint32_t queue, monotonic_time now);
  /// The task returns its permits at `until` at the latest.
  void shorten(entry& task, sequence seq, monotonic_time until);
  /// The owner has answered, and has no permit yet for these tasks that it was asked for.
  void note_not_given(shard_id by, const std::set<sequence>& tasks, monotonic_time now);
  /// The owner has given the task a permit. The task returns its permits at `until` at the latest.
  /// Returns true when the task has all permits.
  bool take(entry& task, sequence seq, monotonic_time until);
  void give_back(shard_id owner, permit_return what);
  /// Notes the keys that the owner recalls; `drop_closed` returns their permits.
  void follow(const give_permits& said);
  /// Permits of closed keys are due to be returned; those that were asked for are asked for anew,
  /// so that one which was given before is not taken any more.
  void drop_closed(monotonic_time now);
  /// Tenant, limit and key; valid as long as what they are of.
  using closed_keys = std::set<std::tuple<std::string_view, std::string_view, std::string_view>>;
  /// The tasks of the tenant that are asked for with closed keys of the owner wait here again.
  /// Linear in the number of lines that the tenant has there, however many keys there are.
  void recall_closed(shard_id owner, const std::string& tenant, const closed_keys& keys);
  void forget_asked(const owner_state& owner);
  /// When lines wait for room, those that were asked for first make it.
  void make_room(shard_id to, owner_state& owner);
  /// Tasks that were asked for wait here again where other fairness keys have their turns.
  void make_turns(shard_id to, owner_state& owner);
  /// The tasks of a line that are asked for beyond the part of their fairness key, the latest ones.
  [[nodiscard]] std::vector<sequence> beyond_part(const line& of) const;
  /// Returns the owner's `keeping_said` when it has heard all.
  std::set<sequence> note_heard(shard_id by, std::uint64_t heard, monotonic_time now);
  [[nodiscard]] static bool has_news(const owner_state& owner);
  /// The first queued task of an open line is asked for.
  permit_number ask_first(
    shard_id to, owner_state& owner, const line_name& name, const fair_terms_of& terms_of);
  [[nodiscard]] std::vector<permit_number>
  ask_further(shard_id to, const fair_terms_of& terms_of);
  [[nodiscard]] ask_permits list_for(shard_id to) const;
  [[nodiscard]] const permit& permit_of(permit_number number) const;
  /// The keys that are still to be closed, and for how long.
  [[nodiscard]] static std::vector<permit_closure>
  say_closures(owner_state& owner, monotonic_time now);
  /// Adds some that were asked for before, as many as the message may have.
  static void add_again(owner_state& owner, std::set<permit_number>& wanted);
  [[nodiscard]] ask_permits ask_for(shard_id to, bool again, const fair_terms_of& terms_of);

  shard_id own_{};
  std::uint16_t shard_count_ = 0;
  std::uint32_t session_ = 0;
  std::uint64_t counter_ = 0;
  std::map<sequence, entry> tasks_;
  std::map<permit_number, sequence> numbers_;
  /// The tasks that have permits, which are few beside those that wait.
  std::set<sequence> having_;
  /// The tasks of `having_` with unspent permits, by the times when they return them.
  std::set<std::pair<monotonic_time, sequence>> unspent_;
  /// By queue.
  std::map<std::uint32_t, awaited_keys> awaited_;
  /// The queues of `awaited_` that are idle.
  std::set<std::uint32_t> idle_;
  std::map<std::uint32_t, slot_pool> pools_;
  std::set<std::uint32_t> changed_slots_;
  sequence next_slot_ = first_slot;
  std::map<shard_id, owner_state> owners_;
  /// Keys that were closed in this turn.
  std::set<permit_recall> closed_;
  depth_desk depths_;
  bool must_sync_ = false;
};

} // namespace codeq::core
