// The judge of connections and requests: rates, quotas and denials, with clients, sessions and
// clocks of the test's.
#include "server/limits/judge.h"

#include "protocol/lock_messages.h"
#include "security/limits/network.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;
using security::DenialScope;
using security::Limit;
using security::LimitScope;
using security::PrincipalKind;

constexpr std::uint64_t kWall = 1'000'000'000'000;

class Clients final : public protocol::ReplySink {
 public:
  void park(protocol::ConnectionId) override {}

  void unpark(protocol::ConnectionId) override {}

  void reply(protocol::ConnectionId connection,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload) override {
    last = slot;
    text.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
    if (judge != nullptr && slot.kind == RequestKind::WatchOpen) {
      judge->on_reply(connection, slot);  // As the front end does.
    }
  }

  std::optional<std::size_t> backlog_bytes(protocol::ConnectionId connection) const override {
    const auto found = unread.find(connection.value);
    return found == unread.end() ? 0 : found->second;
  }

  LimitJudge* judge = nullptr;
  protocol::ReplySlot last;
  std::string text;
  std::map<std::uint64_t, std::size_t> unread;
};

class LimitJudgeTest : public testing::Test {
 protected:
  LimitJudgeTest() {
    clients_.judge = &judge_;
    judge_.set_cut([this](protocol::ConnectionId connection) {
      cut_.push_back(connection.value);
      judge_.on_closed(connection);
    });
  }

  static security::AddressBits address(const std::string& text) {
    return security::parse_network(text)->bits;
  }

  // A client that has said Hello.
  ErrorCode connect(std::uint64_t id,
                    const std::string& user = {},
                    const std::string& from = "192.0.2.1") {
    const ErrorCode accepted = judge_.on_accepted(protocol::ConnectionId{id}, address(from));
    return accepted == ErrorCode::None ? identify(id, user) : accepted;
  }

  ErrorCode identify(std::uint64_t id, const std::string& user) {
    const security::Principal principal{
        user.empty() ? PrincipalKind::Anonymous : PrincipalKind::User, user};
    return judge_.on_identified({protocol::ConnectionId{id}, principal, peer_});
  }

  void set(LimitScope scope, const std::string& name, const Limit& limit) {
    table_.limits[{scope, name}] = limit;
    judge_.assign(table_);
  }

  void deny(DenialScope scope, const std::string& name) {
    table_.denials[{scope, name}] = {wall_ms_ + 60'000, "a test"};
    judge_.assign(table_);
  }

  bool pass(std::uint64_t id, RequestKind kind, const std::string& name = {}) {
    protocol::RequestSlot slot;
    slot.kind = kind;
    slot.session = session_;
    slot.flags = flags_;
    slot.ttl_ms = ttl_ms_;
    return judge_.pass(protocol::ConnectionId{id}, slot, protocol::bytes_of(name));
  }

  bool acquire(std::uint64_t id, const std::string& name = "a") {
    return pass(id, RequestKind::LockAcquire, name);
  }

  ErrorCode error() const { return static_cast<ErrorCode>(clients_.last.detail); }

  void opened(std::uint64_t id, std::uint64_t session) {
    protocol::ReplySlot reply;
    reply.kind = RequestKind::OpenSession;
    reply.extra = session;
    reply.ttl_ms = 10'000;
    judge_.on_reply(protocol::ConnectionId{id}, reply);
  }

  std::uint64_t limited(const char* what) {
    return metrics_.counter({"gcoord_server_requests_limited_total", "", "limit", what}).value();
  }

  MetricsRegistry metrics_;
  Clients clients_;
  std::uint64_t now_us_ = 5'000'000;
  std::uint64_t wall_ms_ = kWall;
  std::map<std::uint64_t, SessionLoad> loads_;
  std::vector<std::uint64_t> cut_;
  security::LimitTable table_;
  security::TlsPeer certificate_;
  const security::TlsPeer* peer_ = nullptr;
  std::uint64_t session_ = 0;
  std::uint16_t flags_ = 0;
  std::uint32_t ttl_ms_ = 0;
  std::map<std::pair<std::uint64_t, std::string>, std::uint32_t> ttls_of_names_;
  LimitJudge judge_{{.clients = clients_,
                     .load = [this](SessionId session) { return loads_[session.value]; },
                     .session_ttl_ms =
                         [this](const protocol::RequestSlot& slot, std::string_view name) {
                           return ttls_of_names_[{slot.session, std::string{name}}];
                         },
                     .now_us = [this] { return now_us_; },
                     .wall_ms = [this] { return wall_ms_; },
                     .defaults = {.connections = 3, .sessions = 2}},
                    metrics_};
};

TEST_F(LimitJudgeTest, ARateIsOfAPrincipalWhateverItsConnections) {
  connect(1, "ann");
  connect(2, "ann", "192.0.2.2");
  connect(3, "bob");
  set(LimitScope::Principal, "ann", {.rate = 10, .burst = 4});
  int passed = 0;
  for (int k = 0; k < 100; ++k) {
    passed += acquire(1) ? 1 : 0;
    passed += acquire(2) ? 1 : 0;
    ASSERT_TRUE(acquire(3));
  }
  EXPECT_EQ(passed, 4);
  EXPECT_EQ(error(), ErrorCode::RateExceeded);
  EXPECT_EQ(clients_.last.extra, 100u);  // A tenth of a second for a token.
  EXPECT_EQ(limited("rate"), 196u);
  now_us_ += 100'000;
  EXPECT_TRUE(acquire(2));
  EXPECT_FALSE(acquire(1));
}

TEST_F(LimitJudgeTest, WhatKeepsAliveAndGivesBackIsNeverLimited) {
  connect(1, "ann");
  set(LimitScope::Principal, "ann", {.rate = 1, .burst = 1});
  set(LimitScope::Prefix, "a", {.rate = 1, .burst = 1});
  EXPECT_TRUE(acquire(1));
  EXPECT_FALSE(acquire(1));
  for (const RequestKind kind : {RequestKind::KeepAlive,
                                 RequestKind::LockRelease,
                                 RequestKind::LockCancel,
                                 RequestKind::CloseSession,
                                 RequestKind::WatchClose,
                                 RequestKind::GroupLeave,
                                 RequestKind::RendezvousLeave,
                                 RequestKind::LimitsChange}) {
    EXPECT_TRUE(pass(1, kind, "a")) << protocol::request_kind_name(kind);
  }
}

TEST_F(LimitJudgeTest, APrefixIsOfAllClientsAndTheLongestCounts) {
  connect(1, "ann");
  connect(2);
  set(LimitScope::Prefix, "jobs/", {.rate = 1, .burst = 3});
  set(LimitScope::Prefix, "jobs/big/", {.rate = 1, .burst = 1});
  EXPECT_TRUE(acquire(1, "jobs/big/a"));
  EXPECT_FALSE(acquire(2, "jobs/big/b"));
  EXPECT_TRUE(acquire(1, "jobs/a"));
  EXPECT_TRUE(acquire(2, "jobs/a"));
  EXPECT_TRUE(acquire(2, "jobs/a"));
  EXPECT_FALSE(acquire(1, "jobs/a"));
  EXPECT_TRUE(acquire(1, "job"));
  EXPECT_EQ(limited("prefix_rate"), 2u);
}

TEST_F(LimitJudgeTest, TheOwnLimitCountsThenNobodysThenEachs) {
  set(LimitScope::Principal, "*", {.rate = 1, .burst = 1});
  set(LimitScope::Principal, "-", {.rate = 1, .burst = 2});
  set(LimitScope::Principal, "root", {});
  connect(1, "ann");
  connect(2);
  connect(3, "", "192.0.2.9");
  connect(4, "root");
  EXPECT_TRUE(acquire(1));
  EXPECT_FALSE(acquire(1));
  for (const std::uint64_t nobody : {2u, 3u}) {  // Each address for itself.
    EXPECT_TRUE(acquire(nobody));
    EXPECT_TRUE(acquire(nobody));
    EXPECT_FALSE(acquire(nobody));
  }
  for (int k = 0; k < 50; ++k) {
    EXPECT_TRUE(acquire(4));
  }
  set(LimitScope::Principal, "ann", {.locks = 7});  // Instead of that of each.
  EXPECT_TRUE(acquire(1));
}

TEST_F(LimitJudgeTest, ReconnectingGivesNoNewBucket) {
  set(LimitScope::Principal, "-", {.rate = 1, .burst = 2});
  for (std::uint64_t id = 1; id <= 5; ++id) {
    connect(id);
    EXPECT_EQ(acquire(id), id <= 2) << id;
    judge_.on_closed(protocol::ConnectionId{id});
  }
}

TEST_F(LimitJudgeTest, ConnectionsOfAnIdentityAreBoundedByDefault) {
  for (std::uint64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(connect(id, "ann"), ErrorCode::None);
  }
  EXPECT_EQ(connect(4, "ann"), ErrorCode::IdentityConnectionsFull);
  judge_.on_closed(protocol::ConnectionId{4});
  EXPECT_EQ(connect(5, "bob"), ErrorCode::None);
  for (std::uint64_t id = 10; id < 20; ++id) {
    EXPECT_EQ(connect(id), ErrorCode::None);  // Its address has a limit of its own.
  }
  EXPECT_EQ(identify(10, "ann"), ErrorCode::IdentityConnectionsFull);
  judge_.on_closed(protocol::ConnectionId{1});
  EXPECT_EQ(identify(11, "ann"), ErrorCode::None);
  set(LimitScope::Principal, "ann", {.connections = 4});
  EXPECT_EQ(connect(21, "ann"), ErrorCode::None);
  EXPECT_EQ(connect(22, "ann"), ErrorCode::IdentityConnectionsFull);
}

TEST_F(LimitJudgeTest, ANetworkHasItsConnectionsTogether) {
  connect(1, "ann", "198.51.100.1");
  set(LimitScope::Network, "198.51.100.0/24", {.connections = 2});
  EXPECT_EQ(connect(2, "bob", "198.51.100.2"), ErrorCode::None);
  EXPECT_EQ(connect(3, "cid", "198.51.100.3"), ErrorCode::IdentityConnectionsFull);
  EXPECT_EQ(connect(4, "cid", "198.51.101.3"), ErrorCode::None);
  judge_.on_closed(protocol::ConnectionId{1});
  EXPECT_EQ(connect(5, "cid", "198.51.100.3"), ErrorCode::None);
}

TEST_F(LimitJudgeTest, SessionsOfAnIdentityEndWithTheirTimeOrTheirClose) {
  connect(1, "ann");
  opened(1, 100);
  opened(1, 101);
  EXPECT_FALSE(pass(1, RequestKind::OpenSession));
  EXPECT_EQ(error(), ErrorCode::QuotaExceeded);
  loads_[100].known = true;
  now_us_ += 10'000'000;
  EXPECT_TRUE(pass(1, RequestKind::OpenSession));  // 101 is over, and nobody has it.
  opened(1, 102);
  EXPECT_FALSE(pass(1, RequestKind::OpenSession));
  session_ = 102;
  EXPECT_TRUE(pass(1, RequestKind::CloseSession));
  EXPECT_TRUE(pass(1, RequestKind::OpenSession));
  EXPECT_EQ(limited("sessions"), 2u);
}

TEST_F(LimitJudgeTest, NoRequestRegistersASessionWithALongerTtlThanItsIdentityMayHave) {
  connect(1, "ann");
  connect(2, "bob");
  set(LimitScope::Principal, "ann", {.session_ttl_ms = 30'000});
  ttl_ms_ = 30'000;
  EXPECT_TRUE(pass(1, RequestKind::OpenSession));
  ttl_ms_ = 30'001;
  for (const RequestKind kind : {RequestKind::OpenSession,
                                 RequestKind::SessionGrant,
                                 RequestKind::LockAcquire,
                                 RequestKind::LockAcquireHold,
                                 RequestKind::GroupJoin,
                                 RequestKind::GroupBarrier,
                                 RequestKind::RendezvousJoin}) {
    EXPECT_FALSE(pass(1, kind, "a")) << protocol::request_kind_name(kind);
    EXPECT_EQ(error(), ErrorCode::SessionTtlLimited) << protocol::request_kind_name(kind);
    EXPECT_EQ(clients_.last.extra, 0u);  // Waiting does not help.
    EXPECT_TRUE(pass(2, kind, "a")) << protocol::request_kind_name(kind);
  }
  EXPECT_NE(clients_.text.find("30000 ms"), std::string::npos) << clients_.text;
  EXPECT_EQ(limited("session_ttl_ms_max"), 7u);
  for (const RequestKind kind :
       {RequestKind::KeepAlive, RequestKind::LockRelease, RequestKind::CloseSession}) {
    EXPECT_TRUE(pass(1, kind, "a")) << protocol::request_kind_name(kind);
  }
}

TEST_F(LimitJudgeTest, WhatIsRefusedForItsTtlTakesATokenAllTheSame) {
  connect(1, "ann");
  set(LimitScope::Principal, "ann", {.rate = 10, .burst = 4, .session_ttl_ms = 5'000});
  ttl_ms_ = 6'000;
  for (int k = 0; k < 4; ++k) {
    EXPECT_FALSE(pass(1, RequestKind::OpenSession));
    EXPECT_EQ(error(), ErrorCode::SessionTtlLimited);
  }
  EXPECT_FALSE(pass(1, RequestKind::OpenSession));
  EXPECT_EQ(error(), ErrorCode::RateExceeded);
  ttl_ms_ = 5'000;
  EXPECT_FALSE(pass(1, RequestKind::OpenSession));
  now_us_ += 100'000;
  EXPECT_TRUE(pass(1, RequestKind::OpenSession));
}

// It may be granted, and the answer lost, before the limit came.
TEST_F(LimitJudgeTest, WhatAShardHasByALongerTtlAlreadyIsAskedForAgain) {
  connect(1, "ann");
  set(LimitScope::Principal, "ann", {.session_ttl_ms = 5'000});
  session_ = 100;
  ttls_of_names_[{100, "a"}] = 20'000;
  ttl_ms_ = 20'000;
  EXPECT_TRUE(pass(1, RequestKind::LockAcquire, "a"));
  EXPECT_FALSE(pass(1, RequestKind::SessionGrant, "a"));
  EXPECT_FALSE(pass(1, RequestKind::LockAcquire, "b")) << "another shard would have it anew";
  ttl_ms_ = 20'001;
  EXPECT_FALSE(pass(1, RequestKind::LockAcquire, "a")) << "longer than that";
  ttl_ms_ = 20'000;
  session_ = 101;
  EXPECT_FALSE(pass(1, RequestKind::LockAcquire, "a"));
}

TEST_F(LimitJudgeTest, ALimitOfTheTtlOfEachIsOfNobodyToo) {
  connect(1);
  set(LimitScope::Principal, "*", {.session_ttl_ms = 5'000});
  ttl_ms_ = 6'000;
  EXPECT_FALSE(pass(1, RequestKind::OpenSession));
  set(LimitScope::Principal, "-", {});
  EXPECT_TRUE(pass(1, RequestKind::OpenSession));
}

TEST_F(LimitJudgeTest, LocksAndWaitersOfAllSessionsCount) {
  connect(1, "ann");
  set(LimitScope::Principal, "ann", {.locks = 3, .waiters = 1});
  loads_[100] = {.known = true, .locks = 1, .waiters = 0};
  loads_[101] = {.known = true, .locks = 1, .waiters = 0};
  opened(1, 100);
  session_ = 101;  // Opened at another node.
  EXPECT_TRUE(acquire(1));
  loads_[101].locks = 2;
  EXPECT_FALSE(acquire(1));
  EXPECT_EQ(error(), ErrorCode::QuotaExceeded);
  EXPECT_TRUE(pass(1, RequestKind::LockRelease, "a"));
  loads_[101] = {.known = true, .locks = 1, .waiters = 1};
  EXPECT_TRUE(acquire(1));
  flags_ = static_cast<std::uint16_t>(protocol::RequestFlag::Wait);
  EXPECT_TRUE(pass(1, RequestKind::LockRelease, "a"));
  EXPECT_FALSE(acquire(1));
  EXPECT_EQ(limited("locks"), 1u);
  EXPECT_EQ(limited("waiters"), 1u);
}

TEST_F(LimitJudgeTest, WatchesCountUntilTheirLastAnswer) {
  connect(1, "ann");
  EXPECT_TRUE(pass(1, RequestKind::WatchOpen));  // Before there is a limit.
  set(LimitScope::Principal, "ann", {.watches = 2});
  EXPECT_TRUE(pass(1, RequestKind::WatchOpen));
  EXPECT_FALSE(pass(1, RequestKind::WatchOpen));
  EXPECT_FALSE(pass(1, RequestKind::WatchOpen));
  protocol::ReplySlot ended;
  ended.kind = RequestKind::WatchOpen;
  judge_.on_reply(protocol::ConnectionId{1}, ended);
  EXPECT_TRUE(pass(1, RequestKind::WatchOpen));
  EXPECT_FALSE(pass(1, RequestKind::WatchOpen));
  judge_.on_closed(protocol::ConnectionId{1});
  connect(2, "ann");
  EXPECT_TRUE(pass(2, RequestKind::WatchOpen));
}

TEST_F(LimitJudgeTest, UnreadRepliesOfAllConnectionsCount) {
  connect(1, "ann");
  connect(2, "ann");
  set(LimitScope::Principal, "ann", {.bytes = 1'000});
  clients_.unread = {{1, 600}, {2, 600}};
  EXPECT_TRUE(acquire(1));
  judge_.advance();
  EXPECT_FALSE(acquire(2));
  clients_.unread.clear();
  now_us_ += 1'000'000;
  judge_.advance();
  EXPECT_TRUE(acquire(2));
}

TEST_F(LimitJudgeTest, ADenialCutsWhomItIsAboutAndEndsByItself) {
  certificate_ = {.uris = {"spiffe://example.org/db"}, .common_name = "db1", .serial = "0af3"};
  connect(1, "ann");
  connect(2, "bob", "198.51.100.7");
  peer_ = &certificate_;
  connect(3, "db1");
  peer_ = nullptr;
  deny(DenialScope::Principal, "ann");
  EXPECT_TRUE(cut_.empty());  // Not within the turn.
  judge_.advance();
  EXPECT_EQ(cut_, std::vector<std::uint64_t>{1});
  EXPECT_EQ(connect(4, "ann"), ErrorCode::Denied);
  deny(DenialScope::Network, "198.51.100.0/24");
  judge_.advance();
  EXPECT_EQ(cut_, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(connect(5, "cid", "198.51.100.8"), ErrorCode::Denied);
  deny(DenialScope::Serial, "0AF3");
  judge_.advance();
  EXPECT_EQ(cut_, (std::vector<std::uint64_t>{1, 2, 3}));
  peer_ = &certificate_;
  EXPECT_EQ(connect(6, "db1"), ErrorCode::Denied);
  wall_ms_ += 60'000;
  EXPECT_EQ(connect(7, "db1"), ErrorCode::None);
  peer_ = nullptr;
  EXPECT_EQ(connect(8, "ann", "198.51.100.8"), ErrorCode::None);
  deny(DenialScope::CertificateName, "spiffe://example.org/db");
  judge_.advance();
  EXPECT_EQ(cut_.back(), 7u);
  const auto denied = [this](const char* by) {
    return metrics_.counter({"gcoord_server_connections_denied_total", "", "by", by}).value();
  };
  EXPECT_EQ(denied("principal"), 2u);
  EXPECT_EQ(denied("network"), 2u);
  EXPECT_EQ(denied("serial"), 2u);
  EXPECT_EQ(denied("certificate_name"), 1u);
}

TEST_F(LimitJudgeTest, AProofOfSomebodyDeniedEndsTheConnection) {
  deny(DenialScope::Principal, "ann");
  EXPECT_EQ(connect(1), ErrorCode::None);
  EXPECT_EQ(identify(1, "ann"), ErrorCode::Denied);
}

TEST_F(LimitJudgeTest, AccountsAreBounded) {
  set(LimitScope::Principal, "-", {.rate = 1, .burst = 2});
  connect(1, "ann");
  for (std::uint32_t k = 0; k < kAccountsMax + 5'000; ++k) {
    const std::string from = "10." + std::to_string(k >> 16) + "." + std::to_string(k >> 8 & 255) +
                             "." + std::to_string(k & 255);
    connect(2, "", from);
    ASSERT_TRUE(acquire(2));
    judge_.on_closed(protocol::ConnectionId{2});
  }
  EXPECT_LE(judge_.account_count(), kAccountsMax);
  EXPECT_TRUE(acquire(1));
}

}  // namespace
}  // namespace gcoord::server
