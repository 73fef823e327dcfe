// The host's halves of three resident nodes: what each of them asks, hears and copies, by the twin.
#pragma once

#include "ledger/history/memory_store.h"
#include "locks/snapshot/snapshot.h"
#include "server/history/history.h"
#include "server/interfaces/lock_command.h"
#include "server/interfaces/state_machine.h"
#include "server/resident/copy/followers.h"
#include "server/resident/engine/event_drain.h"
#include "server/resident/engine/requests.h"
#include "server/resident/engine/rows.h"
#include "server/resident/engine/states.h"
#include "tests/server/resident/engine/resident_world.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

inline constexpr std::uint32_t kShards = 24;
inline constexpr std::uint32_t kLanes = 3;

inline constexpr locks::LockCommandKind kUnknown = locks::LockCommandKind::Unknown;

// The lock tables as a service, and what became of each cookie.
class CopyService final : public StateMachine {
 public:
  explicit CopyService(std::uint32_t part_shards = 0)
      : locks({.shard_count = kShards,
               .index_seed = 5,
               .group_answers_apart = true,
               .part_shards = part_shards}) {}

  void apply(const AppliedEntry& entry) override {
    if (entry.payload.empty()) {
      return;
    }
    if (decode_record_header(entry.payload)->kind != RecordKind::LockCommand) {
      records.emplace_back(entry.payload.begin(), entry.payload.end());
      noted.insert(entry.cookie);
      return;
    }
    std::vector<locks::LockEvent> room(locks::kLockEventsPerCommandMax);
    locks::LockEvents events{room.data(), locks::kLockEventsPerCommandMax};
    const auto reply =
        entry.outcome != nullptr
            ? entry.outcome->reply
            : locks.apply(entry.shard,
                          entry.index,
                          lock_command_of(entry).value_or(locks::LockCommand{.kind = kUnknown}),
                          Tick{1},
                          events);
    granted += reply.code == locks::LockCode::Granted ? 1 : 0;
    ended += entry.outcome != nullptr ? entry.outcome->events.size() : events.count;
    if (entry.cookie != 0) {
      applied[entry.cookie] = reply.code;
    }
  }

  void on_proposal_failed(std::uint64_t cookie, const Status& status, NodeId) override {
    EXPECT_TRUE(failed.emplace(cookie, status.code()).second);
  }

  void on_read(std::uint64_t cookie, const Status& status, NodeId) override {
    EXPECT_TRUE(reads.emplace(cookie, status.code()).second);
  }

  void on_role(ShardId shard, consensus::Role role, Term, NodeId) override {
    EXPECT_TRUE(role != consensus::Role::Leader || !leads[shard.value]) << "told twice";
    leads[shard.value] = role == consensus::Role::Leader;
  }

  void serialize(ShardId shard, std::vector<std::byte>& bytes) override {
    const std::vector<std::byte> state = locks.serialize(shard);
    bytes.insert(bytes.end(), state.begin(), state.end());
  }

  Status install(ShardId shard, std::span<const std::byte> bytes) override {
    return locks.deserialize(shard, bytes, Tick{1});
  }

  bool plausible(ShardId, std::span<const std::byte> bytes) const override {
    return locks::parse_snapshot(bytes).ok();
  }

  std::uint64_t state_hash(ShardId shard) const override { return locks.state_hash(shard); }

  void on_loop_gap(std::uint64_t) override {}

  locks::LockCpu locks;
  std::uint64_t granted = 0;  // Acquires that were, at once.
  std::uint64_t ended = 0;    // Waits.
  std::map<std::uint64_t, locks::LockCode> applied;
  std::vector<std::vector<std::byte>> records;  // Of other services.
  std::set<std::uint64_t> noted;                // Cookies of those.
  std::map<std::uint64_t, StatusCode> failed;
  std::map<std::uint64_t, StatusCode> reads;
  std::map<std::uint32_t, bool> leads;  // As the service was told.
};

// The threads of each host that follow lanes, of so many each; 0: there are none.
struct HostThreads {
  std::uint32_t lanes_each = 0;
  std::uint32_t ring_events = kCopyRingEvents;

  // Of the world's three lanes for 24 shards.
  std::uint32_t part_shards() const { return lanes_each * kShards / kLanes; }
};

// The host's halves of the three nodes of a world, whose own copies are not used.
struct Hosts {
  struct Host {
    Host(std::uint32_t part_shards, bool keeps_history = false) : service(part_shards) {
      if (keeps_history) {
        NodeHistoryOptions options;
        options.shard_count = kShards;
        options.driver = ledger::StorageDriver::Owner;
        history = std::make_unique<NodeHistory>(std::move(options), service);
        EXPECT_TRUE(history->open(ledger::open_memory_history_store(*medium)).ok());
      }
    }

    // What its rows call.
    StateMachine& machine() {
      return history == nullptr ? static_cast<StateMachine&>(service) : history->service();
    }

    Followers& followers() const { return *drain->followers(); }

    CopyService service;
    std::unique_ptr<ledger::HistoryMedium> medium = std::make_unique<ledger::HistoryMedium>();
    std::unique_ptr<NodeHistory> history;  // Around the service, where hosts keep one.
    std::unique_ptr<ResidentRequests> requests;
    std::unique_ptr<ResidentRows> rows;
    std::unique_ptr<ResidentStates> states;
    std::unique_ptr<EventDrain> drain;  // Where threads follow its lanes.
    bool deaf = false;                  // Its loop stands still.
    Status failure;
  };

  // Lives do not end here, so that acknowledgements count from the first one on.
  explicit Hosts(LockTurnSizes sizes = {}, HostThreads threads = {}, bool keep_history = false)
      : world(21, sizes, false, 256, false, false),
        each{{threads.part_shards(), keep_history},
             {threads.part_shards(), keep_history},
             {threads.part_shards(), keep_history}} {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      Host& host = each[n];
      host.requests = std::make_unique<ResidentRequests>(*world.nodes[n].memory);
      host.rows =
          std::make_unique<ResidentRows>(*world.nodes[n].memory, host.machine(), *host.requests);
      std::vector<NodeId> peers;
      for (std::uint32_t p = 0; p < kTurnNodes; ++p) {
        if (p != n) {
          peers.push_back(NodeId{p + 1});
        }
      }
      host.states = std::make_unique<ResidentStates>(
          peers, *host.rows, host.machine(), [this, n](NodeId to, auto message) {
            if (lose_messages == 0) {
              sent.push_back({n, to.value - 1, {message.begin(), message.end()}});
            } else {
              --lose_messages;
            }
          });
    }
    for (std::uint32_t n = 0; threads.lanes_each != 0 && n < kTurnNodes; ++n) {
      follow(n, threads);
    }
    turns(4000);
  }

  void follow(std::uint32_t n, const HostThreads& threads) {
    Host& host = each[n];
    host.drain = std::make_unique<EventDrain>(
        EventDrain::Environment{.node = *world.nodes[n].memory,
                                .requests = *host.requests,
                                .rows = *host.rows,
                                .now_ms = [] { return std::uint64_t{1}; },
                                .copy = {.tables = &host.service.locks,
                                         .part_shards = threads.part_shards(),
                                         .now = [] { return Tick{1}; },
                                         .ring_events = threads.ring_events}});
    host.drain->begin_following();
  }

  void turns(std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      for (Host& host : each) {
        host.requests->push();
      }
      world.turns(1);
      for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
        listen(n);
      }
      deliver();
    }
  }

  void listen(std::uint32_t n) {
    if (each[n].deaf) {
      return;
    }
    if (each[n].drain != nullptr) {
      const auto drained = each[n].drain->drain();
      each[n].failure = drained.ok() ? each[n].failure : drained.status();
      return;
    }
    each[n].rows->look();
    hear(n);
    each[n].rows->follow();
  }

  void hear(std::uint32_t n) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      while (const auto told = world.nodes[n].memory->pull(lane)) {
        const Status taken = each[n].rows->take(lane, *told);
        each[n].failure = taken.ok() ? each[n].failure : taken;
      }
    }
  }

  void deliver() {
    const auto messages = std::exchange(sent, {});
    for (const Message& message : messages) {
      EXPECT_TRUE(ResidentStates::is_message(message.bytes));
      Host& host = each[message.to];
      const auto take = [&] {
        return host.states->on_message(NodeId{message.from + 1}, message.bytes);
      };
      EXPECT_TRUE((host.drain != nullptr ? host.drain->while_settled(take) : take()).ok());
    }
  }

  std::uint32_t leader_of(ShardId shard) const {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      if (n != world.paused && each[n].rows->view(shard).role == consensus::Role::Leader) {
        return n;
      }
    }
    return kTurnNodes;
  }

  locks::LockCode ask(ShardId shard, const locks::LockCommand& command) {
    const std::uint32_t n = leader_of(shard);
    EXPECT_LT(n, kTurnNodes);
    each[n].requests->command(shard, command, ++cookie);
    const std::uint32_t most = each[n].drain != nullptr ? 1'000'000 : 1000;
    for (std::uint32_t k = 0; k < most && !each[n].service.applied.contains(cookie); ++k) {
      turns(1);
    }
    return each[n].service.applied[cookie];
  }

  // Host n asks for the states that it lacks, ten times a second from second 1 on, with so many
  // turns in between.
  void refresh_states(std::uint32_t n, std::uint64_t until_ms, std::uint32_t turns_between) {
    for (std::uint64_t now_ms = 1000; now_ms < until_ms; now_ms += 100) {
      each[n].states->refresh(now_ms);
      turns(turns_between);
    }
  }

  void lock_and_unlock(std::uint32_t times) {
    for (std::uint32_t k = 0; k < times; ++k) {
      sequence += 2;
      const locks::LockCommand take =
          locks::make_acquire({.session = SessionId{5},
                               .sequence = RequestSequence{sequence},
                               .acked_below = RequestSequence{sequence - 1},
                               .name = name,
                               .ttl_ms = 10'000});
      EXPECT_EQ(ask(shard(), take), locks::LockCode::Granted);
      const auto lock = each[leader_of(shard())].service.locks.get(shard(), hash_name(name));
      ASSERT_TRUE(lock.has_value());
      EXPECT_EQ(ask(shard(),
                    locks::make_release({.session = SessionId{5},
                                         .sequence = RequestSequence{sequence + 1},
                                         .acked_below = RequestSequence{sequence},
                                         .name_hash = hash_name(name),
                                         .token = lock->token})),
                locks::LockCode::Released);
    }
  }

  ShardId shard() const { return shard_of(hash_name(name), kShards); }

  struct Message {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::vector<std::byte> bytes;
  };

  ResidentWorld world;
  Host each[kTurnNodes];
  std::vector<Message> sent;
  std::uint32_t lose_messages = 0;
  std::string name = "n";
  std::uint64_t cookie = 0;
  std::uint64_t sequence = 1;
};

}  // namespace gcoord::server
