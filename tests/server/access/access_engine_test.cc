// Users and roles on three engines: changed for one epoch, carried by checkpoints, snapshots and
// restarts, never made while a node lacks the feature, and switched off by a majority of markers.
#include "common/bytes.h"
#include "ledger/disk/memory_disk.h"
#include "ledger/disk/posix_disk.h"
#include "protocol/error_codes.h"
#include "security/roles/part.h"
#include "server/access/node_access.h"
#include "server/access/recovery_file.h"
#include "server/interfaces/log_record.h"
#include "tests/scratch_folder.h"
#include "tests/server/host_turn/engine_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::AccessOrder;
using protocol::AccessQuery;
using protocol::AccessSubject;
using protocol::ErrorCode;
using security::AccessKind;
using security::Right;

constexpr std::uint32_t kNodes = 3;
constexpr std::uint32_t kShards = 2;
constexpr std::uint64_t kNow = 1'000'000;

class LastAnswer final : public protocol::ReplySink {
 public:
  void park(protocol::ConnectionId) override {}

  void unpark(protocol::ConnectionId) override {}

  void reply(protocol::ConnectionId,
             const protocol::ReplySlot& slot,
             std::span<const std::byte> payload) override {
    ++count;
    last = slot;
    bytes.assign(payload.begin(), payload.end());
  }

  ErrorCode error() const { return static_cast<ErrorCode>(last.detail); }

  int count = 0;
  protocol::ReplySlot last;
  std::vector<std::byte> bytes;
};

// A client that has proven to be this user; of no name an anonymous one.
protocol::AccessSelf self_of(const std::string& user) {
  if (user.empty()) {
    return {.address = "192.0.2.7:4711"};
  }
  return {.principal = {security::PrincipalKind::User, user},
          .proof = protocol::ProofKind::Token,
          .until_ms = 123'000,
          .address = "192.0.2.7:4711"};
}

class AccessEngineTest : public testing::Test {
 protected:
  // Around one node's engine.
  struct Around {
    std::unique_ptr<AccessMachine> machine;
    std::unique_ptr<NodeAccess> access;
    LastAnswer replies;
    ScratchFolder directory;
    std::string proven;
    std::function<void()> hashed;  // Ends the hash under way.
  };

  AccessEngineTest() : around_(kNodes + 1), cluster_(kNodes, kShards) {
    cluster_.around = [this](std::uint32_t id, StateMachine& inner) -> StateMachine& {
      around_[id].machine = std::make_unique<AccessMachine>(inner);
      return *around_[id].machine;
    };
    cluster_.after_turn = [this](EngineCluster::Node& node) {
      Around& around = around_[node.id.value];
      if (around.access != nullptr) {
        now_ms_ += 10;
        around.access->advance(now_ms_);
      }
    };
  }

  ~AccessEngineTest() override {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      stop(id);
    }
  }

  void start(std::uint32_t id) {
    cluster_.start(id);
    Around& around = around_[id];
    around.access = std::make_unique<NodeAccess>(
        *around.machine,
        AccessRequests::Environment{
            .log = cluster_.engine(id),
            .machine = *around.machine,
            .replies = around.replies,
            .all_have = [this] { return all_have_; },
            .wall_ms = [] { return kNow; },
            .self = [&around](protocol::ConnectionId) { return self_of(around.proven); },
            .hash =
                [&around](std::string password,
                          std::function<void(Result<security::Verifier>)> on_hashed) {
                  around.hashed = [password = std::move(password), on_hashed] {
                    const auto bytes = std::as_bytes(std::span{password});
                    on_hashed(security::Verifier{.algorithm = 9,
                                                 .bytes = {bytes.rbegin(), bytes.rend()}});
                  };
                }},
        around.directory.path());
  }

  void start_all() {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      start(id);
    }
  }

  void stop(std::uint32_t id) {
    cluster_.stop(id);
    around_[id].access.reset();
  }

  const security::AccessTable& table(std::uint32_t id) const {
    return around_[id].machine->table();
  }

  void await_epoch(std::uint64_t epoch) {
    cluster_.run_until([&] {
      for (std::uint32_t id = 1; id <= kNodes; ++id) {
        if (cluster_.node(id).engine && table(id).epoch != epoch) {
          return false;
        }
      }
      return true;
    });
  }

  std::uint32_t leader() {
    cluster_.run_until([this] { return cluster_.leader_of(0) != 0; });
    return cluster_.leader_of(0);
  }

  LastAnswer& send(std::uint32_t id,
                   protocol::RequestKind kind,
                   const std::vector<std::byte>& payload) {
    protocol::RequestSlot slot;
    slot.kind = kind;
    slot.request_id = 1;
    around_[id].access->on_request(protocol::ConnectionId{1}, slot, payload);
    return around_[id].replies;
  }

  static AccessOrder order(AccessKind kind, std::string name = {}) {
    AccessOrder made;
    made.kind = kind;
    made.number = ++numbers_;
    made.name = std::move(name);
    made.who = "ann@build";
    return made;
  }

  static AccessOrder with_roles(AccessKind kind, std::string name, std::vector<std::string> roles) {
    AccessOrder made = order(kind, std::move(name));
    made.roles = std::move(roles);
    return made;
  }

  // Sends it to the leader and waits for the answer.
  const LastAnswer& change(const AccessOrder& asked) {
    const std::uint32_t id = leader();
    LastAnswer& replies = around_[id].replies;
    const int before = replies.count;
    send(id, protocol::RequestKind::AccessChange, protocol::encode_access_order(asked));
    cluster_.run_until([&] {
      if (around_[id].hashed) {
        std::exchange(around_[id].hashed, {})();
      }
      return replies.count > before;
    });
    return replies;
  }

  protocol::AccessAnswer ask(const AccessQuery& query) {
    const LastAnswer& said =
        send(leader(), protocol::RequestKind::AccessGet, protocol::encode_access_query(query));
    const auto answer = protocol::decode_access_answer(said.bytes);
    EXPECT_TRUE(answer.ok());
    return answer.ok() ? answer.value() : protocol::AccessAnswer{};
  }

  void mark(std::uint32_t id, std::uint64_t time_ms = kNow) {
    const auto disk = ledger::PosixDisk::open_directory(around_[id].directory.path());
    ASSERT_TRUE(disk.ok());
    ASSERT_TRUE(
        write_recovery_marker(
            *disk.value(),
            {.cluster = ClusterId{77}, .node = NodeId{id}, .number = 100 + id, .time_ms = time_ms})
            .ok());
  }

  bool has_marker(std::uint32_t id) {
    const auto disk = ledger::PosixDisk::open_directory(around_[id].directory.path());
    return disk.value()->exists("auth-recover").value();
  }

  static inline std::uint64_t numbers_ = 0;
  std::vector<Around> around_;
  bool all_have_ = true;
  std::uint64_t now_ms_ = 0;
  EngineCluster cluster_;
};

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

TEST_F(AccessEngineTest, AMajorityOfMarkersSwitchesRightsOffOnce) {
  start_all();
  ASSERT_EQ(change(with_roles(AccessKind::UserAdd, "ann", {"root"})).error(), ErrorCode::None);
  around_[leader()].proven = "ann";
  ASSERT_EQ(change(order(AccessKind::Enable)).error(), ErrorCode::None);
  await_epoch(2);
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    stop(id);
  }
  mark(1);
  start_all();
  leader();
  cluster_.run_ms(8000);
  EXPECT_TRUE(table(leader()).enabled);  // One of three is no majority.
  stop(3);
  mark(3);
  start(3);
  await_epoch(3);
  EXPECT_FALSE(table(1).enabled);
  EXPECT_EQ(table(1).recoveries, 1u);
  ASSERT_EQ(table(1).recovered.size(), 2u);
  cluster_.run_until([this] { return !has_marker(1) && !has_marker(3); });
  cluster_.run_ms(8000);
  EXPECT_EQ(table(1).epoch, 3u);
}

TEST_F(AccessEngineTest, AnOldMarkerCountsNoMore) {
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    mark(id, kNow - kRecoveryMarkerMs);
  }
  start_all();
  leader();
  cluster_.run_ms(8000);
  EXPECT_EQ(table(1).epoch, 0u);
}

TEST_F(AccessEngineTest, WhatPeersSayIsCheckedAndCounted) {
  start_all();
  const std::uint32_t id = leader();
  std::vector<std::byte> vote = encode_recovery_vote(7);
  EXPECT_EQ(decode_recovery_vote(vote), 7u);
  around_[id].machine->on_peer_message(NodeId{9}, vote);  // No voter.
  vote.pop_back();
  around_[id].machine->on_peer_message(NodeId{1}, vote);
  EXPECT_EQ(around_[id].access->dropped(), 1u);
  EXPECT_EQ(decode_recovery_vote(encode_recovery_vote(0)), std::nullopt);
  cluster_.run_ms(2000);
  EXPECT_EQ(table(id).epoch, 0u);
}

TEST(RecoveryFile, ADamagedOrForeignMarkerIsNone) {
  ledger::MemoryDisk disk;
  const RecoveryMarker marker{
      .cluster = ClusterId{7}, .node = NodeId{2}, .number = 5, .time_ms = 1000};
  EXPECT_EQ(read_recovery_marker(disk, marker).value(), std::nullopt);
  ASSERT_TRUE(write_recovery_marker(disk, marker).ok());
  EXPECT_EQ(read_recovery_marker(disk, marker).value(), marker);
  RecoveryMarker other = marker;
  other.node = NodeId{3};
  EXPECT_EQ(read_recovery_marker(disk, other).value(), std::nullopt);
  other = marker;
  other.time_ms += kRecoveryMarkerMs;
  EXPECT_EQ(read_recovery_marker(disk, other).value(), std::nullopt);
  ASSERT_TRUE(remove_recovery_marker(disk).ok());
  EXPECT_EQ(read_recovery_marker(disk, marker).value(), std::nullopt);
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

}  // namespace
}  // namespace gcoord::server
