// The gate before the requests of a node, and the mask before its replies.
#include "server/gate/request_gate.h"

#include "protocol/error_codes.h"
#include "protocol/lease_messages.h"
#include "protocol/lock_messages.h"
#include "server/gate/reply_gate.h"
#include "tests/server/gate/fake_gate.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace gcoord::server {
namespace {

using protocol::ConnectionId;
using protocol::ErrorCode;
using protocol::RequestFlag;
using protocol::RequestKind;
using protocol::RequestSlot;
using security::PrincipalKind;
using security::Right;

constexpr ConnectionId kAnn{1};
constexpr ConnectionId kNobody{2};

class RequestGateTest : public testing::Test {
 protected:
  RequestGateTest() {
    clients_.principals[kAnn.value] = {PrincipalKind::User, "ann"};
    bench_.table.enabled = true;
    bench_.table.users["ann"] = {};
  }

  bool pass(ConnectionId connection, RequestKind kind, std::string_view name) {
    slot_ = RequestSlot{};
    slot_.kind = kind;
    slot_.request_id = 5;
    return bench_.gate.pass(connection, slot_, protocol::bytes_of(name));
  }

  // Whether ann may open a session with this id.
  bool grants(std::uint64_t id) {
    RequestSlot slot;
    slot.kind = RequestKind::SessionGrant;
    slot.request_id = 5;
    slot.session = id;
    return bench_.gate.pass(kAnn, slot, {});
  }

  ErrorCode answered() {
    const auto answer = clients_.answers.back();
    EXPECT_EQ(answer.slot.request_id, 5u);
    return static_cast<ErrorCode>(answer.slot.detail);
  }

  std::string answered_text() {
    return std::string{protocol::text_of(clients_.answers.back().payload)};
  }

  NamedClients clients_;
  FakeGate bench_{clients_};
  RequestSlot slot_;
};

TEST_F(RequestGateTest, WithoutRightsEveryoneMayEverything) {
  bench_.table.enabled = false;
  EXPECT_TRUE(pass(kNobody, RequestKind::LedgerPrune, ""));
  EXPECT_EQ(slot_.flags, 0u);
  EXPECT_EQ(bench_.gate.epoch(), 0u);
}

// Its copy may be one from before they were switched on.
TEST_F(RequestGateTest, WithUsersButWithoutRightsAnOldCopyBeginsNoChange) {
  bench_.table.enabled = false;
  bench_.confirmed = false;
  EXPECT_FALSE(pass(kNobody, RequestKind::LockAcquire, "jobs/1"));
  EXPECT_EQ(answered(), ErrorCode::RightsUnconfirmed);
  EXPECT_TRUE(pass(kNobody, RequestKind::LockGet, "jobs/1"));
  EXPECT_TRUE(pass(kNobody, RequestKind::KeepAlive, ""));
  bench_.table.users.clear();
  EXPECT_TRUE(pass(kNobody, RequestKind::LockAcquire, "jobs/1"));
}

// One that joined served all that it had to everybody until it had the roles.
TEST_F(RequestGateTest, ANodeWithoutACopyOfTheRolesServesNobody) {
  bench_.table = {};
  bench_.stand = RolesStand::Joining;
  for (const RequestKind kind : {RequestKind::NodeStatus,
                                 RequestKind::SnapshotOpen,
                                 RequestKind::LockReadList,
                                 RequestKind::WatchOpen,
                                 RequestKind::Authenticate}) {
    EXPECT_FALSE(pass(kNobody, kind, ""));
    EXPECT_EQ(answered(), ErrorCode::RightsUnconfirmed);
  }
  EXPECT_TRUE(pass(kNobody, RequestKind::MemberJoin, "")) << "its token is its proof";
  bench_.stand = RolesStand::Known;
  EXPECT_TRUE(pass(kNobody, RequestKind::NodeStatus, ""));
}

// In memory mode, or with a new directory: rights may be checked, and the cluster may be without a
// majority for long, which has to be seen.
TEST_F(RequestGateTest, ANodeThatBeganWithoutTheRolesSaysHowItIsAndNoMore) {
  bench_.table = {};
  bench_.stand = RolesStand::Unconfirmed;
  for (const RequestKind kind : {RequestKind::OpenSession,
                                 RequestKind::LockAcquire,
                                 RequestKind::LockReadList,
                                 RequestKind::SnapshotOpen,
                                 RequestKind::WatchOpen,
                                 RequestKind::AccessChange,
                                 RequestKind::AccessGet,
                                 RequestKind::LedgerPrune,
                                 RequestKind::Authenticate}) {
    EXPECT_FALSE(pass(kAnn, kind, "jobs/1")) << protocol::request_kind_name(kind);
    EXPECT_EQ(answered(), ErrorCode::RightsUnconfirmed);
  }
  for (const RequestKind kind : {RequestKind::NodeStatus, RequestKind::LeaderMap}) {
    EXPECT_TRUE(pass(kAnn, kind, "")) << "a certificate";
    clients_.origins = protocol::RecordOrigin::Loopback;
    EXPECT_TRUE(pass(kNobody, kind, "")) << "of the node's host";
    clients_.origins = protocol::RecordOrigin::Remote;
    EXPECT_FALSE(pass(kNobody, kind, ""));
    EXPECT_EQ(answered(), ErrorCode::RightsUnconfirmed);
  }
  bench_.stand = RolesStand::Known;
  EXPECT_TRUE(pass(kNobody, RequestKind::LockAcquire, "jobs/1"));
}

TEST_F(RequestGateTest, AGateThatWasNotStartedLetsAllPass) {
  MetricsRegistry metrics;
  RequestGate gate(metrics);
  RequestSlot slot;
  slot.kind = RequestKind::LockBreak;
  EXPECT_TRUE(gate.pass(kNobody, slot, {}));
}

TEST_F(RequestGateTest, ARefusalSaysWhatIsMissingAndIsCountedByRight) {
  EXPECT_FALSE(pass(kAnn, RequestKind::LockAcquire, "jobs/1"));
  EXPECT_EQ(answered(), ErrorCode::NotAllowed);
  EXPECT_EQ(answered_text(), "user ann has no right lock.acquire over \"jobs/1\"");
  EXPECT_EQ(clients_.answers.back().slot.code, StatusCode::PermissionDenied);
  EXPECT_EQ(bench_.refused_for("lock.acquire"), 1u);
  EXPECT_EQ(bench_.refused_for("lock.read"), 0u);
}

TEST_F(RequestGateTest, AGrantHoldsFromTheNextEpochAndARevokeLikewise) {
  EXPECT_FALSE(pass(kAnn, RequestKind::LockAcquire, "jobs/1"));
  bench_.grant("ann", "jobs/", {Right::LockAcquire});
  EXPECT_TRUE(pass(kAnn, RequestKind::LockAcquire, "jobs/1"));
  EXPECT_FALSE(pass(kAnn, RequestKind::LockAcquire, "payroll/1"));
  bench_.revoke("ann");
  EXPECT_FALSE(pass(kAnn, RequestKind::LockAcquire, "jobs/1"));
}

// What a log on a device judges commands by.
TEST_F(RequestGateTest, TheAuthorityOfARequestSaysWhoseItIsAndWithholdsWhatWasNotJudged) {
  bench_.grant("ann", "", {Right::LockAcquire, Right::LockBreak});
  ASSERT_TRUE(pass(kAnn, RequestKind::LockAcquire, "jobs/1"));
  const Authority ann = bench_.gate.authority();
  EXPECT_GT(ann.principal, 1u);
  EXPECT_EQ(ann.withheld, security::kAllRights & ~security::bit_of(Right::LockAcquire));
  ASSERT_TRUE(pass(kAnn, RequestKind::LockBreak, "jobs/1"));
  EXPECT_EQ(bench_.gate.authority().principal, ann.principal);
  EXPECT_EQ(bench_.gate.authority().withheld & security::bit_of(Right::LockBreak), 0u);
  EXPECT_FALSE(pass(kNobody, RequestKind::LockAcquire, "jobs/1"));
  EXPECT_EQ(bench_.gate.authority(), Authority{}) << "of a request that did not pass there is none";
  bench_.table.enabled = false;
  ASSERT_TRUE(pass(kAnn, RequestKind::LockAcquire, "jobs/1"));
  EXPECT_EQ(bench_.gate.authority(), Authority{});
}

TEST_F(RequestGateTest, ACertificateHasTheRightsOfTheUserOfItsNameAndANodeHasNone) {
  bench_.grant("ann", "", {Right::LockRead});
  const ConnectionId other{3};
  clients_.principals[other.value] = {PrincipalKind::Certificate, "ann"};
  EXPECT_TRUE(pass(other, RequestKind::LockGet, "jobs/1"));
  clients_.principals[other.value] = {PrincipalKind::Node, "ann"};
  EXPECT_FALSE(pass(other, RequestKind::LockGet, "jobs/1"));
}

TEST_F(RequestGateTest, WhoIsNobodyHearsThatItMustSayWhoItIs) {
  EXPECT_FALSE(pass(kNobody, RequestKind::LeaderMap, ""));
  EXPECT_EQ(answered(), ErrorCode::NotAllowed);
  EXPECT_EQ(answered_text(), "the client has not said who it is");
  EXPECT_TRUE(pass(kAnn, RequestKind::LeaderMap, ""));
  EXPECT_TRUE(pass(kNobody, RequestKind::MemberJoin, ""));
  EXPECT_EQ(bench_.refused_for("identity"), 1u);
}

TEST_F(RequestGateTest, WithoutANewCopyOfTheRolesChangesAreRefusedAndReadsAreNot) {
  bench_.grant("ann", "", {Right::LockAcquire, Right::LockRead, Right::SessionOwn});
  bench_.confirmed = false;
  EXPECT_FALSE(pass(kAnn, RequestKind::LockAcquire, "jobs/1"));
  EXPECT_EQ(answered(), ErrorCode::RightsUnconfirmed);
  EXPECT_TRUE(protocol::is_passing(ErrorCode::RightsUnconfirmed));
  EXPECT_TRUE(pass(kAnn, RequestKind::LockGet, "jobs/1"));
  EXPECT_TRUE(pass(kAnn, RequestKind::KeepAlive, ""));
  EXPECT_TRUE(pass(kAnn, RequestKind::LockRelease, "jobs/1"));
  EXPECT_FALSE(pass(kAnn, RequestKind::LedgerPrune, ""));
  EXPECT_EQ(answered(), ErrorCode::NotAllowed);  // Not: try another node.
}

TEST_F(RequestGateTest, WhoMayNotSeeHoldersIsAnsweredDiscreetly) {
  bench_.grant("ann", "jobs/", {Right::LockAcquire});
  EXPECT_TRUE(pass(kAnn, RequestKind::LockAcquire, "jobs/1"));
  EXPECT_TRUE(slot_.has(RequestFlag::Discreet));
  bench_.grant("ann", "jobs/", {Right::LockAcquire, Right::LockReadDetails});
  EXPECT_TRUE(pass(kAnn, RequestKind::LockAcquire, "jobs/1"));
  EXPECT_FALSE(slot_.has(RequestFlag::Discreet));
}

TEST_F(RequestGateTest, ATokenIsNoProofOfASession) {
  bench_.grant("ann", "", {Right::LockAcquire});
  const auto release = [this] {
    RequestSlot slot;
    slot.kind = RequestKind::LockRelease;
    slot.session = 9;
    slot.set(RequestFlag::ByToken);
    return bench_.gate.pass(kAnn, slot, protocol::bytes_of("jobs/1"));
  };
  EXPECT_FALSE(release());
  bench_.own.emplace(kAnn.value, 9);
  EXPECT_TRUE(release());
}

// The right to choose comes with a release: nobody has it before all nodes know it.
TEST_F(RequestGateTest, WhoReadsAllSessionsChoosesIdsUntilAllNodesKnowTheRightToChoose) {
  bench_.all_guard = false;
  bench_.grant("ann", "", {Right::SessionOpen, Right::SessionReadAll});
  EXPECT_TRUE(grants(protocol::kSessionIdChosenEnd));
  EXPECT_TRUE(grants(77));
  bench_.grant("ann", "", {Right::SessionOpen});
  EXPECT_FALSE(grants(77)) << "who may not read them could not choose before";
  bench_.grant("ann", "", {Right::SessionReadAll});
  EXPECT_FALSE(grants(77)) << "it opens a session";
  bench_.grant("ann", "", {Right::SessionOpen, Right::SessionReadAll});
  EXPECT_TRUE(grants(77));
  bench_.all_guard = true;
  EXPECT_FALSE(grants(77));
  EXPECT_NE(answered_text().find("session.choose"), std::string::npos);
  bench_.grant("ann", "", {Right::SessionOpen, Right::SessionChoose});
  EXPECT_TRUE(grants(77));
}

// A node that is down is not seen to have anything.
TEST_F(RequestGateTest, OnceAllNodesWereSeenToKnowTheRightToChooseNobodyChoosesWithoutIt) {
  bench_.grant("ann", "", {Right::SessionOpen, Right::SessionReadAll});
  bench_.gate.show();  // Nobody chooses meanwhile.
  bench_.all_guard = false;
  EXPECT_FALSE(grants(77));
  EXPECT_NE(answered_text().find("session.choose"), std::string::npos);
  EXPECT_TRUE(grants(protocol::kSessionIdChosenEnd));
}

// All nodes knew it when it was granted, which a node that has just started has not seen.
TEST_F(RequestGateTest, ARoleWithTheRightToChooseShowsThatAllNodesKnowIt) {
  bench_.all_guard = false;
  bench_.grant("ann", "", {Right::SessionOpen, Right::SessionReadAll});
  EXPECT_TRUE(grants(77));
  bench_.grant("bob", "", {Right::SessionChoose});
  EXPECT_FALSE(grants(77));
  bench_.revoke("bob");
  EXPECT_FALSE(grants(77));
}

TEST_F(RequestGateTest, RefusalsOfManyNamesAreFewLines) {
  testing::internal::CaptureStdout();
  for (int k = 0; k < 1'000; ++k) {
    EXPECT_FALSE(pass(kAnn, RequestKind::LockAcquire, "jobs/" + std::to_string(k)));
  }
  const std::string log = testing::internal::GetCapturedStdout();
  EXPECT_EQ(std::ranges::count(log, '\n'), LogRateLimit::kAtOnce);
  EXPECT_EQ(bench_.refused_for("lock.acquire"), 1'000u);
}

TEST_F(RequestGateTest, WhoIsRefusedAllTheTimeDoesNotHideWhoElseIs) {
  MetricsRegistry metrics;
  Refusals refusals(metrics);
  const MissingRight missing{};
  const security::Principal loud{PrincipalKind::User, "loud"};
  int lines = 0;
  for (int k = 0; k < 1'000; ++k) {
    lines += refusals.add({loud, missing}, 0) ? 1 : 0;
  }
  EXPECT_EQ(lines, static_cast<int>(LogRateLimit::kAtOnce));
  // All buckets but that of the loud one.
  int logged = 0;
  for (int k = 0; k < 1'000; ++k) {
    const security::Principal other{PrincipalKind::User, "user" + std::to_string(k)};
    logged += refusals.add({other, missing}, 0) ? 1 : 0;
  }
  EXPECT_EQ(logged, static_cast<int>((Refusals::kBuckets - 1) * LogRateLimit::kAtOnce));
}

TEST_F(RequestGateTest, ManyPrincipalsDoNotFillTheMemory) {
  RightsCache cache;
  for (std::size_t k = 0; k < 3 * kRightsCachedMax; ++k) {
    cache.rights(bench_.table, {PrincipalKind::Certificate, "host" + std::to_string(k)});
    EXPECT_LE(cache.size(), kRightsCachedMax);
  }
}

TEST_F(RequestGateTest, RepliesAreMaskedByTheRightsOfTheirMoment) {
  ReplyGate replies(bench_.gate);
  bench_.grant("ann", "jobs/", {Right::LockRead, Right::LockReadDetails});
  protocol::ListPage page;
  page.rows.resize(2);
  page.rows[0].name = "jobs/1";
  page.rows[1].name = "payroll/1";
  protocol::ReplySlot slot;
  slot.kind = RequestKind::LockList;
  const auto rows_shown = [&] {
    const auto masked = replies.masked(kAnn, slot, protocol::encode_list_page(page));
    return masked ? protocol::decode_list_page(*masked).value().rows.size() : page.rows.size();
  };
  EXPECT_EQ(rows_shown(), 1u);
  EXPECT_TRUE(replies.lists(kAnn, "jobs/1"));
  EXPECT_FALSE(replies.lists(kAnn, "payroll/1"));
  bench_.revoke("ann");
  EXPECT_EQ(rows_shown(), 0u);
  slot.code = StatusCode::Unavailable;
  EXPECT_FALSE(replies.masked(kAnn, slot, protocol::bytes_of("why")));
  slot.code = StatusCode::Ok;
  bench_.table.enabled = false;
  EXPECT_EQ(rows_shown(), 2u);
  EXPECT_TRUE(replies.lists(kAnn, "payroll/1"));
}

TEST_F(RequestGateTest, AnOperatorIsWhoRunsTheClusterItsMembersOrItsUsers) {
  ReplyGate replies(bench_.gate);
  for (const Right right : {Right::ClusterAdmin, Right::MemberAdmin, Right::AuthAdmin}) {
    bench_.grant("ann", "", {right});
    EXPECT_TRUE(replies.is_operator(kAnn)) << security::right_name(right);
    EXPECT_FALSE(replies.is_operator(kNobody));
    bench_.grant("ann", "jobs/", {right});
    EXPECT_FALSE(replies.is_operator(kAnn)) << "over some names only";
  }
  security::Role role;
  role.grants.push_back({.rights = security::kAllRights & ~bit_of(Right::ClusterAdmin) &
                                   ~bit_of(Right::MemberAdmin) & ~bit_of(Right::AuthAdmin)});
  bench_.table.roles["ann"] = role;
  ++bench_.table.epoch;
  EXPECT_FALSE(replies.is_operator(kAnn)) << "all others together are not enough";
  bench_.grant("ann", "", {Right::AuthAdmin});
  bench_.table.enabled = false;
  EXPECT_FALSE(replies.is_operator(kAnn)) << "rights are not checked";
}

}  // namespace
}  // namespace gcoord::server
