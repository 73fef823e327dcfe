// Limits on three engines: changed for one epoch, on all nodes, carried by restarts and snapshots,
// and never made while a node lacks the feature.
#include "common/bytes.h"
#include "common/crc32c.h"
#include "protocol/error_codes.h"
#include "server/limits/machine.h"
#include "server/limits/prune_orders.h"
#include "server/limits/requests.h"
#include "tests/server/host_turn/engine_cluster.h"
#include "tests/server/last_answer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::LimitsOrder;
using security::LimitKind;

constexpr std::uint32_t kNodes = 3;
constexpr std::uint32_t kShards = 2;
constexpr std::uint64_t kNow = 1'000'000;
constexpr std::uint64_t kDelayMs = 3'600'000;
constexpr protocol::LedgerPrune kBounds{.shard = 1, .entries = 1'000};

class LimitsEngineTest : public testing::Test {
 protected:
  // Around one node's engine: its machine, which tells the requests what was decided.
  struct Around final : LimitsListener {
    void on_limits() override {
      ++tables;
      prunes->on_limits();
    }

    void on_limits_decided(std::uint64_t cookie, security::LimitCode code) override {
      requests->on_decided(cookie, code);
      prunes->on_decided(cookie, code);
    }

    void on_limits_lost(std::uint64_t cookie, const Status& status, NodeId hint) override {
      requests->on_lost(cookie, status, hint);
      prunes->on_lost(cookie, status, hint);
    }

    std::unique_ptr<LimitsMachine> machine;
    std::unique_ptr<LimitRequests> requests;
    std::unique_ptr<PruneOrders> prunes;
    LastAnswer replies;
    DenialSubject self;
    int tables = 0;
    std::uint64_t ahead_ms = 0;  // Its clock, of the others'.
  };

  LimitsEngineTest() : around_(kNodes + 1), cluster_(kNodes, kShards) {
    cluster_.around = [this](std::uint32_t id, StateMachine& inner) -> StateMachine& {
      around_[id].machine = std::make_unique<LimitsMachine>(inner);
      return *around_[id].machine;
    };
  }

  ~LimitsEngineTest() override {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      stop(id);
    }
  }

  void start(std::uint32_t id) {
    cluster_.start(id);
    Around& around = around_[id];
    around.requests = std::make_unique<LimitRequests>(LimitRequests::Environment{
        .log = cluster_.engine(id),
        .machine = *around.machine,
        .replies = around.replies,
        .all_have = [this] { return all_have_; },
        .all_guard = [this] { return all_guard_; },
        .wall_ms = [this] { return now_ms_; },
        .proven = [](protocol::ConnectionId) { return std::string{"ann"}; },
        .subject = [&around](protocol::ConnectionId) { return &around.self; }});
    around.prunes = std::make_unique<PruneOrders>(
        PruneOrders::Environment{.log = cluster_.engine(id),
                                 .machine = *around.machine,
                                 .replies = around.replies,
                                 .all_guard = [this] { return all_guard_; },
                                 .rights_on = [this] { return rights_on_; },
                                 .wall_ms = [this, &around] { return now_ms_ + around.ahead_ms; },
                                 .proven = [this](protocol::ConnectionId) { return pruner_; },
                                 .delay_ms = kDelayMs},
        folder_.path(std::to_string(id)));
    around.machine->set_listener(&around);
  }

  void start_all() {
    for (std::uint32_t id = 1; id <= kNodes; ++id) {
      start(id);
    }
  }

  void stop(std::uint32_t id) {
    if (around_[id].machine != nullptr) {
      around_[id].machine->set_listener(nullptr);
    }
    cluster_.stop(id);
    around_[id].requests.reset();
    around_[id].prunes.reset();
  }

  const security::LimitTable& table(std::uint32_t id) const { return around_[id].machine->table(); }

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
    around_[id].requests->on_request(protocol::ConnectionId{1}, slot, payload);
    return around_[id].replies;
  }

  // Sends it to the leader and waits for the answer.
  const LastAnswer& change(const LimitsOrder& order) {
    const std::uint32_t id = leader();
    LastAnswer& replies = around_[id].replies;
    const int before = replies.count;
    send(id, protocol::RequestKind::LimitsChange, protocol::encode_limits_order(order));
    cluster_.run_until([&] { return replies.count > before; });
    return replies;
  }

  // The same of an order to prune, as `who`.
  ErrorCode prune(protocol::PruneOrderAction action, const std::string& who) {
    pruner_ = who;
    const std::uint32_t id = leader();
    LastAnswer& replies = around_[id].replies;
    const int before = replies.count;
    protocol::RequestSlot slot;
    slot.kind = protocol::RequestKind::LedgerOrders;
    slot.request_id = 1;
    around_[id].prunes->on_request(
        protocol::ConnectionId{1},
        slot,
        protocol::encode_prune_orders_query(
            {.action = action, .number = ++numbers_, .bounds = kBounds}));
    cluster_.run_until([&] { return replies.count > before; });
    return replies.error();
  }

  // What every node says to the pruning itself.
  ErrorCode permitted() {
    const std::uint64_t epoch = table(leader()).epoch;
    if (epoch != 0) {
      await_epoch(epoch);
    }
    const Status first = around_[1].prunes->permits(kBounds);
    for (std::uint32_t id = 2; id <= kNodes; ++id) {
      EXPECT_EQ(around_[id].prunes->permits(kBounds).detail(), first.detail());
    }
    return static_cast<ErrorCode>(first.detail());
  }

  static LimitsOrder set(const std::string& name, std::uint32_t locks) {
    LimitsOrder order;
    order.command.number = ++numbers_;
    order.command.name = name;
    order.command.who = "somebody";
    order.command.limit.locks = locks;
    return order;
  }

  static LimitsOrder deny(const std::string& name) {
    LimitsOrder order;
    order.duration_ms = 5'000;
    order.command.kind = LimitKind::Deny;
    order.command.number = ++numbers_;
    order.command.name = name;
    return order;
  }

  // What the node's next life finds of its log is then behind it.
  void checkpoint(std::uint32_t id) {
    const std::uint64_t wanted = cluster_.engine(id).request_checkpoint();
    cluster_.wait_for([&] { return cluster_.engine(id).checkpoint_outcome(wanted).has_value(); });
  }

  static inline std::uint64_t numbers_ = 0;
  const ScratchFolder folder_;  // Of the nodes' own files.
  std::vector<Around> around_;
  bool all_have_ = true;
  bool all_guard_ = true;
  bool rights_on_ = true;
  std::string pruner_;
  std::uint64_t now_ms_ = kNow;
  EngineCluster cluster_;
};

TEST_F(LimitsEngineTest, AChangeIsOnAllNodesAndIsMadeOnce) {
  start_all();
  const LimitsOrder first = set("bob", 3);
  EXPECT_EQ(change(first).error(), ErrorCode::None);
  EXPECT_EQ(change(first).last.extra, 1u);  // Its first answer may have been lost.
  await_epoch(1);
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    EXPECT_EQ(table(id), table(1));
    EXPECT_EQ(around_[id].tables, 1);
    EXPECT_EQ(around_[id].machine->state_hash(kLimitsShard),
              around_[1].machine->state_hash(kLimitsShard));
  }
  LimitsOrder late = set("bob", 4);
  late.command.expected = 7;
  EXPECT_EQ(change(late).error(), ErrorCode::LimitsStale);
  late.command.expected = 1;
  late.dry_run = true;
  EXPECT_EQ(change(late).last.extra, 1u);
  EXPECT_EQ(change(set("", 1)).error(), ErrorCode::LimitInvalid);
  const std::uint32_t follower = leader() % kNodes + 1;
  EXPECT_EQ(
      send(follower, protocol::RequestKind::LimitsGet, protocol::encode_limits_query({})).error(),
      ErrorCode::NotLeader);
  const LastAnswer& any = send(
      follower, protocol::RequestKind::LimitsGet, protocol::encode_limits_query({.replica = true}));
  const auto answer = protocol::decode_limits_answer(any.bytes);
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer.value().limits.size(), 1u);
  EXPECT_EQ(answer.value().limits[0].second.locks, 3u);
}

TEST_F(LimitsEngineTest, APruneTakesASecondPersonOrADelay) {
  using protocol::PruneOrderAction;
  start_all();
  EXPECT_EQ(permitted(), ErrorCode::PruneNotOrdered);
  all_guard_ = false;
  EXPECT_EQ(prune(PruneOrderAction::Order, "ann"), ErrorCode::SafeguardsNotReady);
  all_guard_ = true;
  EXPECT_EQ(prune(PruneOrderAction::Order, ""), ErrorCode::PruneOrderRefused);
  EXPECT_EQ(prune(PruneOrderAction::Confirm, "bob"), ErrorCode::PruneNotOrdered);
  EXPECT_EQ(prune(PruneOrderAction::Order, "ann"), ErrorCode::None);
  EXPECT_EQ(permitted(), ErrorCode::PruneWaits);
  EXPECT_EQ(prune(PruneOrderAction::Confirm, "ann"), ErrorCode::PruneOrderRefused);
  EXPECT_EQ(permitted(), ErrorCode::PruneWaits);
  EXPECT_EQ(prune(PruneOrderAction::Confirm, "bob"), ErrorCode::None);
  EXPECT_EQ(permitted(), ErrorCode::None);
  protocol::LedgerPrune other = kBounds;
  other.entries = 1;
  EXPECT_EQ(around_[1].prunes->permits(other).detail(),
            static_cast<std::uint32_t>(ErrorCode::PruneNotOrdered));
  EXPECT_EQ(prune(PruneOrderAction::Cancel, "ann"), ErrorCode::None);
  EXPECT_EQ(permitted(), ErrorCode::PruneNotOrdered);
  EXPECT_EQ(prune(PruneOrderAction::Order, "ann"), ErrorCode::None);
  now_ms_ += kDelayMs - 1;
  EXPECT_EQ(permitted(), ErrorCode::PruneWaits);
  now_ms_ += 1;
  EXPECT_EQ(permitted(), ErrorCode::None);
  now_ms_ = kNow + security::kPruneOrderMs;
  EXPECT_EQ(permitted(), ErrorCode::PruneNotOrdered);
  // An order to prune is none of limits, for which another right is enough.
  LimitsOrder hidden;
  hidden.command.kind = LimitKind::OrderPrune;
  hidden.command.number = ++numbers_;
  hidden.command.prune.entries = 5;
  EXPECT_EQ(change(hidden).error(), ErrorCode::PayloadMalformed);
}

// Else one person alone would prune at once.
TEST_F(LimitsEngineTest, AnOrderOfALeaderWhoseClockIsBehindWaitsAllTheSame) {
  using protocol::PruneOrderAction;
  start_all();
  const std::uint32_t behind = leader();
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    around_[id].ahead_ms = id == behind ? 0 : 3 * kDelayMs;
  }
  EXPECT_EQ(prune(PruneOrderAction::Order, "ann"), ErrorCode::None);
  EXPECT_EQ(permitted(), ErrorCode::PruneWaits);
  now_ms_ += kDelayMs - 1;
  EXPECT_EQ(permitted(), ErrorCode::PruneWaits);
  now_ms_ += 1;
  EXPECT_EQ(permitted(), ErrorCode::None);
}

TEST_F(LimitsEngineTest, ARestartDoesNotBeginTheWaitOfAnOrderAnew) {
  using protocol::PruneOrderAction;
  start_all();
  EXPECT_EQ(prune(PruneOrderAction::Order, "ann"), ErrorCode::None);
  await_epoch(1);
  const std::uint32_t away = leader() % kNodes + 1;
  stop(away);
  now_ms_ += kDelayMs;
  start(away);
  await_epoch(1);
  EXPECT_EQ(permitted(), ErrorCode::None);
}

// A node goes by when it saw the order itself, whatever the times in the log say.
TEST_F(LimitsEngineTest, AfterARestartAnOrderOfAClockThatWasBehindWaitsFromWhenItWasSeen) {
  using protocol::PruneOrderAction;
  start_all();
  const std::uint32_t behind = leader();
  const std::uint32_t away = behind % kNodes + 1;
  for (std::uint32_t id = 1; id <= kNodes; ++id) {
    around_[id].ahead_ms = id == behind ? 0 : 3 * kDelayMs;
  }
  EXPECT_EQ(prune(PruneOrderAction::Order, "ann"), ErrorCode::None);
  await_epoch(1);
  checkpoint(away);
  const auto restart = [&] {
    stop(away);
    start(away);
    await_epoch(1);
  };
  now_ms_ += kDelayMs - 1;
  restart();
  EXPECT_EQ(permitted(), ErrorCode::PruneWaits);
  restart();  // What an earlier life saw is kept by the next one, too.
  now_ms_ += 1;
  restart();
  EXPECT_EQ(permitted(), ErrorCode::None);
}

// What it saw is damaged or lost, or it is of a release that kept nothing.
TEST_F(LimitsEngineTest, ANodeThatDoesNotKnowWhenItSawAnOrderWaitsFromItsStart) {
  using protocol::PruneOrderAction;
  start_all();
  EXPECT_EQ(prune(PruneOrderAction::Order, "ann"), ErrorCode::None);
  await_epoch(1);
  const std::uint32_t away = leader() % kNodes + 1;
  checkpoint(away);
  stop(away);
  now_ms_ += kDelayMs;
  std::filesystem::resize_file(folder_.path(std::to_string(away) + "/prune-orders"), 20);
  start(away);
  await_epoch(1);
  const auto permits = [&] {
    return static_cast<ErrorCode>(around_[away].prunes->permits(kBounds).detail());
  };
  EXPECT_EQ(permits(), ErrorCode::PruneWaits);
  now_ms_ += kDelayMs - 1;
  EXPECT_EQ(permits(), ErrorCode::PruneWaits);
  now_ms_ += 1;
  EXPECT_EQ(permits(), ErrorCode::None);
}

// It kept all orders from being taken for the life of the nodes.
TEST_F(LimitsEngineTest, OneWrongTimeInTheLogKeepsNoOrderFromBeingTaken) {
  using protocol::PruneOrderAction;
  start_all();
  now_ms_ = 4'070'908'800'000;  // 2099.
  EXPECT_EQ(change(set("bob", 3)).error(), ErrorCode::None);
  now_ms_ = kNow;
  EXPECT_EQ(prune(PruneOrderAction::Order, "ann"), ErrorCode::None);
  EXPECT_EQ(permitted(), ErrorCode::PruneWaits);
  now_ms_ += kDelayMs;
  EXPECT_EQ(permitted(), ErrorCode::None);
}

TEST(OrderSightsFile, IsReadAsItWasWrittenAndInNoOtherWay) {
  std::vector<OrderSight> sights(2);
  sights[0] = {.bounds = {.log = 1, .shard = 2, .below = 3, .entries = 4, .bytes = 5, .age_ms = 6},
               .who = "ann",
               .ordered_ms = 7,
               .seen_ms = 8};
  sights[1].who = std::string(255, 'b');
  const std::vector<std::byte> bytes = encode_order_sights(sights);
  EXPECT_EQ(decode_order_sights(bytes), sights);
  EXPECT_EQ(decode_order_sights(encode_order_sights({})), std::vector<OrderSight>{});
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    EXPECT_FALSE(decode_order_sights(std::span(bytes).first(k))) << k;
    std::vector<std::byte> other = bytes;
    other[k] ^= std::byte{1};
    EXPECT_FALSE(decode_order_sights(other)) << k;
  }
  // Whose sum is right.
  const std::size_t second = bytes.size() - 4 - 255 - 55;
  for (std::size_t k = 8; k + 4 < bytes.size(); ++k) {
    std::vector<std::byte> shorter(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(k));
    shorter.resize(k + 4);
    store(&shorter[k], crc32c(std::span(shorter).first(k)));
    EXPECT_EQ(decode_order_sights(shorter).has_value(), k == 8 || k == second) << k;
  }
  sights.resize(kOrderSightsMax + 1);
  EXPECT_FALSE(decode_order_sights(encode_order_sights(sights)));
}

// Nobody is told from anybody else then, and the orders would count once rights are checked.
TEST_F(LimitsEngineTest, WhileRightsAreOffOrdersAreCancelledAndNeitherMadeNorConfirmed) {
  using protocol::PruneOrderAction;
  start_all();
  EXPECT_EQ(prune(PruneOrderAction::Order, "ann"), ErrorCode::None);
  rights_on_ = false;
  EXPECT_EQ(prune(PruneOrderAction::Confirm, "bob"), ErrorCode::PruneOrderRefused);
  EXPECT_EQ(permitted(), ErrorCode::PruneWaits);
  EXPECT_EQ(prune(PruneOrderAction::Cancel, "bob"), ErrorCode::None);
  EXPECT_EQ(prune(PruneOrderAction::Order, "ann"), ErrorCode::PruneOrderRefused);
  EXPECT_EQ(permitted(), ErrorCode::PruneNotOrdered);
}

TEST_F(LimitsEngineTest, ADenialEndsByItselfAndNobodyDeniesHimself) {
  start_all();
  for (Around& around : around_) {
    around.self.principal = "ann";
  }
  EXPECT_EQ(change(deny("ann")).error(), ErrorCode::DeniesSelf);
  EXPECT_EQ(change(deny("bob")).error(), ErrorCode::None);
  const auto count = [this] {
    const LastAnswer& said = send(leader(),
                                  protocol::RequestKind::LimitsGet,
                                  protocol::encode_limits_query({.denials = true}));
    return protocol::decode_limits_answer(said.bytes).value().denial_count;
  };
  EXPECT_EQ(count(), 1u);
  now_ms_ += 5'000;
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(change(set("bob", 1)).error(), ErrorCode::None);
  await_epoch(2);
  EXPECT_TRUE(table(1).denials.empty());
}

TEST_F(LimitsEngineTest, NothingIsMadeWhileANodeLacksTheFeature) {
  all_have_ = false;
  start_all();
  EXPECT_EQ(change(set("bob", 3)).error(), ErrorCode::LimitsNotReady);
  // Nothing stands behind what earlier releases write.
  std::vector<std::byte> bytes;
  std::vector<std::byte> plain;
  around_[1].machine->serialize(kLimitsShard, bytes);
  cluster_.service(1).serialize(kLimitsShard, plain);
  EXPECT_EQ(bytes, plain);
}

TEST_F(LimitsEngineTest, ARestartAndASnapshotKeepThem) {
  start_all();
  ASSERT_EQ(change(set("bob", 3)).error(), ErrorCode::None);
  await_epoch(1);
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
  ASSERT_EQ(change(deny("cid")).error(), ErrorCode::None);
  const security::LimitTable kept = table(leader());
  stop(first);
  start(away);
  await_epoch(2);
  EXPECT_EQ(table(away), kept);
  start(first);
  await_epoch(2);
  EXPECT_EQ(table(first), kept);
}

}  // namespace
}  // namespace gcoord::server
