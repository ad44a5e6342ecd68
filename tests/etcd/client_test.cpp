// SPDX-License-Identifier: Apache-2.0
// The client of etcd against real etcd processes.
#include "etcd/client.hpp"

#include "etcd/engine.hpp"
#include "etcd/etcd_limits.hpp"
#include "etcd/watcher.hpp"
#include "support/certificate_authority.hpp"
#include "support/channel.hpp"
#include "support/etcd_cluster.hpp"
#include "support/tcp_proxy.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <future>

namespace codeq::etcd {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// The limit of calls that the test leaves without an answer.
constexpr duration short_limit = 400ms;

/// A client whose functions wait for their ends.
class waiting_client {
public:
  explicit waiting_client(
    const std::string& urls, header known = {}, duration call_limit = limits::call)
    : waiting_client({parse_member_urls(urls).value(), nullptr, known, call_limit}) {}

  explicit waiting_client(client::options how) : client_(std::move(how)) {}

  swap_answer decide(swap what) {
    std::promise<swap_answer> answer;
    client_.decide(std::move(what), [&](const swap_answer& made) { answer.set_value(made); });
    return answer.get_future().get();
  }

  /// Repeats a swap until it is decided.
  swap_answer decide_surely(const swap& what) {
    for (int i = 0; i < 30; ++i)
      if (auto made = decide(what);
          made.end == swap_end::applied || made.end == swap_end::not_applied)
        return made;
    return {};
  }

  result<range_answer> read(key_range what) {
    std::promise<result<range_answer>> answer;
    client_.read(std::move(what), [&](const auto& read) { answer.set_value(read); });
    return answer.get_future().get();
  }

  result<lease_answer> grant(duration length) {
    std::promise<result<lease_answer>> answer;
    client_.grant(length, [&](const auto& lease) { answer.set_value(lease); });
    return answer.get_future().get();
  }

  result<lease_answer> keep_alive(std::uint64_t lease) {
    std::promise<result<lease_answer>> answer;
    client_.keep_alive(lease, [&](const auto& kept) { answer.set_value(kept); });
    return answer.get_future().get();
  }

  result<lease_answer> revoke(std::uint64_t lease) {
    std::promise<result<lease_answer>> answer;
    client_.revoke(lease, [&](const auto& gone) { answer.set_value(gone); });
    return answer.get_future().get();
  }

  client* operator->() { return &client_; }

private:
  client client_;
};

/// Waits until etcd answers.
void wait_for(test::etcd_cluster& etcd, waiting_client& with) {
  for (int i = 0; i < 10; ++i)
    if (with.read(range_of_prefix("k")))
      return;
  FAIL() << "etcd cannot be started:\n" << etcd.log();
}

/// One etcd for many tests; each of them uses keys of its own.
class EtcdClient : public testing::Test {
protected:
  static void SetUpTestSuite() {
    etcd_ = std::make_unique<test::etcd_cluster>(1);
    waiting_client first(etcd_->urls());
    wait_for(*etcd_, first);
  }

  static void TearDownTestSuite() { etcd_.reset(); }

  static inline std::unique_ptr<test::etcd_cluster> etcd_;
};

TEST_F(EtcdClient, DecidesByTheExactValue) {
  waiting_client client(etcd_->urls());

  const auto created = client.decide({"exact", std::nullopt, "one"});
  EXPECT_EQ(created.end, swap_end::applied) << created.words;
  EXPECT_EQ(created.current, "one");
  const auto late = client.decide({"exact", std::nullopt, "other"});
  EXPECT_EQ(late.end, swap_end::not_applied);
  EXPECT_EQ(late.current, "one");
  EXPECT_EQ(client.decide({"exact", "one", "two"}).end, swap_end::applied);
  EXPECT_EQ(client.decide({"exact", "one", "three"}).current, "two");
  EXPECT_EQ(client.decide({"exact", "two", std::nullopt}).end, swap_end::applied);
  EXPECT_EQ(client.decide({"exact", "two", "three"}).current, std::nullopt);
}

TEST_F(EtcdClient, RepeatedSwapIsAppliedOnce) {
  waiting_client client(etcd_->urls());

  const auto first = client.decide({"repeated", std::nullopt, "one"});
  const auto second = client.decide({"repeated", std::nullopt, "one"});

  EXPECT_EQ(first.end, swap_end::applied);
  EXPECT_EQ(second.end, swap_end::applied);
  EXPECT_EQ(second.revision, first.revision);
}

TEST_F(EtcdClient, SwapThatChangesNothingIsARead) {
  waiting_client client(etcd_->urls());
  EXPECT_EQ(client.decide({"read", std::nullopt, std::nullopt}).end, swap_end::applied);
  client.decide({"read", std::nullopt, std::string("\0\xff", 2)});

  EXPECT_EQ(client.decide({"read", "guess", "guess"}).current, std::string("\0\xff", 2));
}

TEST_F(EtcdClient, ReadsManyKeysByPages) {
  waiting_client client(etcd_->urls());
  constexpr std::size_t count = limits::page_keys * 2 + 7;
  std::atomic<std::size_t> left = count;
  std::promise<void> written;
  for (std::size_t i = 0; i < count; ++i)
    client->decide(
      {"page/" + std::to_string(1000 + i), std::nullopt, std::to_string(i)},
      [&](const swap_answer&) {
        if (--left == 0)
          written.set_value();
      });
  written.get_future().get();

  const auto read = client.read(range_of_prefix("page/"));

  ASSERT_TRUE(read) << to_string(read.error());
  ASSERT_EQ(read->found.size(), count);
  EXPECT_EQ(read->count, count);
  EXPECT_EQ(read->found.back().key, "page/" + std::to_string(1000 + count - 1));
  auto since = range_of_prefix("page/");
  since.modified_since = read->found.back().modified;
  const auto news = client.read(since);
  ASSERT_TRUE(news);
  EXPECT_LT(news->found.size(), 40u);
  EXPECT_GE(news->found.size(), 1u);
  EXPECT_EQ(news->count, count);
}

TEST_F(EtcdClient, ReadsNoMoreKeysThanAreAskedFor) {
  waiting_client client(etcd_->urls());
  for (const char* key : {"few/1", "few/2", "few/3"})
    client.decide({key, std::nullopt, "x"});
  auto first = range_of_prefix("few/");
  first.keys_max = 2;

  const auto read = client.read(first);

  ASSERT_TRUE(read) << to_string(read.error());
  ASSERT_EQ(read->found.size(), 2u);
  EXPECT_EQ(read->found.back().key, "few/2");
  EXPECT_EQ(read->count, 3u);
}

TEST_F(EtcdClient, LeaseThatEndsTakesItsKeyAlong) {
  waiting_client client(etcd_->urls());
  test::channel<entry> changes;
  std::promise<void> begun;
  client->watch(
    {range_of_prefix("leased/"),
     [&](const watch_line& line) {
       for (const auto& change : line.changes)
         changes.push(change);
     },
     [&] { begun.set_value(); },
     [](const std::string&) {}});
  begun.get_future().get();

  const auto lease = client.grant(1s);
  ASSERT_TRUE(lease) << to_string(lease.error());
  EXPECT_GT(client.keep_alive(lease->id)->remaining, 0s);
  client.decide({"leased/a", std::nullopt, "x", lease->id});
  EXPECT_EQ(changes.pop()->value, "x");

  const auto gone = changes.pop();
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->key, "leased/a");
  EXPECT_EQ(gone->value, std::nullopt);
  EXPECT_EQ(client.keep_alive(lease->id)->remaining, 0s);
  const auto refused = client.decide({"leased/a", std::nullopt, "y", lease->id});
  EXPECT_EQ(refused.end, swap_end::unknown);
  EXPECT_NE(refused.words.find("requested lease not found"), std::string::npos) << refused.words;
}

TEST_F(EtcdClient, RevokedLeaseEndsAtOnce) {
  waiting_client client(etcd_->urls());
  const auto lease = client.grant(60s);
  ASSERT_TRUE(lease);
  client.decide({"revoked", std::nullopt, "x", lease->id});

  EXPECT_TRUE(client.revoke(lease->id));
  EXPECT_TRUE(client.revoke(lease->id)) << "it is gone";
  EXPECT_EQ(client.decide({"revoked", std::nullopt, std::nullopt}).end, swap_end::applied);
}

TEST_F(EtcdClient, SwapWithoutAnAnswerIsUnknownAndFoundOutByRepeatingIt) {
  test::tcp_proxy proxy(etcd_->port(0));
  waiting_client client("http://127.0.0.1:" + std::to_string(proxy.port()), {}, short_limit);
  ASSERT_EQ(client.decide({"unknown", std::nullopt, "old"}).end, swap_end::applied);
  proxy.lose_answers(true);
  const auto began = steady::now();

  const auto lost = client.decide({"unknown", "old", "new"});

  EXPECT_EQ(lost.end, swap_end::unknown);
  EXPECT_EQ(lost.current, std::nullopt);
  EXPECT_NE(lost.words.find("to change unknown"), std::string::npos) << lost.words;
  EXPECT_NE(lost.words.find("no answer"), std::string::npos) << lost.words;
  EXPECT_GE(steady::now() - began, short_limit);
  proxy.lose_answers(false);
  const auto found = client.decide({"unknown", "old", "new"});
  EXPECT_EQ(found.end, swap_end::applied);
  EXPECT_EQ(found.current, "new");
}

TEST_F(EtcdClient, UnknownSwapThatLostIsFoundOutByRepeatingIt) {
  test::tcp_proxy proxy(etcd_->port(0));
  waiting_client client("http://127.0.0.1:" + std::to_string(proxy.port()), {}, short_limit);
  waiting_client other(etcd_->urls());
  other.decide({"overtaken", std::nullopt, "old"});
  proxy.lose_answers(true);
  EXPECT_EQ(client.decide({"overtaken", "older", "new"}).end, swap_end::unknown);
  other.decide({"overtaken", "old", "others"});
  proxy.lose_answers(false);

  const auto found = client.decide({"overtaken", "older", "new"});

  EXPECT_EQ(found.end, swap_end::not_applied);
  EXPECT_EQ(found.current, "others");
}

TEST_F(EtcdClient, ConnectionThatWasClosedMeanwhileIsOpenedAgain) {
  test::tcp_proxy proxy(etcd_->port(0));
  waiting_client client("http://127.0.0.1:" + std::to_string(proxy.port()));
  ASSERT_TRUE(client.read(range_of_prefix("none")));
  proxy.cut();
  const auto began = steady::now();

  EXPECT_TRUE(client.read(range_of_prefix("none")));

  EXPECT_LT(steady::now() - began, limits::unanswered);
}

TEST_F(EtcdClient, WatchGoesOnAfterACutWithoutLosingAChange) {
  test::tcp_proxy proxy(etcd_->port(0));
  waiting_client other(etcd_->urls());
  waiting_client client("http://127.0.0.1:" + std::to_string(proxy.port()));
  test::channel<entry> changes;
  test::channel<std::string> cuts;
  std::promise<void> begun;
  client->watch(
    {range_of_prefix("watched/"),
     [&](const watch_line& line) {
       for (const auto& change : line.changes)
         changes.push(change);
     },
     [&] { begun.set_value(); },
     [&](const std::string& why) { cuts.push(why); }});
  begun.get_future().get();
  other.decide({"watched/a", std::nullopt, "1"});
  EXPECT_EQ(changes.pop()->key, "watched/a");

  proxy.close(true);
  const auto why = cuts.pop();
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("the watch at http://127.0.0.1"), std::string::npos) << *why;
  other.decide({"watched/b", std::nullopt, "2"});
  proxy.close(false);

  const auto next = changes.pop();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->key, "watched/b");
  EXPECT_EQ(next->value, "2");
  EXPECT_GE(client->counts().watch_cuts, 1u);
}

TEST_F(EtcdClient, SilentWatchIsStartedAgainOnceAPollKnowsMore) {
  test::tcp_proxy proxy(etcd_->port(0));
  waiting_client other(etcd_->urls());
  waiting_client client("http://127.0.0.1:" + std::to_string(proxy.port()));
  test::channel<entry> changes;
  test::channel<std::string> cuts;
  std::promise<void> begun;
  client->watch(
    {range_of_prefix("silent/"),
     [&](const watch_line& line) {
       for (const auto& change : line.changes)
         changes.push(change);
     },
     [&] { begun.set_value(); },
     [&](const std::string& why) { cuts.push(why); }});
  begun.get_future().get();
  proxy.lose_answers(true);
  const auto changed = other.decide({"silent/a", std::nullopt, "1"});

  client->note_poll(changed.revision);

  EXPECT_NE(cuts.pop()->find("no change was told in time"), std::string::npos);
  proxy.lose_answers(false);
  const auto change = changes.pop();
  ASSERT_TRUE(change);
  EXPECT_EQ(change->key, "silent/a");
}

TEST_F(EtcdClient, AnotherEtcdIsRecognised) {
  waiting_client client(etcd_->urls(), {4711, 1});

  const auto read = client.read(range_of_prefix("k"));
  const auto made = client.decide({"foreign", std::nullopt, "x"});

  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::incompatible_store);
  EXPECT_NE(read.error().context.find("but 4711 is known"), std::string::npos);
  EXPECT_NE(read.error().context.find("CLUSTERS.md, Repair"), std::string::npos);
  EXPECT_EQ(made.end, swap_end::unknown);
  EXPECT_NE(client->replaced_because(), "");
}

TEST_F(EtcdClient, MemberOfAnotherEtcdIsPassedByAndToldOnce) {
  test::etcd_cluster other(1);
  waiting_client of_other(other.urls());
  wait_for(other, of_other);
  waiting_client first(etcd_->urls());
  ASSERT_TRUE(first.read(range_of_prefix("k")));
  // The same member under two URLs.
  test::tcp_proxy proxy(etcd_->port(0));
  test::channel<std::string> told;
  client::options how;
  how.members = parse_member_urls(
                  other.url(0) + "," + etcd_->url(0) + ",http://127.0.0.1:"
                  + std::to_string(proxy.port()))
                  .value();
  how.known = first->known();
  how.member_changed = [&](const member_url& member, const std::string& foreign_because) {
    told.push(to_string(member) + " " + foreign_because);
  };
  waiting_client client(std::move(how));

  EXPECT_EQ(client.decide({"beside", std::nullopt, "one"}).end, swap_end::applied);
  EXPECT_EQ(client.decide({"beside", "one", "two"}).end, swap_end::applied);

  const auto line = told.pop();
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->starts_with(other.url(0) + " it has cluster id ")) << *line;
  EXPECT_FALSE(told.pop(0ms));
}

TEST_F(EtcdClient, RestoredEtcdIsRecognisedByADecision) {
  waiting_client first(etcd_->urls());
  first.decide({"restored", std::nullopt, "x"});
  auto known = first->known();
  EXPECT_GT(known.revision, 1u);
  known.revision += 100'000;
  waiting_client client(etcd_->urls(), known);

  const auto made = client.decide({"restored", "x", "y"});

  EXPECT_EQ(made.end, swap_end::unknown);
  EXPECT_NE(made.words.find("restored or replaced"), std::string::npos) << made.words;
  EXPECT_NE(client->replaced_because().find("at revision"), std::string::npos);
}

TEST_F(EtcdClient, TooLargeValueIsNotSent) {
  waiting_client client(etcd_->urls());

  const auto made =
    client.decide({"large", std::nullopt, std::string(limits::value_bytes_max + 1, 'x')});

  EXPECT_EQ(made.end, swap_end::not_sent);
  EXPECT_NE(made.words.find("at most 16384"), std::string::npos) << made.words;
}

TEST(EtcdClientAlone, SaysThatNothingWasSentWhenNobodyListens) {
  waiting_client client("http://127.0.0.1:1,http://127.0.0.1:2", {}, short_limit);

  const auto made = client.decide({"k", std::nullopt, "x"});

  EXPECT_EQ(made.end, swap_end::not_sent);
  EXPECT_NE(made.words.find("http://127.0.0.1:1: Connection refused"), std::string::npos)
    << made.words;
  EXPECT_NE(made.words.find("http://127.0.0.1:2: Connection refused"), std::string::npos);
}

TEST(EtcdClientAlone, EndsWhileItIsConnecting) {
  test::channel<int> never;
  {
    client one({parse_member_urls("http://127.0.0.1:1").value(), nullptr, {}});
    one.decide({"k", std::nullopt, "x"}, [&](const swap_answer&) { never.push(1); });
  }
  EXPECT_FALSE(never.pop(0ms));
}

/// Three members, of which one follows; it is the first to be asked.
class EtcdClientOfThree : public testing::Test {
protected:
  void SetUp() override {
    waiting_client first(etcd_.urls());
    wait_for(etcd_, first);
    ASSERT_EQ(first.decide_surely({"k", std::nullopt, "0"}).end, swap_end::applied);
    leader_ = leader();
    follower_ = (leader_ + 1) % 3;
  }

  std::size_t leader() {
    for (std::size_t i = 0; i < 3; ++i) {
      const auto command =
        "curl --silent --request POST " + etcd_.url(i) + "/v3/maintenance/status --data '{}'";
      std::string text(4096, '\0');
      auto* out = ::popen(command.c_str(), "r");
      text.resize(std::fread(text.data(), 1, text.size(), out));
      ::pclose(out);
      const auto number_after = [&text](const std::string& name) {
        const auto at = text.find("\"" + name + "\":\"");
        return at == std::string::npos
                 ? std::string()
                 : text.substr(at + name.size() + 4, text.find('"', at + name.size() + 4) - at);
      };
      const auto own = number_after("member_id");
      if (!own.empty() && own.substr(0, 10) == number_after("leader").substr(0, 10))
        return i;
    }
    ADD_FAILURE() << "no leader:\n" << etcd_.log();
    return 0;
  }

  /// A client that does not know its etcd asks several members which one they are of.
  [[nodiscard]] header known() const {
    waiting_client client(urls_from(0));
    EXPECT_TRUE(client.read(range_of_prefix("k")));
    return client->known();
  }

  [[nodiscard]] std::string urls_from(std::size_t first) const {
    return etcd_.url(first) + "," + etcd_.url((first + 1) % 3) + "," + etcd_.url((first + 2) % 3);
  }

  test::etcd_cluster etcd_{3};
  std::size_t leader_ = 0;
  std::size_t follower_ = 0;
};

TEST_F(EtcdClientOfThree, StoppedMemberIsPassedByAfter300Milliseconds) {
  waiting_client client(urls_from(follower_), known());
  ASSERT_TRUE(client.read(range_of_prefix("k")));
  etcd_.stop(follower_);
  auto began = steady::now();

  const auto made = client.decide({"k", "0", "1"});

  EXPECT_EQ(made.end, swap_end::applied) << made.words;
  EXPECT_GE(steady::now() - began, limits::unanswered - 2ms);
  EXPECT_LT(steady::now() - began, limits::unanswered * 3);
  EXPECT_GE(client->counts().repeated, 1u);
  began = steady::now();
  EXPECT_EQ(client.decide({"k", "1", "2"}).end, swap_end::applied);
  EXPECT_LT(steady::now() - began, limits::unanswered) << "the next member is asked first now";
  etcd_.go_on(follower_);
}

TEST_F(EtcdClientOfThree, KilledMemberIsPassedByAtOnce) {
  waiting_client client(urls_from(follower_), known());
  ASSERT_TRUE(client.read(range_of_prefix("k")));
  etcd_.kill(follower_);
  const auto began = steady::now();

  const auto made = client.decide({"k", "0", "1"});

  EXPECT_EQ(made.end, swap_end::applied) << made.words;
  EXPECT_LT(steady::now() - began, limits::unanswered);
}

TEST_F(EtcdClientOfThree, LossOfTheLeaderIsPassedOver) {
  waiting_client client(urls_from(leader_));
  etcd_.kill(leader_);

  const auto made = client.decide({"k", "0", "1"});

  EXPECT_EQ(made.end, swap_end::applied) << made.words;
  EXPECT_EQ(made.current, "1");
}

TEST_F(EtcdClientOfThree, WithoutAMajorityNothingIsDecided) {
  waiting_client client(urls_from(follower_), {}, short_limit);
  etcd_.kill(leader_);
  etcd_.kill((leader_ + 2) % 3);

  const auto lost = client.decide({"k", "0", "1"});

  EXPECT_EQ(lost.end, swap_end::unknown);
  EXPECT_NE(lost.words.find(etcd_.url(leader_) + ": Connection refused"), std::string::npos)
    << lost.words;
  etcd_.start(leader_);
  const auto found = client.decide_surely({"k", "0", "1"});
  EXPECT_EQ(found.end, swap_end::applied) << found.words;
}

TEST(EtcdClientSecured, NeedsCertificatesOfOneAuthority) {
  test::temporary_directory folder;
  test::certificate_authority authority(folder.path(), "good");
  test::certificate_authority foreign(folder.path(), "foreign");
  const auto own = authority.issue("etcd", "IP:127.0.0.1");
  test::etcd_cluster etcd(1, {own.certificate, own.key, authority.file()});
  const auto urls = parse_member_urls(etcd.urls()).value();
  const auto connect = [&](security::tls_files files) {
    files.authority = authority.file();
    return security::tls_source::open(files, security::tls_side::client).value();
  };

  waiting_client client({urls, connect(authority.issue("codeq", "DNS:codeq")), {}});
  wait_for(etcd, client);
  EXPECT_EQ(client.decide({"k", std::nullopt, "x"}).end, swap_end::applied);

  auto doubting = authority.issue("doubting", "DNS:codeq");
  doubting.authority = foreign.file();
  waiting_client mistrusts(
    {urls,
     security::tls_source::open(doubting, security::tls_side::client).value(),
     {},
     short_limit});
  const auto refused = mistrusts.decide({"k", "x", "y"});
  EXPECT_EQ(refused.end, swap_end::not_sent);
  EXPECT_NE(refused.words.find("certificate"), std::string::npos) << refused.words;
  EXPECT_EQ(mistrusts.read(range_of_prefix("k")).error().code, errc::unauthorized);

  waiting_client unknown({urls, connect(foreign.issue("unknown", "DNS:codeq")), {}, short_limit});
  EXPECT_NE(unknown.decide({"k", "x", "z"}).end, swap_end::applied);
  EXPECT_EQ(client.decide({"k", "guess", "guess"}).current, "x");
}

} // namespace
} // namespace codeq::etcd
