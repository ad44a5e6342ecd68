// SPDX-License-Identifier: Apache-2.0
#include "codeq/limits.hpp"

#include "core/commands/routing.hpp"
#include "protocol/operator_convert.hpp"

#include <capnp/any.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

namespace codeq::protocol {

namespace {

using namespace std::chrono_literals;

capnp::Data::Reader as_data(const std::string& text) {
  return {reinterpret_cast<const capnp::byte*>(text.data()), text.size()};
}

constexpr asked_at by{7, {}};

/// The result of converting a request: "fine", or why it is refused.
template <class S>
std::string said(const std::function<void(typename S::Builder)>& fill) {
  auto command = to_command(frame<S>::build(fill), by);
  return command ? "fine" : to_string(command.error());
}

void good_key(schema::TaskKey::Builder key) {
  key.initQueue().setTenant("default");
  key.getQueue().setQueue("q");
  key.setKey(as_data("k"));
}

std::string said_of_key(const std::function<void(schema::TaskKey::Builder)>& change) {
  return said<schema::StatusRequest>([&](auto request) {
    good_key(request.initKey());
    change(request.getKey());
  });
}

std::string said_of_change(schema::TaskChange what, bool by_key) {
  return said<schema::ChangeRequest>([&](auto request) {
    request.setChange(what);
    if (by_key)
      good_key(request.initKey());
  });
}

std::string said_of_force(schema::ForceKind how, std::size_t text) {
  return said<schema::ForceRequest>([&](auto request) {
    request.setHow(how);
    request.setText(as_data(std::string(text, 'x')));
  });
}

std::string said_of_settings(const std::function<void(schema::QueueSettings::Builder)>& change) {
  return said<schema::QueueRequest>([&](auto request) {
    request.initQueue().setTenant("default");
    request.getQueue().setQueue("q");
    request.initSet().initDefaults();
    change(request.getSet());
  });
}

/// Replaces the settings by those of a version that has no weights of fairness keys.
void shorten_settings(schema::QueueRequest::Builder request) {
  constexpr capnp::uint pointer_of_settings = 1;
  constexpr std::uint16_t data_words = 3;
  constexpr std::uint16_t pointers = 5;
  request.initSet();
  auto all = capnp::AnyStruct::Builder(std::move(request)).getPointerSection();
  all[pointer_of_settings].initAsAnyStruct(data_words, pointers);
}

std::string said_of_filter(const std::function<void(schema::TaskFilter::Builder)>& change) {
  return said<schema::ListRequest>([&](auto request) {
    auto filter = request.initFilter();
    filter.setTenant("default");
    filter.setLimit(1);
    change(filter);
  });
}

const std::string name_rule = "it must be 1 to 128 letters, digits, `.`, `_` or `-`";

} // namespace

TEST(OperatorConvert, KeyAddressesAreChecked) {
  EXPECT_EQ(said_of_key([](auto) {}), "fine");
  EXPECT_EQ(
    said_of_key([](auto key) { key.getQueue().setTenant("/"); }),
    "invalid_argument: tenant is `/`; " + name_rule);
  EXPECT_EQ(
    said_of_key([](auto key) { key.getQueue().setQueue(""); }),
    "invalid_argument: queue is ``; " + name_rule);
  EXPECT_EQ(
    said_of_key([](auto key) { key.setKey(nullptr); }),
    "invalid_argument: key is empty; it must be 1 byte or more");
  EXPECT_EQ(
    said_of_key([](auto key) { key.setKey(as_data(std::string(257, 'k'))); }),
    "too_large: key is 257 bytes; it must be at most 256");
  EXPECT_EQ(
    said_of_key([](auto key) { key.setGroup(as_data(std::string(257, 'g'))); }),
    "too_large: group is 257 bytes; it must be at most 256");
}

TEST(OperatorConvert, AKeyIsLookedForOnItsOwnShardOnly) {
  auto request = status_request::build([](auto r) { good_key(r.initKey()); });
  auto owner = core::shard_of_name({"default", "q"}, "k", 8);
  auto other = static_cast<shard_id>((value(owner) + 1) % 8);

  auto here = to_command(request, {7, {owner, 8}});
  auto there = to_command(request, {7, {other, 8}});

  ASSERT_TRUE(here);
  EXPECT_EQ(here->key->key, "k");
  ASSERT_FALSE(there);
  EXPECT_EQ(there.error().code, errc::invalid_argument);
}

TEST(OperatorConvert, ChangesTakeAnIdAndSomeAKey) {
  using schema::TaskChange;

  for (auto what :
       {TaskChange::CANCEL, TaskChange::PROMOTE, TaskChange::REDRIVE, TaskChange::PURGE})
    EXPECT_EQ(said_of_change(what, false), "fine");
  EXPECT_EQ(said_of_change(TaskChange::CANCEL, true), "fine");
  EXPECT_EQ(said_of_change(TaskChange::PROMOTE, true), "fine");
  EXPECT_EQ(
    said_of_change(TaskChange::REDRIVE, true),
    "invalid_argument: redrive takes a task's id, not its key");
  EXPECT_EQ(
    said_of_change(TaskChange::PURGE, true),
    "invalid_argument: purge takes a task's id, not its key");
  EXPECT_EQ(
    said_of_change(static_cast<TaskChange>(4), false),
    "unsupported: change 4 is not known to this coordinator");
}

TEST(OperatorConvert, EachChangeBecomesItsCommand) {
  auto request = change_request::build([](auto r) {
    r.setNumber(3);
    r.initTask().setSeq(5);
    r.setChange(schema::TaskChange::PURGE);
  });

  auto command = to_command(request, by);

  ASSERT_TRUE(command);
  const auto* purge = std::get_if<core::purge>(&*command);
  ASSERT_NE(purge, nullptr);
  EXPECT_EQ(purge->peer, 7u);
  EXPECT_EQ(purge->number, 3u);
  EXPECT_EQ(purge->seq, 5u);
}

TEST(OperatorConvert, AForcedTextIsAsLongAsWhatItStandsFor) {
  using schema::ForceKind;

  EXPECT_EQ(said_of_force(ForceKind::REVOKE, 0), "fine");
  EXPECT_EQ(
    said_of_force(ForceKind::REVOKE, 1),
    "too_large: text of a revoke is 1 bytes; it must be at most 0");
  EXPECT_EQ(said_of_force(ForceKind::COMPLETE, limits::result_bytes_max), "fine");
  EXPECT_EQ(
    said_of_force(ForceKind::COMPLETE, limits::result_bytes_max + 1),
    "too_large: result is 1048577 bytes; it must be at most 1048576");
  EXPECT_EQ(said_of_force(ForceKind::FAIL, limits::error_text_bytes_max), "fine");
  EXPECT_EQ(
    said_of_force(ForceKind::FAIL, limits::error_text_bytes_max + 1),
    "too_large: error text is 16385 bytes; it must be at most 16384");
  EXPECT_EQ(
    said_of_force(static_cast<ForceKind>(3), 0),
    "unsupported: force 3 is not known to this coordinator");
}

TEST(OperatorConvert, QueueSettingsAreChecked) {
  EXPECT_EQ(said_of_settings([](auto) {}), "fine");
  EXPECT_EQ(
    said_of_settings([](auto s) { s.getDefaults().setMaxAttempts(0); }),
    "invalid_argument: max_attempts is 0; it must be 1..1000");
  EXPECT_EQ(
    said_of_settings([](auto s) { s.getDefaults().setLeaseMs(1); }),
    "invalid_argument: lease is 1 ms; it must be 1000..43200000 ms");
  EXPECT_EQ(
    said_of_settings([](auto s) { s.getDefaults().setRetentionMs(1); }),
    "invalid_argument: retention is 1 ms; it must be 1 h, 1 d, 7 d, 30 d or 1 y");
  EXPECT_EQ(
    said<schema::QueueRequest>([](auto request) { request.initQueue().setTenant("default"); }),
    "invalid_argument: queue is ``; " + name_rule);
}

TEST(OperatorConvert, QueueRequestsBecomeTheirCommands) {
  auto of = [](const std::function<void(schema::QueueRequest::Builder)>& choose) {
    auto request = queue_request::build([&](auto r) {
      r.setNumber(9);
      r.initQueue().setTenant("t");
      r.getQueue().setQueue("q");
      choose(r);
    });
    return *to_command(request, by);
  };

  EXPECT_TRUE(std::holds_alternative<core::show_queue>(of([](auto r) { r.setShow(); })));
  EXPECT_TRUE(std::get<core::show_queue>(of([](auto r) { r.setExplain(); })).is_explained);
  auto listed = std::get<core::show_queue>(of([](auto r) {
    r.initFairness().setAfter(as_data("k"));
    r.getFairness().setLimit(3);
  }));
  ASSERT_TRUE(listed.fairness);
  EXPECT_EQ(listed.fairness->after, "k");
  EXPECT_EQ(listed.fairness->limit, 3u);
  EXPECT_FALSE(listed.fairness->from_start);
  EXPECT_TRUE(listed.is_explained) << "how slots are used says how long keys wait";
  EXPECT_TRUE(std::get<core::pause_queue>(of([](auto r) { r.setPause(); })).paused);
  EXPECT_FALSE(std::get<core::pause_queue>(of([](auto r) { r.setResume(); })).paused);
  auto configure = std::get<core::configure_queue>(of([](auto r) {
    r.initSet().initDefaults().setLeaseMs(5000);
    r.getSet().setMaxDepthWhole(10);
    r.getSet().setMaxLeasedWhole(11);
    r.getSet().setKeepPayload(true);
    r.getSet().setPaused(true);
    auto failures = r.getSet().initFailures();
    failures.setQuarantineAfter(3);
    failures.setPausePercent(40);
    failures.setPauseWindowMs(5000);
    r.getSet().setFairnessHeader("customer");
    auto weight = r.getSet().initFairnessWeights(1)[0];
    weight.setKey(as_data("vip"));
    weight.setWeight(9);
  }));
  EXPECT_EQ(configure.number, 9u);
  EXPECT_EQ(configure.queue, (queue_address{"t", "q"}));
  EXPECT_EQ(configure.config.defaults.lease, 5s);
  EXPECT_EQ(configure.config.max_depth, 10u);
  EXPECT_EQ(configure.config.max_leased, 11u);
  EXPECT_TRUE(configure.config.keep_payload);
  EXPECT_EQ(configure.config.quarantine_after, 3u);
  EXPECT_EQ(configure.config.pause_when_failing, (failure_breaker{40, 5s}));
  EXPECT_EQ(configure.config.fairness_header, "customer");
  EXPECT_EQ(configure.config.fairness_weights.at("vip"), 9u);
}

TEST(OperatorConvert, SettingsOfAVersionWithoutWeightsKeepThoseOfTheQueue) {
  auto changes_of = [](const std::function<void(schema::QueueRequest::Builder)>& fill) {
    auto request = queue_request::build([&](auto r) {
      r.initQueue().setTenant("t");
      r.getQueue().setQueue("q");
      r.initSet().initDefaults();
      fill(r);
    });
    return std::get<core::configure_queue>(*to_command(request, by)).weights;
  };
  auto add = [](auto weight, const std::string& key, std::uint32_t is) {
    weight.setKey(as_data(key));
    weight.setWeight(is);
  };

  EXPECT_EQ(changes_of(shorten_settings), weight_changes{});
  EXPECT_EQ(changes_of([](auto) {}), std::nullopt) << "how some clients write an empty list";
  EXPECT_EQ(changes_of([](auto r) { r.getSet().initFairnessWeights(0); }), std::nullopt);
  EXPECT_EQ(
    changes_of([&](auto r) { add(r.getSet().initFairnessWeights(1)[0], "a", 2); }), std::nullopt);
  EXPECT_EQ(
    changes_of([&](auto r) {
      add(r.getSet().initFairnessWeights(1)[0], "a", 2);
      add(r.initWeightChanges(1)[0], "b", 0);
    }),
    (weight_changes{{"b", 0}}));
}

TEST(OperatorConvert, WeightsForEarlierVersionsAreNotReadBesideChanges) {
  auto request = queue_request::build([](auto r) {
    r.initQueue().setTenant("t");
    r.getQueue().setQueue("q");
    r.initSet().initDefaults();
    r.getSet().initFairnessWeights(limits::fairness_weights_max + 1);
    r.initWeightChanges(0);
  });

  auto command = to_command(request, by);

  ASSERT_TRUE(command) << to_string(command.error());
  auto configure = std::get<core::configure_queue>(*command);
  EXPECT_EQ(configure.weights, weight_changes{});
  EXPECT_TRUE(configure.config.fairness_weights.empty());
}

TEST(OperatorConvert, ChangesOfWeightsAreChecked) {
  auto said_of = [](std::size_t count, const std::string& key, std::uint32_t weight) {
    return said<schema::QueueRequest>([&](auto request) {
      request.initQueue().setTenant("default");
      request.getQueue().setQueue("q");
      request.setWeigh();
      for (auto one : request.initWeightChanges(static_cast<capnp::uint>(count))) {
        one.setKey(as_data(key));
        one.setWeight(weight);
      }
    });
  };

  EXPECT_EQ(said_of(1, "k", 0), "fine");
  EXPECT_EQ(said_of(1, "k", 1000), "fine");
  EXPECT_EQ(
    said_of(1, "k", 1001), "invalid_argument: a fairness weight is 1001; it must be 0..1000");
  EXPECT_EQ(
    said_of(1, std::string(257, 'k'), 1),
    "too_large: a fairness key is 257 bytes; it must be at most 256");
  EXPECT_EQ(said_of(2, "k", 1), "invalid_argument: fairness_weights: a key is given twice");
  EXPECT_EQ(
    said_of(101, "k", 1),
    "invalid_argument: the number of fairness_weights is 101; it must be 0..100");
  EXPECT_EQ(
    said_of_settings([](auto s) { s.initFairnessWeights(1); }),
    "invalid_argument: a fairness weight is 0; it must be 1..1000");
}

TEST(OperatorConvert, FiltersAreChecked) {
  EXPECT_EQ(said_of_filter([](auto) {}), "fine");
  EXPECT_EQ(said_of_filter([](auto f) { f.setLimit(1000); }), "fine");
  EXPECT_EQ(
    said_of_filter([](auto f) { f.setTenant(""); }),
    "invalid_argument: tenant is ``; " + name_rule);
  EXPECT_EQ(
    said_of_filter([](auto f) { f.setQueue("a/b"); }),
    "invalid_argument: queue is `a/b`; " + name_rule);
  EXPECT_EQ(
    said_of_filter([](auto f) { f.setLimit(0); }),
    "invalid_argument: limit is 0; it must be 1..1000");
  EXPECT_EQ(
    said_of_filter([](auto f) { f.setLimit(1001); }),
    "invalid_argument: limit is 1001; it must be 1..1000");
  EXPECT_EQ(
    said_of_filter([](auto f) { f.setState(static_cast<schema::TaskState>(7)); }),
    "unsupported: a filter's state 7 is not known to this coordinator");
}

TEST(OperatorConvert, BulkChangesSayTheirStateByTheirKind) {
  auto said_of_bulk = [](schema::BulkKind what, bool with_state) {
    return said<schema::BulkRequest>([&](auto request) {
      request.setWhat(what);
      request.initFilter().setTenant("default");
      request.getFilter().setLimit(10);
      if (with_state)
        request.getFilter().setState(schema::TaskState::DEAD);
    });
  };

  EXPECT_EQ(said_of_bulk(schema::BulkKind::PURGE_ALL, false), "fine");
  EXPECT_EQ(
    said_of_bulk(schema::BulkKind::REDRIVE, true),
    "invalid_argument: state is dead; it must be left out: the kind of change says it");
  EXPECT_EQ(
    said_of_bulk(static_cast<schema::BulkKind>(7), false),
    "unsupported: bulk change 7 is not known to this coordinator");
}

TEST(OperatorConvert, FiltersOfListsAreChecked) {
  auto said_has = [](const std::string& part, auto change) {
    auto text = said_of_filter(change);
    return text.find(part) != text.npos ? "yes" : text;
  };

  EXPECT_EQ(said_of_filter([](auto f) { f.setGroup(as_data("g")); }), "fine");
  EXPECT_EQ(said_has("group", [](auto f) { f.setGroup(as_data(std::string(257, 'g'))); }), "yes");
  EXPECT_EQ(said_has("key", [](auto f) { f.setKey(as_data(std::string(257, 'k'))); }), "yes");
  EXPECT_EQ(said_has("error", [](auto f) { f.setError(std::string(16385, 'e')); }), "yes");
  EXPECT_EQ(said_has("workers is 17; it must be 0..16", [](auto f) { f.initWorkers(17); }), "yes");
  EXPECT_EQ(said_has("headers is 17; it must be 0..16", [](auto f) { f.initHeaders(17); }), "yes");
  EXPECT_EQ(said_has("a header's name", [](auto f) { f.initHeaders(1)[0].setValue("v"); }), "yes");
  EXPECT_EQ(said_has("after", [](auto f) { f.setAfter(~0ull); }), "yes");
  EXPECT_EQ(said_has("below", [](auto f) { f.setBelow(1ull << 63); }), "yes");
}

TEST(OperatorConvert, ListsOfDeadTasksAreChecked) {
  auto said_of_tasks = [](schema::BulkKind what, const std::vector<std::uint64_t>& tasks) {
    return said<schema::BulkRequest>([&](auto request) {
      request.setWhat(what);
      request.initFilter().setTenant("default");
      request.getFilter().setLimit(10);
      auto list = request.initTasks(static_cast<capnp::uint>(tasks.size()));
      for (capnp::uint i = 0; i < list.size(); ++i)
        list[i].setSeq(tasks[i]);
    });
  };
  using kind = schema::BulkKind;

  EXPECT_EQ(said_of_tasks(kind::REDRIVE_LISTED, {1, 2, 5}), "fine");
  EXPECT_EQ(
    said_of_tasks(kind::COUNT_PURGE, {}), "invalid_argument: tasks is 0; it must be 1..1000");
  EXPECT_EQ(
    said_of_tasks(kind::PURGE_LISTED, std::vector<std::uint64_t>(1001, 1)),
    "invalid_argument: tasks is 1001; it must be 1..1000");
  EXPECT_EQ(
    said_of_tasks(kind::PURGE_LISTED, {1, 1}),
    "invalid_argument: tasks is not in order; it must be in ascending order");
  EXPECT_EQ(said_of_tasks(kind::REDRIVE, {1}), "invalid_argument: tasks is 1; it must be 0..0");
  EXPECT_EQ(
    said<schema::BulkRequest>([](auto request) {
      request.initFilter().setTenant("default");
      request.getFilter().setLimit(10);
      request.getFilter().setError("e");
    }),
    "invalid_argument: a change of many tasks takes tenant and queue; list the tasks first");
}

TEST(OperatorConvert, ARefusalHasTheNumberAndTheReason) {
  auto refusal = make_refusal<schema::ForceRequest>(4, {errc::too_large, "why"});

  auto text = refusal.read([](auto reply) -> result<std::string> {
    return std::to_string(reply.getNumber()) + " "
           + std::string(to_string(from_schema(reply.getCode()))) + " "
           + std::string(reply.getContext().cStr());
  });
  EXPECT_EQ(*text, "4 too_large why");
}

} // namespace codeq::protocol
