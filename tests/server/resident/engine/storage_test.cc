// What a resident node's host writes for its rows: acknowledged only when it is durable, there
// again after power was lost, from checkpoints and the log behind them; and the end at a failed
// sync.
#include "server/resident/engine/storage.h"

#include "ledger/checkpoint/memory_checkpoint_store.h"
#include "ledger/disk/memory_disk.h"
#include "server/device_turn/store.h"
#include "server/interfaces/errors.h"
#include "server/interfaces/lock_command.h"
#include "tests/server/resident/engine/resident_world.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

namespace gcoord::server {
namespace {

constexpr ShardId kShard{3};

class TablesService final : public StateMachine {
 public:
  void apply(const AppliedEntry& entry) override {
    if (entry.payload.empty()) {
      return;
    }
    std::vector<locks::LockEvent> room(locks::kLockEventsPerCommandMax);
    locks::LockEvents events{room.data(), locks::kLockEventsPerCommandMax};
    if (const auto command = lock_command_of(entry)) {
      locks.apply(entry.shard, entry.index, *command, Tick{1}, events);
    }
  }

  void on_proposal_failed(std::uint64_t, const Status&, NodeId) override {}

  void on_read(std::uint64_t, const Status&, NodeId) override {}

  void on_role(ShardId, consensus::Role, Term, NodeId) override {}

  void serialize(ShardId shard, std::vector<std::byte>& bytes) override {
    const auto state = locks.serialize(shard);
    bytes.insert(bytes.end(), state.begin(), state.end());
  }

  Status install(ShardId shard, std::span<const std::byte> bytes) override {
    return bytes.empty() ? Status{} : locks.deserialize(shard, bytes, Tick{1});
  }

  bool plausible(ShardId, std::span<const std::byte>) const override { return true; }

  std::uint64_t state_hash(ShardId shard) const override { return locks.state_hash(shard); }

  void on_loop_gap(std::uint64_t) override {}

  locks::LockCpu locks{{.shard_count = ResidentWorld::kShards, .index_seed = 5}};
};

// What a node's lives leave behind.
struct Disks {
  void lose_power() {
    identity.lose_power(1);
    wal.lose_power(2);
  }

  ledger::MemoryDisk identity;
  ledger::MemoryDisk wal;
  ledger::CheckpointMedium store;
};

// One life of a node's storage over disks that outlive it.
struct Life {
  // The node has the first of the ids.
  explicit Life(Disks& disks, ResidentNames::Ids ids = {NodeId{1}, NodeId{2}, NodeId{3}}) {
    ResidentNodeOptions node;
    node.self = ids[0];
    node.names = ResidentNames(ids);
    node.shape = {.shard_count = ResidentWorld::kShards,
                  .stripe_count = 3,
                  .log_slots = 128,
                  .entries_max = 16,
                  .wide_count = 64};
    node.ring_slots = 256;
    ResidentWorld::open(host, node);
    requests = std::make_unique<ResidentRequests>(*host.memory);
    rows = std::make_unique<ResidentRows>(*host.memory, service, *requests);
    ReplicaOptions options;
    options.cluster = ClusterId{9};
    options.node = ids[0];
    options.shard_count = ResidentWorld::kShards;
    options.peers = {{ids[1], "simulated", 2}, {ids[2], "simulated", 3}};
    options.identity_disk = &disks.identity;
    options.wal_disk = &disks.wal;
    options.open_checkpoint_store = [&disks] {
      return Result<std::unique_ptr<ledger::CheckpointStore>>{
          ledger::open_memory_checkpoint_store(disks.store)};
    };
    options.storage_driver = ledger::StorageDriver::Owner;
    options.wal_segment_bytes = 1 << 20;
    options.checkpoint_interval_ms = 0;
    options.checkpoint_wal_bytes = 1;
    options.resident_entries = true;
    options.seed = 11;
    auto opened = ResidentStorage::open(options, *rows, *requests, service, metrics);
    status = opened.status();
    if (opened.ok()) {
      storage = std::move(opened).value();
    }
  }

  // Asks to store one entry, in term 1.
  Status ask(LogIndex index,
             const locks::LockEntry& entry,
             LogIndex commit,
             NodeId vote = NodeId{1}) {
    HostEventSlot told;
    told.reply.shard = kShard;
    told.reply.verdict = TurnVerdict::Store;
    told.reply.detail = 1;
    told.reply.index = index;
    told.reply.term = Term{1};
    told.reply.leader = vote;
    told.reply.result.word[0] = 1;
    told.reply.result.word[1] = commit.value;
    told.stores = {entry};
    const Status taken = storage->take(told);
    storage->submit();
    return taken;
  }

  // Until everything that was submitted is on the disks.
  void sync() {
    while (storage->advance()) {
    }
  }

  void checkpoint() {
    for (std::uint64_t ms = 1; ms < 100; ++ms) {
      storage->checkpoint(ms);
      storage->advance();
    }
  }

  // The host was told of a decided entry, as by a device without the shard's state.
  void tell(LogIndex index, const locks::LockEntry& entry) {
    rows->replay(kShard, index, entry);
    HostEventSlot told;
    told.reply.shard = kShard;
    told.reply.index = index;
    told.entry = entry;
    ASSERT_TRUE(storage->on_told(told).ok());
  }

  // What the node begins with, and of it the shard's row.
  void fill(const std::function<void(const ResidentView&, consensus::ShardRef)>& look) {
    ASSERT_TRUE(host.memory
                    ->restore([&](const ResidentView& view) {
                      const Status filled = storage->fill(view);
                      EXPECT_TRUE(filled.ok()) << filled.to_string();
                      consensus::RowCopy copy;
                      const auto row = consensus::ref_of(copy, kShard, kTurnNodes);
                      consensus::load_row(view.table, kShard.value, row);
                      look(view, row);
                    })
                    .ok());
  }

  ResidentWorld::Node host;
  TablesService service;
  MetricsRegistry metrics;
  std::unique_ptr<ResidentRequests> requests;
  std::unique_ptr<ResidentRows> rows;
  std::unique_ptr<ResidentStorage> storage;
  Status status;
};

consensus::Configuration without(NodeId learner) {
  consensus::Configuration configuration;
  for (std::uint32_t slot = 0; slot < kTurnNodes; ++slot) {
    configuration.node[slot] = NodeId{slot + 1};
    configuration.weight[slot] = 1;
  }
  configuration.learners = consensus::slot_bit(learner.value - 1);
  configuration.voters = static_cast<consensus::SlotMask>(7u & ~configuration.learners);
  return configuration;
}

locks::LockEntry acquire(std::uint64_t sequence) {
  const std::string name = "s" + std::to_string(sequence);
  return locks::entries_of(locks::make_acquire({.session = SessionId{5},
                                                .sequence = RequestSequence{sequence},
                                                .acked_below = RequestSequence{1},
                                                .name = name,
                                                .ttl_ms = 10'000}))
      .front();
}

TEST(ResidentStorage, WhatWasAcknowledgedIsThereAfterPowerIsLost) {
  Disks disks;
  std::uint64_t hash = 0;
  {
    Life life(disks);
    ASSERT_TRUE(life.status.ok()) << life.status.to_string();
    for (std::uint64_t k = 1; k <= 40; ++k) {
      ASSERT_TRUE(life.ask(LogIndex{k}, acquire(k), LogIndex{k - 1}).ok());
      EXPECT_EQ(life.storage->take_acks().value(), 0u) << "acknowledged before it was synced";
      life.sync();
      EXPECT_EQ(life.storage->take_acks().value(), 1u);
      if (k > 1) {
        life.tell(LogIndex{k - 1}, acquire(k - 1));
      }
      life.storage->checkpoint(k);
    }
    hash = life.service.state_hash(kShard);
    EXPECT_NE(hash, 0u);
    // Not synced: may be gone.
    ASSERT_TRUE(life.ask(LogIndex{41}, acquire(41), LogIndex{39}).ok());
    disks.lose_power();
  }
  Life life(disks);
  ASSERT_TRUE(life.status.ok()) << life.status.to_string();
  EXPECT_EQ(life.rows->applied(kShard), LogIndex{39});
  EXPECT_EQ(life.service.state_hash(kShard), hash);
  Status filled;
  ASSERT_TRUE(life.host.memory
                  ->restore([&](const ResidentView& view) {
                    filled = life.storage->fill(view);
                    EXPECT_EQ(view.applied[kShard.value], LogIndex{39});
                    EXPECT_EQ(view.service.absent[kShard.value], 0);
                    EXPECT_EQ(view.service.stripes[stripe_of(view.shape, kShard)]
                                  .shared.tables.shard(kShard)
                                  .state_hash,
                              hash);
                    EXPECT_EQ(view.entry(kShard.value, LogIndex{40}).word[1], 40u);
                  })
                  .ok());
  EXPECT_TRUE(filled.ok()) << filled.to_string();
}

// The pieces of a text were applied, and its command's entry was not, when the power went. The
// device has them again, and decides as who ran on. `look`: at the tables then.
void come_back_before_the_end(const locks::LockCommand& command,
                              const std::function<void(const locks::LockCpu&)>& look) {
  auto entries = locks::entries_of(command);
  const std::uint64_t last = entries.size();
  ASSERT_GT(last, 10u);
  for (std::uint64_t k = 1; k <= last; ++k) {
    entries[k - 1].request = 70 + k;
  }
  Disks disks;
  {
    Life life(disks);
    ASSERT_TRUE(life.status.ok()) << life.status.to_string();
    for (std::uint64_t k = 1; k <= last; ++k) {
      ASSERT_TRUE(life.ask(LogIndex{k}, entries[k - 1], LogIndex{k - 1}).ok());
      life.sync();
      EXPECT_EQ(life.storage->take_acks().value(), 1u);
      if (k > 1) {
        life.tell(LogIndex{k - 1}, entries[k - 2]);
      }
      life.storage->checkpoint(k);
    }
    disks.lose_power();
  }
  Life life(disks);
  ASSERT_TRUE(life.status.ok()) << life.status.to_string();
  EXPECT_EQ(life.rows->applied(kShard), LogIndex{last - 1});
  TurnResult result;
  ASSERT_TRUE(life.host.memory
                  ->restore([&](const ResidentView& view) {
                    EXPECT_TRUE(life.storage->fill(view).ok());
                    view.service.begin_turn(stripe_of(view.shape, kShard));
                    const auto log = [&view](LogIndex at) { return view.entry(kShard.value, at); };
                    EXPECT_TRUE(view.service.apply_told(
                        log, kShard.value, LogIndex{last}, log(LogIndex{last}), result));
                  })
                  .ok());
  EXPECT_EQ(done_of(result), LockTurnDone::Applied);
  life.tell(LogIndex{last}, entries.back());
  EXPECT_EQ(life.service.state_hash(kShard), result.word[0]);
  look(life.service.locks);
}

TEST(ResidentStorage, TheRestOfATextIsAppliedByWhoeverCameBackInTheMiddleOfIt) {
  const std::string text = "name" + std::string(500, 'o');
  const std::string_view name = std::string_view{text}.substr(0, 4);
  come_back_before_the_end(locks::make_acquire_hold({.acquire = {.session = SessionId{5},
                                                                 .sequence = RequestSequence{1},
                                                                 .name = name,
                                                                 .ttl_ms = 10'000},
                                                     .text = text}),
                           [&](const locks::LockCpu& locks) {
                             const auto held = locks.get(kShard, hash_name(name));
                             ASSERT_TRUE(held.has_value());
                             EXPECT_EQ(held->note, text.substr(4));
                           });
}

// It has more pieces than any other command, all of which have to be in the page again.
TEST(ResidentStorage, L19TheRestOfAMoveInIsAppliedByWhoeverCameBackInTheMiddleOfIt) {
  std::string text = "name";
  for (std::uint64_t session = 1; session <= 1 + locks::kMoveWaitersMax; ++session) {
    const std::uint32_t ttl_ms = 10'000;
    text.append(reinterpret_cast<const char*>(&session), sizeof session);
    text.append(reinterpret_cast<const char*>(&ttl_ms), sizeof ttl_ms);
  }
  come_back_before_the_end(locks::make_move_in({.from = ShardId{kShard.value == 0 ? 1u : 0u},
                                                .number = 1,
                                                .token = FencingToken{7},
                                                .token_last = 9,
                                                .name_bytes = 4,
                                                .text = text}),
                           [](const locks::LockCpu& locks) {
                             const auto held = locks.get(kShard, hash_name("name"));
                             ASSERT_TRUE(held.has_value());
                             EXPECT_EQ(held->holder, SessionId{1});
                             EXPECT_EQ(held->waiter_count, locks::kMoveWaitersMax);
                           });
}

// The state of a snapshot comes later than the request to store it. Between that and the record's
// sync, power may go: nobody may have been told by then (I2: the request carries a vote, too).
TEST(ResidentStorage, ASnapshotWhoseStateCameIsAcknowledgedOnlyWhenItIsSynced) {
  Disks disks;
  {
    Life life(disks);
    ASSERT_TRUE(life.status.ok()) << life.status.to_string();
    HostEventSlot told;
    told.reply.shard = kShard;
    told.reply.verdict = TurnVerdict::Store;
    told.reply.detail = kStoreSnapshot | 1u;
    told.stores = {LockTurnService::configuration_entry(without(NodeId{2}))};
    told.reply.index = LogIndex{2};
    told.reply.term = Term{7};
    told.reply.leader = NodeId{3};
    told.reply.result.word[0] = 6;
    ASSERT_TRUE(life.storage->take(told).ok());
    life.storage->submit();
    EXPECT_EQ(life.storage->take_acks().value(), 0u) << "acknowledged without its state";
    life.rows->replay(kShard, LogIndex{1}, acquire(1));
    life.rows->replay(kShard, LogIndex{2}, acquire(2));
    EXPECT_EQ(life.storage->take_acks().value(), 0u) << "acknowledged before it was submitted";
    life.storage->submit();
    EXPECT_EQ(life.storage->take_acks().value(), 0u) << "acknowledged before it was synced";
    life.sync();
    EXPECT_EQ(life.storage->take_acks().value(), 1u);
    disks.lose_power();
  }
  Life life(disks);
  ASSERT_TRUE(life.status.ok()) << life.status.to_string();
  EXPECT_EQ(life.rows->applied(kShard), LogIndex{2});
  life.fill([](const ResidentView&, consensus::ShardRef row) {
    EXPECT_EQ(row.configuration().learners, without(NodeId{2}).learners);
  });
}

// What a leader decided of who votes must be there after any restart: a node that takes a learner
// for a voter would count what its lost directory promised (I17, docs/adr/0069).
TEST(ResidentStorage, WhoVotesIsKnownAfterPowerIsLostFromTheLogAndFromACheckpoint) {
  for (const bool checkpoints : {false, true}) {
    Disks disks;
    {
      Life life(disks);
      ASSERT_TRUE(life.status.ok()) << life.status.to_string();
      ASSERT_TRUE(life.ask(LogIndex{1}, acquire(1), LogIndex{}).ok());
      const auto demoted = LockTurnService::configuration_entry(without(NodeId{2}));
      ASSERT_TRUE(life.ask(LogIndex{2}, demoted, LogIndex{1}).ok());
      ASSERT_TRUE(life.ask(LogIndex{3}, acquire(3), LogIndex{2}).ok());
      life.sync();
      life.tell(LogIndex{1}, acquire(1));
      life.tell(LogIndex{2}, demoted);
      if (checkpoints) {
        life.checkpoint();
      }
      disks.lose_power();
    }
    Life life(disks);
    ASSERT_TRUE(life.status.ok()) << life.status.to_string();
    life.fill([checkpoints](const ResidentView&, consensus::ShardRef row) {
      EXPECT_EQ(row.configuration().voters, without(NodeId{2}).voters) << checkpoints;
      EXPECT_EQ(row.configuration().learners, without(NodeId{2}).learners) << checkpoints;
      EXPECT_EQ(row.configuration().weight[1], 1u) << "to be a voter again";
      EXPECT_LE(row.log().configuration_pending, row.log().applied);
    });
    EXPECT_EQ(life.rows->leaders().known(kShard).learners(), without(NodeId{2}).learners);
  }
}

// What no device believes is stored as it lies: a leader that errs must not leave directories that
// nobody can open. By the log, and by a checkpoint.
TEST(ResidentStorage, AnEntryThatLiesAboutWhoVotesIsACommandAndTheDirectoryOpens) {
  auto junk = LockTurnService::configuration_entry({});
  auto foreign = without(NodeId{2});
  foreign.node[1] = NodeId{9};
  auto stray = LockTurnService::configuration_entry(without(NodeId{2}));
  stray.reserved = 1;
  for (const auto& lie : {junk, LockTurnService::configuration_entry(foreign), stray}) {
    for (const bool checkpoints : {false, true}) {
      Disks disks;
      {
        Life life(disks);
        ASSERT_TRUE(life.ask(LogIndex{1}, lie, LogIndex{}).ok());
        ASSERT_TRUE(life.ask(LogIndex{2}, acquire(2), LogIndex{1}).ok());
        life.sync();
        life.tell(LogIndex{1}, lie);
        if (checkpoints) {
          life.checkpoint();
        }
        disks.lose_power();
      }
      Life life(disks);
      ASSERT_TRUE(life.status.ok()) << life.status.to_string();
      life.fill([&](const ResidentView& view, consensus::ShardRef row) {
        EXPECT_EQ(row.configuration().voters, 7u);
        if (!checkpoints) {
          const locks::LockEntry& entry = view.entry(kShard.value, LogIndex{1});
          EXPECT_EQ(std::memcmp(&entry, &lie, sizeof lie), 0) << "as it lay in the log page";
        }
      });
    }
  }
}

// Storage knows ids, and the device the numbers of nodes in their order.
TEST(ResidentStorage, NodesOfAnyIdsAreNumbersToTheDeviceAndIdsOnDisk) {
  Disks disks;
  const ResidentNames::Ids ids = {NodeId{40}, NodeId{7}, NodeId{1000}};
  const auto demoted = LockTurnService::configuration_entry(without(NodeId{2}));
  {
    Life life(disks, ids);
    ASSERT_TRUE(life.status.ok()) << life.status.to_string();
    ASSERT_TRUE(life.ask(LogIndex{1}, demoted, LogIndex{1}, NodeId{1000}).ok());
    life.sync();
    life.tell(LogIndex{1}, demoted);
    disks.lose_power();
  }
  Life life(disks, ids);
  ASSERT_TRUE(life.status.ok()) << life.status.to_string();
  life.fill([&](const ResidentView& view, consensus::ShardRef row) {
    EXPECT_EQ(view.self, NodeId{2});
    EXPECT_EQ(row.hot().vote, NodeId{3});
    EXPECT_EQ(row.hot().self_slot, 1);
    EXPECT_EQ(std::memcmp(&row.configuration(),
                          &view.entry(kShard.value, LogIndex{1}).word,
                          sizeof(consensus::Configuration)),
              0);
    EXPECT_EQ(row.configuration().node[2], NodeId{3});
  });
  const ShardView view = life.rows->view(kShard);
  EXPECT_EQ(view.configuration.node[0], NodeId{7});
  EXPECT_EQ(view.configuration.node[2], NodeId{1000});
}

TEST(ResidentStorage, AVoteForNoNodeOfTheClusterIsRot) {
  Disks disks;
  {
    Life life(disks);
    ASSERT_TRUE(life.ask(LogIndex{1}, acquire(1), LogIndex{}, NodeId{5}).ok());
    life.sync();
  }
  Life life(disks);
  ASSERT_TRUE(life.status.ok()) << life.status.to_string();
  ASSERT_TRUE(life.host.memory
                  ->restore([&](const ResidentView& view) {
                    EXPECT_EQ(life.storage->fill(view).detail(), kReplayImpossible);
                  })
                  .ok());
}

// The newest entry of a log may be a configuration that nobody has decided yet.
TEST(ResidentStorage, AConfigurationThatIsNotDecidedIsPendingAfterARestart) {
  Disks disks;
  const auto demoted = LockTurnService::configuration_entry(without(NodeId{2}));
  {
    Life life(disks);
    ASSERT_TRUE(life.ask(LogIndex{1}, demoted, LogIndex{}).ok());
    life.sync();
  }
  Life life(disks);
  ASSERT_TRUE(life.status.ok()) << life.status.to_string();
  life.fill([&demoted](const ResidentView& view, consensus::ShardRef row) {
    EXPECT_EQ(row.configuration().voters, 7u);
    EXPECT_EQ(row.log().configuration_pending, LogIndex{1});
    const locks::LockEntry& entry = view.entry(kShard.value, LogIndex{1});
    EXPECT_EQ(std::memcmp(&entry, &demoted, sizeof demoted), 0) << "as it lay in the log page";
  });
}

// By this the node falls silent while its disk stands still: it was counted from tick 0.
TEST(ResidentStorage, ADiskThatStandsStillIsWaitedForSinceItWasAsked) {
  Disks disks;
  Life life(disks);
  ASSERT_TRUE(life.status.ok()) << life.status.to_string();
  life.storage->set_time(Tick{1000});
  EXPECT_EQ(life.storage->waits_since(Tick{1000}), 0u) << "nothing was asked for";
  ASSERT_TRUE(life.ask(LogIndex{1}, acquire(1), LogIndex{}).ok());
  EXPECT_EQ(life.storage->waits_since(Tick{1040}), 40u);
  life.sync();
  EXPECT_EQ(life.storage->take_acks().value(), 1u);
  EXPECT_EQ(life.storage->waits_since(Tick{1060}), 0u);
}

TEST(ResidentStorage, AFailedSyncIsTheEnd) {
  Disks disks;
  Life life(disks);
  ASSERT_TRUE(life.status.ok()) << life.status.to_string();
  disks.wal.fail_syncs(true);
  ASSERT_TRUE(life.ask(LogIndex{1}, acquire(1), LogIndex{}).ok());
  life.sync();
  EXPECT_FALSE(life.storage->take_acks().ok());
}

TEST(ResidentStorage, WhatCannotFollowIsADeviceThatErrs) {
  Disks disks;
  Life life(disks);
  ASSERT_TRUE(life.status.ok()) << life.status.to_string();
  EXPECT_FALSE(life.ask(LogIndex{2}, acquire(1), LogIndex{}).ok());
}

}  // namespace
}  // namespace gcoord::server
