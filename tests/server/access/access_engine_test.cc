// Users and roles on three engines: changed for one epoch, carried by checkpoints, snapshots and
// restarts, and never made while a node lacks the feature.
#include "security/roles/authorize.h"
#include "security/roles/part.h"
#include "server/interfaces/log_record.h"
#include "tests/server/access/access_cluster.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::AccessSubject;
using security::Right;

TEST_F(AccessEngineTest, AChangeIsOnAllNodesAndIsMadeOnce) {
  start_all();
  AccessOrder add = with_roles(AccessKind::UserAdd, "ann", {"root"});
  add.password = "secret";
  EXPECT_EQ(change(add).error(), ErrorCode::None);
  EXPECT_EQ(change(add).last.extra, 1u);  // Its first answer may have been lost.
  await_epoch(1);
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    EXPECT_EQ(table(id), table(1));
    EXPECT_EQ(around_[id].machine->state_hash(kAccessShard),
              around_[1].machine->state_hash(kAccessShard));
  }
  // The node hashed it, and nothing else is kept.
  EXPECT_EQ(table(1).users.at("ann").verifier.algorithm, 9);
  EXPECT_EQ(table(1).users.at("ann").verifier.bytes.size(), 6u);
  EXPECT_EQ(change(order(AccessKind::UserAdd, "ann")).error(), ErrorCode::UserExists);
  AccessOrder late = order(AccessKind::UserAdd, "bob");
  late.expected = 7;
  EXPECT_EQ(change(late).error(), ErrorCode::AccessStale);
  late.expected = 1;
  late.dry_run = true;
  EXPECT_EQ(change(late).last.extra, 1u);
  late.dry_run = false;
  EXPECT_EQ(change(late).last.extra, 2u);
}

TEST_F(AccessEngineTest, ARightThatEarlierReleasesDoNotKnowIsGrantedWhenAllNodesKnowIt) {
  start_all();
  auto with_right = [](security::Right right) {
    auto made = order(AccessKind::RoleAdd, "ops");
    made.grants = {{.prefix = {}, .exact = false, .rights = security::bit_of(right)}};
    return made;
  };
  all_guard_ = false;
  EXPECT_EQ(change(with_right(security::Right::SessionChoose)).error(),
            ErrorCode::SafeguardsNotReady);
  ASSERT_EQ(change(with_right(security::Right::SessionReadAll)).error(), ErrorCode::None);
  auto more = order(AccessKind::RoleGrant, "ops");
  more.grants = {{.prefix = {}, .exact = false, .rights = security::kAllRights}};
  EXPECT_EQ(change(more).error(), ErrorCode::SafeguardsNotReady);
  all_guard_ = true;
  EXPECT_EQ(change(more).error(), ErrorCode::None);
}

TEST_F(AccessEngineTest, ReadsAreTheLeadersUnlessAnyReplicaWillDo) {
  start_all();
  ASSERT_EQ(change(order(AccessKind::RoleAdd, "ops")).error(), ErrorCode::None);
  for (const char* name : {"ann", "bob", "cid"}) {
    ASSERT_EQ(change(with_roles(AccessKind::UserAdd, name, {"ops"})).error(), ErrorCode::None);
  }
  const auto first = ask({.subject = AccessSubject::Users, .limit = 2});
  ASSERT_EQ(first.users.size(), 2u);
  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.user_count, 3u);
  const auto rest =
      ask({.subject = AccessSubject::Users, .limit = 2, .after = first.users.back().name});
  ASSERT_EQ(rest.users.size(), 1u);
  EXPECT_FALSE(rest.more);
  EXPECT_EQ(rest.users[0].name, "cid");
  EXPECT_EQ(ask({.subject = AccessSubject::Roles, .name = "root"}).roles[0].second.grants[0].rights,
            security::kAllRights);
  await_epoch(4);
  const std::uint32_t follower = leader() % kNodes + 1;
  constexpr auto kGet = protocol::RequestKind::AccessGet;
  EXPECT_EQ(send(follower, kGet, protocol::encode_access_query({})).error(), ErrorCode::NotLeader);
  const LastAnswer& any = send(follower, kGet, protocol::encode_access_query({.replica = true}));
  EXPECT_EQ(any.error(), ErrorCode::None);
  EXPECT_EQ(any.last.extra, 4u);
  EXPECT_EQ(send(leader(), kGet, std::vector<std::byte>(3)).error(), ErrorCode::PayloadMalformed);
}

TEST_F(AccessEngineTest, EveryNodeSaysToAClientWhoItIsAndNoMore) {
  start_all();
  auto base = order(AccessKind::RoleAdd, "base");
  base.grants = {
      {.prefix = "a/", .exact = false, .rights = security::bit_of(security::Right::LockRead)}};
  ASSERT_EQ(change(base).error(), ErrorCode::None);
  ASSERT_EQ(change(with_roles(AccessKind::RoleAdd, "ops", {"base"})).error(), ErrorCode::None);
  ASSERT_EQ(change(with_roles(AccessKind::UserAdd, "ann", {"ops"})).error(), ErrorCode::None);
  await_epoch(3);
  const std::uint32_t follower = leader() % kNodes + 1;
  const auto self = [&](const std::string& user) {
    around_[follower].proven = user;
    const LastAnswer& said = send(follower,
                                  protocol::RequestKind::AccessGet,
                                  protocol::encode_access_query({.subject = AccessSubject::Self}));
    EXPECT_EQ(said.error(), ErrorCode::None);
    const std::span whole{said.bytes};
    for (std::size_t cut = 1; cut < 20; ++cut) {  // Within what is behind the rows.
      EXPECT_FALSE(protocol::decode_access_answer(whole.first(whole.size() - cut)).ok()) << cut;
    }
    return protocol::decode_access_answer(said.bytes).value();
  };
  const protocol::AccessAnswer ann = self("ann");
  EXPECT_EQ(ann.self, self_of("ann"));
  EXPECT_EQ(ann.epoch, 3u);
  ASSERT_EQ(ann.users.size(), 1u);
  EXPECT_EQ(ann.users[0].roles, std::vector<std::string>{"ops"});
  ASSERT_EQ(ann.roles.size(), 2u) << "with the role that its own one includes";
  EXPECT_EQ(ann.roles[0].first, "base");
  EXPECT_EQ(ann.roles[0].second.grants, base.grants);
  const protocol::AccessAnswer stranger = self("nobody has this name");
  EXPECT_TRUE(stranger.users.empty() && stranger.roles.empty());
  const protocol::AccessAnswer nobody = self("");
  EXPECT_EQ(nobody.self, self_of(""));
  EXPECT_TRUE(nobody.epoch == 0 && nobody.user_count == 0 && nobody.users.empty());
  ASSERT_EQ(change(order(AccessKind::UserDisable, "ann")).error(), ErrorCode::None);
  await_epoch(4);
  const protocol::AccessAnswer disabled = self("ann");
  ASSERT_EQ(disabled.users.size(), 1u);
  EXPECT_TRUE(disabled.users[0].disabled && disabled.roles.empty());
}

TEST_F(AccessEngineTest, NothingIsMadeWhileANodeLacksTheFeature) {
  all_have_ = false;
  start_all();
  EXPECT_EQ(change(order(AccessKind::UserAdd, "ann")).error(), ErrorCode::AccessNotReady);
  // Nothing stands behind what earlier releases write.
  std::vector<std::byte> bytes;
  std::vector<std::byte> plain;
  around_[1].machine->serialize(kAccessShard, bytes);
  cluster_.service(1).serialize(kAccessShard, plain);
  EXPECT_EQ(bytes, plain);
  all_have_ = true;
  EXPECT_EQ(change(order(AccessKind::UserAdd, "ann")).error(), ErrorCode::None);
  all_have_ = false;  // A node was replaced; the log has it anyway.
  EXPECT_EQ(change(order(AccessKind::UserAdd, "bob")).error(), ErrorCode::None);
}

TEST_F(AccessEngineTest, OnlyAProvenAdministratorSwitchesRightsOn) {
  start_all();
  EXPECT_EQ(change(order(AccessKind::Enable)).error(), ErrorCode::AdminMissing);
  ASSERT_EQ(change(with_roles(AccessKind::UserAdd, "ann", {"root"})).error(), ErrorCode::None);
  ASSERT_EQ(change(order(AccessKind::UserAdd, "bob")).error(), ErrorCode::None);
  EXPECT_EQ(change(order(AccessKind::Enable)).error(), ErrorCode::AdminUnproven);
  around_[leader()].proven = "bob";
  EXPECT_EQ(change(order(AccessKind::Enable)).error(), ErrorCode::AdminUnproven);
  around_[leader()].proven = "ann";
  EXPECT_EQ(change(order(AccessKind::Enable)).error(), ErrorCode::None);
  await_epoch(3);
  EXPECT_TRUE(table(1).enabled);
  EXPECT_EQ(change(order(AccessKind::UserDelete, "ann")).error(), ErrorCode::LastAdmin);
}

// A change that waited for a hash, or was proposed anew for a newer epoch, was made after the
// answer to who took the right away.
TEST_F(AccessEngineTest, AChangeThatWaitedIsNotMadeOnceItsRightIsGone) {
  start_all();
  for (const char* name : {"ann", "eve"}) {
    ASSERT_EQ(change(with_roles(AccessKind::UserAdd, name, {"root"})).error(), ErrorCode::None);
  }
  const std::uint32_t id = leader();
  Around& around = around_[id];
  around.proven = "ann";
  ASSERT_EQ(change(order(AccessKind::Enable)).error(), ErrorCode::None);
  around.proven = "eve";
  AccessOrder add = with_roles(AccessKind::UserAdd, "mallory", {"root"});
  add.password = "secret";
  constexpr auto kChange = protocol::RequestKind::AccessChange;
  send(id, kChange, protocol::encode_access_order(add));
  ASSERT_TRUE(around.hashed);
  const auto hashed = std::exchange(around.hashed, {});
  around.proven = "ann";
  ASSERT_EQ(change(with_roles(AccessKind::UserRevoke, "eve", {"root"})).error(), ErrorCode::None);
  around.proven = "eve";
  hashed();
  EXPECT_EQ(around.replies.error(), ErrorCode::NotAllowed);
  around.proven = "ann";
  await_epoch(4);
  EXPECT_FALSE(table(id).users.contains("mallory"));
  // Both are on their way at once: the second is not made for the epoch behind the first.
  ASSERT_EQ(change(with_roles(AccessKind::UserGrant, "eve", {"root"})).error(), ErrorCode::None);
  await_epoch(5);
  ASSERT_EQ(leader(), id);
  const int before = around.replies.count;
  send(id,
       kChange,
       protocol::encode_access_order(with_roles(AccessKind::UserRevoke, "eve", {"root"})));
  around.proven = "eve";
  send(id,
       kChange,
       protocol::encode_access_order(with_roles(AccessKind::UserAdd, "mallory", {"root"})));
  cluster_.run_until([&] { return around.replies.count == before + 2; });
  EXPECT_EQ(around.replies.error(), ErrorCode::NotAllowed);
  EXPECT_FALSE(table(id).users.contains("mallory"));
}

// An administrator's password was changed while a change of its earlier one waited for a hash: the
// connection is nobody's by then (server/identities/proven_connections.h).
TEST_F(AccessEngineTest, AChangeThatWaitedIsNotMadeForAConnectionThatIsNobodyByThen) {
  start_all();
  ASSERT_EQ(change(with_roles(AccessKind::UserAdd, "eve", {"root"})).error(), ErrorCode::None);
  const std::uint32_t id = leader();
  Around& around = around_[id];
  for (const bool enabled : {false, true}) {
    around.proven = "eve";
    if (enabled) {
      ASSERT_EQ(change(order(AccessKind::Enable)).error(), ErrorCode::None);
    }
    AccessOrder add = with_roles(AccessKind::UserAdd, "mallory", {"root"});
    add.password = "secret";
    send(id, protocol::RequestKind::AccessChange, protocol::encode_access_order(add));
    ASSERT_TRUE(around.hashed);
    const auto hashed = std::exchange(around.hashed, {});
    around.proven = "";
    hashed();
    EXPECT_EQ(around.replies.error(), ErrorCode::NotAllowed);
    EXPECT_FALSE(table(id).users.contains("mallory"));
  }
}

TEST_F(AccessEngineTest, ARestartAndASnapshotKeepThem) {
  start_all();
  ASSERT_EQ(change(order(AccessKind::RoleAdd, "ops")).error(), ErrorCode::None);
  ASSERT_EQ(change(with_roles(AccessKind::UserAdd, "ann", {"ops"})).error(), ErrorCode::None);
  await_epoch(2);
  const std::uint32_t first = leader();
  const std::uint32_t away = first % kNodes + 1;
  stop(away);
  // More than the log keeps without a checkpoint: who was away gets a snapshot.
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      if (cluster_.node(id).engine) {
        const std::uint64_t cookie = cluster_.propose(leader(), 0, "12345678 more");
        cluster_.run_until([&] { return cluster_.decided(leader(), cookie); });
        const std::uint64_t wanted = cluster_.engine(id).request_checkpoint();
        cluster_.wait_for(
            [&] { return cluster_.engine(id).checkpoint_outcome(wanted).has_value(); });
      }
    }
  }
  ASSERT_EQ(change(order(AccessKind::UserAdd, "bob")).error(), ErrorCode::None);
  const security::AccessTable kept = table(leader());
  stop(first);
  start(away);
  await_epoch(3);
  EXPECT_EQ(table(away), kept);
  start(first);
  await_epoch(3);
  EXPECT_EQ(table(first), kept);
}

TEST_F(AccessEngineTest, AWitnessHasThemBesideItsMark) {
  start_all();
  ASSERT_EQ(change(with_roles(AccessKind::UserAdd, "ann", {"root"})).error(), ErrorCode::None);
  await_epoch(1);
  std::vector<std::byte> bytes;
  around_[1].machine->witness_state(kAccessShard, bytes);
  const auto parts = security::split_access_part(bytes);
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->before.size(), 4u);
  EXPECT_EQ(security::AccessCpu::parse(parts->access), around_[1].machine->state_of_access());
  bytes[bytes.size() - 9] ^= std::byte{0x80};
  ToyService inner;
  AccessMachine other{inner};
  EXPECT_FALSE(other.plausible(kAccessShard, bytes));
}

// Leads, and takes records or does not.
class DeviceLog final : public ReplicatedLog {
 public:
  void propose(ShardId, const ProposedCommand&, std::uint64_t) override { ++proposals; }

  void read(ShardId, std::uint64_t) override {}

  bool send_peer_message(NodeId, std::span<const std::byte>) override { return true; }

  Abilities abilities() const override { return {.takes_records = takes}; }

  ShardView view(ShardId shard) const override {
    ShardView row;
    row.shard = shard;
    row.role = consensus::Role::Leader;
    return row;
  }

  NodeView view() const override { return {}; }

  bool takes = false;
  int proposals = 0;
};

TEST(AccessRequests, AreNotTakenWhileTheLogTakesNoRecords) {
  ToyService inner;
  AccessMachine machine{inner};
  DeviceLog log;
  LastAnswer replies;
  AccessRequests requests({.log = log,
                           .machine = machine,
                           .replies = replies,
                           .all_have = [] { return true; },
                           .all_guard = [] { return true; },
                           .wall_ms = [] { return kNow; },
                           .self = {},
                           .hash = {}});
  AccessOrder order;
  order.kind = security::AccessKind::UserAdd;
  order.name = "ann";
  order.number = 1;
  protocol::RequestSlot slot;
  slot.kind = protocol::RequestKind::AccessChange;
  requests.on_request(protocol::ConnectionId{1}, slot, protocol::encode_access_order(order));
  EXPECT_EQ(replies.error(), ErrorCode::AccessNotReady);
  EXPECT_EQ(log.proposals, 0);
  log.takes = true;
  requests.on_request(protocol::ConnectionId{1}, slot, protocol::encode_access_order(order));
  EXPECT_EQ(log.proposals, 1);
}

TEST_F(AccessEngineTest, AClusterWithAFirstAdminIsNeverOpen) {
  first_admin_ = "admin";
  all_have_ = false;
  start_all();
  // Before the log has anything, nodes decide as it will say.
  EXPECT_TRUE(table(1).enabled);
  EXPECT_EQ(table(1).epoch, 0u);
  EXPECT_TRUE(security::rights_of(table(1), "admin")->allows(Right::AuthAdmin, {}));
  EXPECT_FALSE(security::rights_of(table(1), "eve")->allows(Right::LockAcquire, "a"));
  around_[leader()].proven = "admin";
  EXPECT_EQ(change(order(AccessKind::Disable)).error(), ErrorCode::AccessNotReady);
  bool open = false;
  all_have_ = true;
  cluster_.run_until([&] {
    bool done = true;
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      open = open || !table(id).enabled;
      done = done && !around_[id].machine->first_change();
    }
    return done;
  });
  EXPECT_FALSE(open);
  EXPECT_EQ(table(1).epoch, 2u);
  EXPECT_EQ(table(1).users.at("admin").roles, std::vector<std::string>{"root"});
  // From here on it is a table as any other: what the administrator switches off stays off.
  around_[leader()].proven = "admin";
  EXPECT_EQ(change(order(AccessKind::Disable)).error(), ErrorCode::None);
  await_epoch(3);
  EXPECT_FALSE(table(1).enabled);
  stop(1);
  start(1);
  await_epoch(3);
  EXPECT_FALSE(table(1).enabled);
}

TEST_F(AccessEngineTest, AFirstAdminIsNothingToAClusterThatHasUsers) {
  start_all();
  ASSERT_EQ(change(order(AccessKind::UserAdd, "ann")).error(), ErrorCode::None);
  await_epoch(1);
  first_admin_ = "admin";
  stop(1);
  start(1);
  cluster_.run_until([&] { return table(1).epoch == 1; });
  EXPECT_FALSE(table(1).enabled);
  EXPECT_FALSE(around_[1].machine->first_change());
  EXPECT_FALSE(table(1).users.contains("admin"));
}

}  // namespace
}  // namespace gcoord::server
