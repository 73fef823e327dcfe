// Three resident nodes in one process, turned one after the other by a clock that the test moves;
// each with a copy of its lock tables on the host that is fed by what the node tells.
#pragma once

#include "common/random.h"
#include "locks/cpu/lock_cpu.h"
#include "server/resident/engine/leaders.h"
#include "server/resident/node/command_reassembler.h"
#include "server/resident/node/counted_memory.h"
#include "server/resident/node/node.h"
#include "server/resident/node/turn.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {

inline constexpr std::uint64_t kWorldTickNs = 1000;

inline constexpr std::uint32_t kWorldShards = 24;

// --- What tests ask of locks

inline ShardId shard_of_name(const std::string& name) {
  return shard_of(hash_name(name), kWorldShards);
}

// A name that begins so and whose lock lives in the shard: a device takes no others there.
inline std::string name_in(ShardId shard, const std::string& stem) {
  std::string name = stem;
  for (std::uint32_t k = 0; shard_of_name(name) != shard; ++k) {
    name = stem + "." + std::to_string(k);
  }
  return name;
}

inline locks::LockCommand acquire(const std::string& name,
                                  std::uint64_t session,
                                  std::uint64_t sequence,
                                  bool wait = false) {
  return locks::make_acquire({.session = SessionId{session},
                              .sequence = RequestSequence{sequence},
                              .acked_below = RequestSequence{sequence > 8 ? sequence - 8 : 1},
                              .name = name,
                              .wait = wait,
                              .ttl_ms = 10'000});
}

inline locks::LockCommand release(const std::string& name,
                                  std::uint64_t session,
                                  std::uint64_t sequence,
                                  FencingToken token) {
  return locks::make_release({.session = SessionId{session},
                              .sequence = RequestSequence{sequence},
                              .acked_below = RequestSequence{sequence > 8 ? sequence - 8 : 1},
                              .name_hash = hash_name(name),
                              .token = token});
}

// What one node told of one request.
struct Answer {
  TurnReply reply;
  locks::LockReply decision;  // Of the copy.
  bool whole = false;         // The request was a whole command.
};

struct ResidentWorld {
  struct Node {
    std::unique_ptr<ResidentNode> memory;
    std::unique_ptr<ResidentTurn> turn;
    std::unique_ptr<locks::LockCpu> copy;
    CommandReassembler commands;
    std::unique_ptr<ResidentLeaders> leaders;
    std::vector<LogIndex> told;               // By shard: the newest entry.
    std::vector<bool> absent;                 // By shard.
    std::map<std::uint64_t, Answer> answers;  // By tag.
    std::vector<locks::LockEvent> events;     // Of shards that this node leads.
    std::uint64_t compared = 0;               // State hashes that were equal on both sides.
    std::vector<HostEventSlot> stores;        // To be made durable; nobody has been told.
  };

  explicit ResidentWorld(std::uint64_t seed,
                         LockTurnSizes sizes = {},
                         bool clients_read = true,
                         std::uint32_t client_slots = 256,
                         bool durable = false,
                         bool lives_end = true,
                         PageLimits pages = {})
      : seed_(seed), reads_(clients_read) {
    ResidentNodeOptions options;
    options.timing.stored_at_once = durable ? 0 : 1;
    options.timing.durability =
        durable || !lives_end ? consensus::Durability::Durable : consensus::Durability::Memory;
    options.shape = {.shard_count = kShards,
                     .stripe_count = 3,
                     .log_slots = 128,
                     .entries_max = 16,
                     .wide_count = 64};
    options.sizes = sizes;
    options.timing.tick_ns = kWorldTickNs;
    options.timing.host_patience_ns = 50 * kWorldTickNs;
    options.timing.limits = {
        .window_entries = 64, .uncommitted_entries = 64, .message_entries = 16};
    options.ring_slots = 256;
    options.client_slots = client_slots;
    options.pages = pages;
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      options.self = NodeId{n + 1};
      options.timing.seed = mix64(seed * kTurnNodes + n);
      options.index_seed = mix64(seed + 100 + n);
      open(nodes[n], options, counted(n));
    }
    for (std::uint32_t n = 1; n < kTurnNodes; ++n) {
      for (std::uint32_t other = 0; other < n; ++other) {
        EXPECT_TRUE(join_resident(*nodes[n].memory, *nodes[other].memory).ok());
      }
    }
    for (Node& node : nodes) {
      node.turn = make_turn(*node.memory);
      EXPECT_TRUE(node.turn->prepare().ok());
      EXPECT_TRUE(node.turn->start().ok());
    }
  }

  // Makes the turns of nodes.
  static inline std::unique_ptr<ResidentTurn> (*make_turn)(ResidentNode&) = make_host_turn;

  std::unique_ptr<netcore::MemorySource> counted(std::uint32_t n) {
    return std::make_unique<CountedMemory>(netcore::make_host_memory(), calls[n]);
  }

  static void open(Node& node,
                   const ResidentNodeOptions& options,
                   std::unique_ptr<netcore::MemorySource> memory = netcore::make_host_memory()) {
    auto made = ResidentNode::make(options, std::move(memory));
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    node.memory = std::move(made).value();
    node.copy = std::make_unique<locks::LockCpu>(
        locks::LockOptions{.shard_count = kShards, .index_seed = 77, .group_answers_apart = true});
    node.leaders = std::make_unique<ResidentLeaders>(
        options.self, options.shape, node.memory->view().leaders, options.names);
    node.told.resize(kShards);
    node.absent.resize(kShards);
  }

  virtual ~ResidentWorld() = default;

  // The process of node n ends, and another one begins, alone, with what `fill` puts into it.
  void restart(std::uint32_t n, const std::function<void(const ResidentView&)>& fill) {
    restart(n, fill, nodes[n].memory->options().timing.incarnation + 1);
  }

  void restart(std::uint32_t n,
               const std::function<void(const ResidentView&)>& fill,
               Incarnation incarnation) {
    ResidentNodeOptions options = nodes[n].memory->options();
    options.timing.incarnation = incarnation;
    options.timing.vote_after = Tick{1 + consensus::Timing{}.election_ticks};
    nodes[n].turn.reset();
    dead[n] = std::move(nodes[n].memory);  // A peer's mapping outlives the process.
    nodes[n] = Node{};
    open(nodes[n], options, counted(n));
    const Status restored = nodes[n].memory->restore(fill);
    EXPECT_TRUE(restored.ok()) << restored.to_string();
    nodes[n].turn = make_turn(*nodes[n].memory);
    EXPECT_TRUE(nodes[n].turn->prepare().ok());
    for (std::uint32_t peer = 0; peer < kTurnNodes; ++peer) {
      EXPECT_TRUE(peer == n || nodes[n].memory->stand_in(NodeId{peer + 1}).ok());
    }
    EXPECT_TRUE(nodes[n].turn->start().ok());
  }

  // Channels of a new epoch between two nodes that run.
  void rejoin(std::uint32_t n, std::uint32_t peer) {
    const std::uint32_t before = nodes[peer].memory->epoch(NodeId{n + 1});
    EXPECT_TRUE(nodes[n].turn->stop(0).ok());
    EXPECT_TRUE(nodes[peer].turn->stop(0).ok());
    EXPECT_TRUE(join_resident(*nodes[n].memory, *nodes[peer].memory).ok());
    EXPECT_GT(nodes[peer].memory->epoch(NodeId{n + 1}), before);
    for (const std::uint32_t each : {n, peer}) {
      EXPECT_TRUE(nodes[each].memory->go_on().ok());
      EXPECT_TRUE(nodes[each].turn->start().ok());
    }
  }

  // Called after node n was turned and listened to.
  virtual void after_turn(std::uint32_t n) { static_cast<void>(n); }

  void turns(std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      now_ns += kWorldTickNs / 10;
      const auto n = static_cast<std::uint32_t>(++turned_ % kTurnNodes);
      if (paused != n) {
        EXPECT_TRUE(stalled == n || nodes[n].memory->tell_alive().ok());
        const auto any = nodes[n].turn->turn(now_ns);
        EXPECT_TRUE(any.ok()) << any.status().to_string();
        if (nodes[n].turn->rests()) {
          go_on(nodes[n]);
        }
        if (reads_) {
          listen(nodes[n]);
        }
        after_turn(n);
      }
    }
  }

  // The node left for larger pools.
  void go_on(Node& node) {
    ++growths;
    EXPECT_TRUE(node.turn->stop(0).ok());
    EXPECT_TRUE(node.memory->go_on().ok());
    EXPECT_TRUE(node.turn->start().ok());
  }

  void listen(Node& node) {
    const auto& changes = node.leaders->look();
    for (std::uint32_t lane = 0; lane < 3; ++lane) {
      while (const auto told = node.memory->pull(lane)) {
        take(node, *told);
      }
    }
    for (const ResidentLeaders::Change& change : changes) {
      take_leader(node, change);
    }
  }

  // A term never falls on a node, and in each term one node leads at most, whoever looks when.
  void take_leader(Node& node, const ResidentLeaders::Change& change) {
    const ShardId shard = change.shard;
    EXPECT_GE(change.word.term, node.leaders->known(shard).term) << "shard " << shard.value;
    if (change.word.leads()) {
      const NodeId self = node.memory->options().self;
      EXPECT_EQ(change.word.leader, self) << "shard " << shard.value;
      const auto [led, fresh] = leader_of_term[shard.value].try_emplace(change.word.term, self);
      EXPECT_EQ(led->second, self) << "shard " << shard.value << " has two leaders in one term";
    }
    node.leaders->set(change);
  }

  void take(Node& node, const HostEventSlot& told) {
    const ShardId shard = told.reply.shard;
    switch (told.reply.verdict) {
      case TurnVerdict::Installed:
        node.absent[shard.value] = true;
        node.told[shard.value] = told.reply.index;
        node.commands.forget(shard);
        return;
      case TurnVerdict::Committed:
      case TurnVerdict::Told:
        return take_entry(node, told);
      case TurnVerdict::Store:
        node.stores.push_back(told);
        return;
      case TurnVerdict::NotLeader:
      case TurnVerdict::Overloaded:
      case TurnVerdict::Refused:
      case TurnVerdict::Transferring:
      case TurnVerdict::ReadReady:
        node.answers[told.reply.tag].reply = told.reply;
        return;
      case TurnVerdict::Noops:  // Which pull() takes apart.
      case TurnVerdict::None:
        break;
    }
    ADD_FAILURE() << "a told slot without a verdict";
  }

  void take_entry(Node& node, const HostEventSlot& told) {
    const ShardId shard = told.reply.shard;
    EXPECT_EQ(told.reply.index, node.told[shard.value] + 1) << "shard " << shard.value;
    node.told[shard.value] = told.reply.index;
    const auto [decided, fresh] =
        history[shard.value].try_emplace(told.reply.index.value, told.entry);
    EXPECT_EQ(std::memcmp(&decided->second, &told.entry, sizeof told.entry), 0)
        << "shard " << shard.value << " entry " << told.reply.index.value << " was decided twice";
    std::vector<std::byte> bytes;
    Answer answer{told.reply, {}, false};
    const ReassembledKind kind = node.commands.take(shard, told.reply.index, told.entry);
    node.commands.append_to(bytes);
    if (kind == ReassembledKind::Command && !node.absent[shard.value]) {
      std::vector<locks::LockEvent> room(locks::kLockEventsPerCommandMax);
      locks::LockEvents events{room.data(), locks::kLockEventsPerCommandMax};
      answer.decision = node.copy->apply_bytes(shard, told.reply.index, bytes, Tick{1}, events);
      answer.whole = true;
      if (leads(node, shard)) {
        node.events.insert(node.events.end(), room.begin(), room.begin() + events.count);
      }
      const auto expected = static_cast<std::uint64_t>(LockTurnDone::Applied) |
                            static_cast<std::uint64_t>(answer.decision.code) << 8;
      EXPECT_EQ(told.reply.result.word[1] & 0xffff'ffffu, expected);
    }
    if (LockTurnService::is_noop(told.entry)) {
      // Changed nothing, and came with others.
    } else if (!node.absent[shard.value]) {
      EXPECT_EQ(told.reply.result.word[0], node.copy->state_hash(shard))
          << "shard " << shard.value << " kind " << int{told.entry.kind()} << " number "
          << told.entry.number() << " done " << told.reply.result.word[1];
      node.compared += kind == ReassembledKind::Command ? 1 : 0;
    } else {
      EXPECT_EQ(done_of(told.reply.result), LockTurnDone::Absent);
    }
    if (told.reply.tag != 0 && !is_own_term(told.reply.tag)) {
      node.answers[told.reply.tag] = answer;
    }
  }

  static bool leads(const Node& node, ShardId shard) { return node.leaders->known(shard).leads(); }

  // The node that leads a shard; kTurnNodes: none.
  std::uint32_t leader_of(ShardId shard) const {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      if (paused != n && leads(nodes[n], shard)) {
        return n;
      }
    }
    return kTurnNodes;
  }

  // Pushes a command's entries at node n; the tag of the last one.
  std::uint64_t push(std::uint32_t n, ShardId shard, const locks::LockCommand& command) {
    return push(n, shard, locks::entries_of(command));
  }

  std::uint64_t push(std::uint32_t n, ShardId shard, const std::vector<locks::LockEntry>& entries) {
    std::vector<TurnRequest> requests;
    for (const locks::LockEntry& entry : entries) {
      TurnRequest request;
      request.shard = shard;
      request.head = entry.head;
      request.tag = ++tag_last_;
      std::copy(std::begin(entry.word), std::end(entry.word), std::begin(request.word));
      requests.push_back(request);
    }
    EXPECT_TRUE(nodes[n].memory->push(stripe_of(nodes[n].memory->options().shape, shard),
                                      requests.data(),
                                      static_cast<std::uint32_t>(requests.size())));
    return tag_last_;
  }

  // Numbers of requests that no node is asked: as if they had been refused.
  void skip_requests(std::uint64_t count) { tag_last_ += count; }

  std::uint64_t last_tag() const { return tag_last_; }

  // What the host asks of a row beside its clients' requests.
  void push_transfer(std::uint32_t n, ShardId shard, NodeId to) {
    TurnRequest request;
    request.shard = shard;
    request.tag = kTransferTag;
    request.word[0] = to.value;
    const std::uint32_t lane = stripe_of(nodes[n].memory->options().shape, shard);
    EXPECT_TRUE(nodes[n].memory->push(lane, &request, 1));
  }

  // Asks the shard's leader and waits for the answer.
  Answer ask(ShardId shard, const locks::LockCommand& command) {
    return ask(shard, locks::entries_of(command));
  }

  Answer ask(ShardId shard, const std::vector<locks::LockEntry>& entries) {
    const std::uint32_t n = leader_of(shard);
    EXPECT_LT(n, kTurnNodes);
    if (n == kTurnNodes) {
      return {};
    }
    const std::uint64_t tag = push(n, shard, entries);
    for (std::uint32_t k = 0; k < 400 && !nodes[n].answers.contains(tag); ++k) {
      turns(3);
    }
    EXPECT_TRUE(nodes[n].answers.contains(tag));
    return nodes[n].answers[tag];
  }

  // --- Rows that are taken back

  // Rows of which the node knows that all vote and that nothing is forgotten.
  std::uint32_t whole_rows(std::uint32_t n) const {
    std::uint32_t whole = 0;
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      whole += standing(nodes[n], ShardId{shard}) == kAllVote ? 1 : 0;
    }
    return whole;
  }

  static std::uint64_t standing(const Node& node, ShardId shard) {
    return node.leaders->known(shard).standing;
  }

  // Turns until every node says that all rows are whole again.
  void heal() {
    const auto whole = [this] {
      return whole_rows(0) == kShards && whole_rows(1) == kShards && whole_rows(2) == kShards;
    };
    for (std::uint32_t k = 0; k < 200 && !whole(); ++k) {
      turns(300);
    }
    ASSERT_TRUE(whole()) << whole_rows(0) << " " << whole_rows(1) << " " << whole_rows(2);
  }

  // All nodes were told as much of every shard.
  void expect_told_alike() const {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      EXPECT_EQ(nodes[0].told[shard], nodes[1].told[shard]) << shard;
      EXPECT_EQ(nodes[0].told[shard], nodes[2].told[shard]) << shard;
    }
  }

  void work(std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::string name = "n" + std::to_string(k % 12);
      decide(shard_of_name(name), acquire(name, 5, ++sequence_));
    }
  }

  // Asks whoever leads until it is decided, as a client does.
  void decide(ShardId shard, const locks::LockCommand& command) {
    for (std::uint32_t attempt = 0; attempt < 100; ++attempt) {
      const std::uint32_t n = leader_of(shard);
      const std::uint64_t tag = n < kTurnNodes ? push(n, shard, command) : 0;
      turns(300);
      if (tag != 0 && nodes[n].answers[tag].reply.verdict == TurnVerdict::Committed) {
        return;
      }
    }
    ADD_FAILURE() << "shard " << shard.value << " is led by nobody";
  }

  // Asks whoever leads a shard, if anybody does, to hand it over.
  void hand_over(ShardId shard, NodeId to) {
    if (const std::uint32_t n = leader_of(shard); n < kTurnNodes) {
      push_transfer(n, shard, to);
    }
  }

  std::uint32_t led_by(std::uint32_t n) const {
    std::uint32_t led = 0;
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      led += leads(nodes[n], ShardId{shard}) ? 1 : 0;
    }
    return led;
  }

  static constexpr std::uint32_t kShards = kWorldShards;
  static constexpr std::uint64_t kAllVote = (1u << kTurnNodes) - 1;

  DeviceCalls calls[kTurnNodes];  // As a GPU's are counted, over all lives of a node.
  Node nodes[kTurnNodes];
  std::unique_ptr<ResidentNode> dead[kTurnNodes];
  // What was decided, by shard and index, whoever told of it.
  std::map<std::uint64_t, locks::LockEntry> history[kShards];
  std::map<Term, NodeId> leader_of_term[kShards];
  std::uint64_t now_ns = 1'000'000;
  std::uint32_t growths = 0;           // Times that a node left for larger pools.
  std::uint32_t paused = kTurnNodes;   // A node that is not turned.
  std::uint32_t stalled = kTurnNodes;  // A node whose host does not work, though its device turns.

 private:
  std::uint64_t seed_;
  bool reads_;
  std::uint64_t turned_ = 0;
  std::uint64_t tag_last_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace gcoord::server
