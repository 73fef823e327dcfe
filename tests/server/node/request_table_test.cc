// The table of request kinds against what its handlers do.
#include "server/node/request_table.h"

#include "protocol/election_messages.h"
#include "protocol/force_messages.h"
#include "protocol/groups/messages.h"
#include "protocol/lease_messages.h"
#include "protocol/move_messages.h"
#include "protocol/rendezvous/messages.h"
#include "server/access/cookies.h"
#include "server/audit/machine.h"
#include "server/history/publication_service.h"
#include "server/limits/cookies.h"
#include "server/members/view_cookies.h"
#include "tests/server/fake_engine.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::RequestKind;

constexpr std::string_view kName = "jobs/1";

struct Asked {
  protocol::RequestSlot slot;
  std::vector<std::byte> payload;
};

std::vector<std::byte> bytes(std::string_view text) {
  const auto span = protocol::bytes_of(text);
  return {span.begin(), span.end()};
}

protocol::RequestSlot caller_slot(RequestKind kind) {
  protocol::RequestSlot slot;
  slot.kind = kind;
  slot.shard = LockBench::shard_of_name(kName).value;
  slot.session = 7;
  slot.sequence = 1;
  slot.acked_below = 1;
  slot.token = 1;
  return slot;
}

protocol::RequestSlot name_slot(RequestKind kind) {
  protocol::RequestSlot slot;
  slot.kind = kind;
  slot.shard = LockBench::shard_of_name(kName).value;
  return slot;
}

Asked well_formed_rendezvous(RequestKind kind) {
  if (kind == RequestKind::RendezvousLeave) {
    return {caller_slot(kind), bytes(kName)};
  }
  if (kind == RequestKind::RendezvousGet) {
    return {name_slot(kind), protocol::encode_rendezvous_query({0, kName})};
  }
  protocol::RequestSlot slot = caller_slot(kind);
  slot.token = 0;
  slot.ttl_ms = 1000;
  return {slot, protocol::encode_rendezvous_join({2, 3, 0, kName, {}})};
}

// A request about one lock or session that is well formed, of the kinds that only a leader serves.
Asked well_formed(RequestKind kind) {
  protocol::LockHold readers;
  readers.flags = static_cast<std::uint8_t>(protocol::HoldFlag::Shared);
  readers.permits = 1;
  readers.name = kName;
  protocol::RequestSlot slot = name_slot(kind);
  switch (kind) {
    case RequestKind::LockAcquire:
      slot = caller_slot(kind);
      slot.token = 0;
      slot.ttl_ms = 1000;
      return {slot, bytes(kName)};
    case RequestKind::LockAcquireHold:
      slot = caller_slot(kind);
      slot.token = 0;
      slot.ttl_ms = 1000;
      return {slot, protocol::encode_hold(readers)};
    case RequestKind::LockRelease:
      return {caller_slot(kind), bytes(kName)};
    case RequestKind::LockCancel:
      slot = caller_slot(kind);
      slot.token = 0;
      return {slot, bytes(kName)};
    case RequestKind::LockBreak:
      slot.token = 1;
      return {slot, protocol::encode_break({.name = kName, .who = "ops", .reason = "stuck"})};
    case RequestKind::LockMove:
      return {slot, protocol::encode_move({ShardId{(slot.shard + 1) % 4}, kName})};
    case RequestKind::LockCheck:
      slot.token = 1;
      return {slot, bytes(kName)};
    case RequestKind::GroupJoin:
    case RequestKind::GroupBarrier:
      slot = caller_slot(kind);
      slot.token = 0;
      slot.ttl_ms = 1000;
      return {slot,
              kind == RequestKind::GroupJoin ? protocol::encode_group_join({kName, "a", ""})
                                             : protocol::encode_group_arrival({2, kName})};
    case RequestKind::GroupLeave:
      return {caller_slot(kind), bytes(kName)};
    case RequestKind::GroupUpdate:
      return {caller_slot(kind), protocol::encode_group_update({kName, "b"})};
    case RequestKind::GroupGet:
      return {slot, protocol::encode_group_query({0, 0, kName})};
    case RequestKind::RendezvousJoin:
    case RequestKind::RendezvousLeave:
    case RequestKind::RendezvousGet:
      return well_formed_rendezvous(kind);
    case RequestKind::ElectProclaim:
      return {caller_slot(kind), protocol::encode_proclamation({kName, "here"})};
    case RequestKind::ElectTransfer:
      return {caller_slot(kind), protocol::encode_nomination({SessionId{8}, kName})};
    case RequestKind::ElectAsk:
      return {slot, protocol::encode_nomination({SessionId{8}, kName})};
    case RequestKind::SessionGrant:
    case RequestKind::SessionShow:
      slot.session = 7;
      slot.shard = protocol::home_shard(SessionId{7}, 4).value;
      slot.ttl_ms = kind == RequestKind::SessionGrant ? 1000 : 0;
      return {slot, {}};
    case RequestKind::CloseSession:
      slot.session = 7;
      slot.sequence = 1;
      return {slot, {}};
    default:
      return {slot, bytes(kName)};
  }
}

bool names_a_leader(const KeptReply& reply) {
  const auto detail = static_cast<ErrorCode>(reply.slot.detail);
  return detail == ErrorCode::NotLeader || detail == ErrorCode::NoLeader;
}

TEST(RequestTableTest, EachKindHasOneRowThatIsFoundByItsNumber) {
  for (std::uint32_t number = 0; number < 1024; ++number) {
    const auto kind = static_cast<RequestKind>(number);
    const RequestRow* const row = find_request(kind);
    ASSERT_EQ(row != nullptr, protocol::request_kind_known(kind)) << number;
    if (row != nullptr) {
      EXPECT_EQ(row->kind, kind);
      EXPECT_NE(row->handler, nullptr);
    }
  }
}

TEST(RequestTableTest, KindsThatNeedALeaderNameItElsewhere) {
  LockBench bench;
  bench.engine.other_leader = NodeId{3};
  for (const RequestRow& row : request_table()) {
    // These owners are not on this bench (tests/server/members, access and limits).
    if (!row.needs_leader || row.owner == RequestOwner::Members ||
        row.owner == RequestOwner::Access || row.owner == RequestOwner::Limits) {
      continue;
    }
    const Asked asked = well_formed(row.kind);
    const KeptReply reply = bench.sink.take(bench.send(asked.slot, asked.payload));
    EXPECT_TRUE(names_a_leader(reply))
        << protocol::request_kind_name(row.kind) << " " << reply.slot.detail;
    EXPECT_EQ(reply.slot.leader, 3u) << protocol::request_kind_name(row.kind);
  }
  EXPECT_TRUE(bench.engine.proposals.empty());
}

// The machines stand one before the other, and each takes what bears its mark.
TEST(CookieMarks, AreOfOneServiceEach) {
  const std::uint64_t cookies[] = {ViewCookies{ViewProposer::Upkeep}.next(),
                                   AccessCookies{AccessProposer::Recovery}.next(),
                                   LimitsCookies{LimitsProposer::Requests}.next(),
                                   cookie_of(CookieOwner::Notes, ~std::uint64_t{0}),
                                   kPublicationCookie};
  for (std::size_t owner = 0; owner < kCookieMarks.size(); ++owner) {
    for (std::size_t other = 0; other < kCookieMarks.size(); ++other) {
      EXPECT_EQ(is_cookie_of(static_cast<CookieOwner>(other), cookies[owner]), owner == other)
          << cookies[owner];
    }
    EXPECT_FALSE(is_cookie_of(static_cast<CookieOwner>(owner), 0x7fff'ffff));
  }
}

TEST(RequestTableTest, KindsOfTheNodeItselfAreServedWithoutALeader) {
  LockBench bench;
  bench.engine.node.established = true;
  for (const RequestKind kind : {RequestKind::OpenSession,
                                 RequestKind::NodeStatus,
                                 RequestKind::ShardShow,
                                 RequestKind::LockDeadlocks,
                                 RequestKind::SessionLosses}) {
    ASSERT_FALSE(find_request(kind)->needs_leader);
    protocol::RequestSlot slot;
    slot.kind = kind;
    slot.session = kind == RequestKind::SessionLosses ? 7 : 0;
    slot.ttl_ms = kind == RequestKind::OpenSession ? 1000 : 0;
    const KeptReply reply = bench.sink.take(bench.send(slot, ""));
    EXPECT_EQ(reply.slot.code, StatusCode::Ok) << protocol::request_kind_name(kind);
  }
}

TEST(RequestTableTest, AWitnessRefusesWhatReadsReplicasAndNamesTheLeader) {
  LockBench bench;
  bench.engine.other_leader = NodeId{3};
  const RequestRouter router({.service = *bench.service, .witness = true});
  protocol::RequestSlot slot;
  slot.kind = RequestKind::SessionLosses;
  slot.session = 7;
  slot.request_id = 77;
  router.on_request({protocol::ConnectionId{1}, slot, {}});
  const KeptReply refused = bench.sink.take(77);
  EXPECT_EQ(refused.slot.detail, static_cast<std::uint32_t>(ErrorCode::WitnessHasNoState));
  EXPECT_EQ(refused.slot.leader, 3u);
  slot = {};
  slot.kind = RequestKind::NodeStatus;
  slot.request_id = 78;
  router.on_request({protocol::ConnectionId{1}, slot, {}});
  EXPECT_EQ(bench.sink.take(78).slot.code, StatusCode::Ok);
  for (const RequestRow& row : request_table()) {
    EXPECT_FALSE(row.needs_leader && reads_replicas(row.kind))
        << protocol::request_kind_name(row.kind);
  }
}

TEST(RequestTableTest, KindsWhoseOwnerIsAbsentAreCountedAndRefused) {
  LockBench bench;
  for (const RequestKind kind : {RequestKind::SnapshotOpen, RequestKind::WatchClose}) {
    protocol::RequestSlot slot;
    slot.kind = kind;
    slot.sequence = kind == RequestKind::WatchClose ? 1 : 0;
    const KeptReply reply = bench.sink.take(bench.send(slot, ""));
    EXPECT_EQ(reply.slot.detail, static_cast<std::uint32_t>(ErrorCode::KindUnknown))
        << protocol::request_kind_name(kind);
  }
  const KeptReply unknown = bench.sink.take(bench.send(bench.slot(RequestKind{999}), ""));
  EXPECT_EQ(unknown.slot.detail, static_cast<std::uint32_t>(ErrorCode::KindUnknown));
}

}  // namespace
}  // namespace gcoord::server
