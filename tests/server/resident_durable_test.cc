// Durable mode of the turn that stays on its device, by the host twin of three nodes: what a row
// asks its host to store, that nothing is promised before it is stored, and nodes that are killed
// and come back with what was. The host's log is a map that a kill does not touch; what it was told
// to store and has not acknowledged is lost with the process.
#include "consensus/recover.h"
#include "resident_world.h"
#include "server/device_turn_store.h"

#include <map>
#include <string>

namespace gcoord::server {
namespace {

using locks::LockCode;

constexpr std::uint32_t kShards = ResidentWorld::kShards;

// What one node's storage holds of one shard.
struct Stable {
  Term term;
  NodeId vote;
  LogIndex floor;
  Term floor_term;
  LogIndex commit;
  std::map<std::uint64_t, std::pair<Term, locks::LockEntry>> entries;

  void store(const ToldSlot& told) {
    const TurnReply& head = told.reply;
    term = head.term;
    vote = head.leader;
    if ((head.detail & kStoreSnapshot) != 0) {
      floor = head.index;
      floor_term = Term{head.result.word[0]};
      commit = floor;
      entries.clear();
      return;
    }
    entries.erase(entries.lower_bound(head.index.value), entries.end());
    EXPECT_EQ(head.index.value, floor.value + entries.size() + 1) << "a gap in what is stored";
    for (std::size_t k = 0; k < told.stores.size(); ++k) {
      entries[head.index.value + k] = {Term{head.result.word[0]}, told.stores[k]};
    }
    commit = max_id(commit, LogIndex{head.result.word[1]});
  }

  LogIndex last() const { return floor + entries.size(); }
};

struct DurableWorld : ResidentWorld {
  explicit DurableWorld(std::uint64_t seed) : ResidentWorld(seed, {}, true, 256, true) {}

  void after_turn(std::uint32_t n) override {
    if (!stands) {
      sync(n);
    }
  }

  // Everything that node n was told to store is stored, and it is told so.
  void sync(std::uint32_t n) {
    for (const ToldSlot& told : std::exchange(nodes[n].stores, {})) {
      stable[n][told.reply.shard.value].store(told);
      TurnRequest request = no_stored();
      put_stored(request, 1, told.reply.shard, {told.reply.term, told.reply.leader, 1});
      const std::uint32_t lane = stripe_of(nodes[n].memory->options().shape, told.reply.shard);
      ASSERT_TRUE(nodes[n].memory->push(lane, &request, 1));
      ++stored;
    }
  }

  // The process ends, and another one begins with what storage holds.
  void kill(std::uint32_t n) {
    restart(n, [this, n](const ResidentView& view) { fill(n, view); });
  }

  // Rows as storage says, log pages as far as they reach back; lock tables stay with the host.
  void fill(std::uint32_t n, const ResidentView& view) {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      const Stable& kept = stable[n][shard];
      const LogIndex decided = min_id(kept.commit, kept.last());
      consensus::RecoveredShard recovered{.term = kept.term,
                                          .vote = kept.vote,
                                          .floor = kept.floor,
                                          .floor_term = kept.floor_term,
                                          .commit = decided};
      recovered.configuration.voters = (1u << kTurnNodes) - 1;
      for (std::uint32_t slot = 0; slot < kTurnNodes; ++slot) {
        recovered.configuration.node[slot] = NodeId{slot + 1};
        recovered.configuration.weight[slot] = 1;
      }
      consensus::RowCopy copy;
      const consensus::ShardRef ref = consensus::ref_of(copy, ShardId{shard}, kTurnNodes);
      consensus::recover(ref, recovered, view.self);
      for (const auto& [index, entry] : kept.entries) {
        consensus::recover_entry(ref, entry.first, consensus::EntryKind::Command, decided);
        ref.log().configuration_pending = LogIndex{};
      }
      constexpr std::uint64_t kKept = LockTurnService::kEntriesKept;
      if (decided.value > kept.floor.value + kKept) {
        consensus::compact(ref.log(), ref.runs(), decided - kKept);
      }
      EXPECT_LE(ref.log().last - ref.log().floor, view.shape.log_slots);
      EXPECT_TRUE(consensus::store_row(view.table, shard, consensus::kNotWide, ref));
      view.applied[shard] = decided;
      for (const auto& [index, entry] : kept.entries) {
        view.entry(shard, LogIndex{index}) = entry.second;
      }
      view.service.absent[shard] = decided.value != 0 ? 1 : 0;
      nodes[n].absent[shard] = decided.value != 0;
      nodes[n].told[shard] = decided;
    }
  }

  // Every decided entry of every node is the same one; that is what its storage must say, too.
  void expect_one_history() {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      std::map<std::uint64_t, locks::LockEntry> decided;
      for (const auto& kept : stable) {
        const LogIndex end = min_id(kept.at(shard).commit, kept.at(shard).last());
        for (const auto& [index, entry] : kept.at(shard).entries) {
          const auto [at, fresh] = decided.try_emplace(index, entry.second);
          EXPECT_TRUE(index > end.value || fresh ||
                      std::memcmp(&at->second, &entry.second, sizeof entry.second) == 0)
              << "shard " << shard << " entry " << index;
        }
      }
    }
  }

  bool stands = false;  // Storage takes what it is told and does not answer.
  std::uint64_t stored = 0;
  std::map<std::uint32_t, Stable> stable[kTurnNodes];
};

TEST(ResidentDurable, NothingIsPromisedBeforeItIsStored) {
  DurableWorld world(21);
  world.stands = true;
  world.turns(4000);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(world.leader_of(ShardId{shard}), kTurnNodes) << "a vote that is not stored";
  }
  world.stands = false;
  world.turns(4000);
  const ShardId shard = shard_of_name("a");
  const std::uint32_t leader = world.leader_of(shard);
  ASSERT_LT(leader, kTurnNodes);
  world.stands = true;
  const std::uint64_t tag = world.push(leader, shard, acquire("a", 5, 1));
  world.turns(2000);
  EXPECT_FALSE(world.nodes[leader].answers.contains(tag)) << "decided, and stored nowhere";
  // The followers alone are a quorum: it is decided, but applied here once it is stored here.
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    if (n != leader) {
      world.sync(n);
    }
  }
  world.turns(600);
  EXPECT_FALSE(world.nodes[leader].answers.contains(tag));
  world.stands = false;
  world.turns(600);
  ASSERT_TRUE(world.nodes[leader].answers.contains(tag));
  EXPECT_EQ(world.nodes[leader].answers[tag].decision.code, LockCode::Granted);
  EXPECT_GT(world.stored, kShards);
}

TEST(ResidentDurable, AKilledNodeComesBackToTheOthersWithWhatItStored) {
  DurableWorld world(22);
  world.turns(6000);
  std::uint64_t sequence = 0;
  const auto work = [&](std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      const std::string name = "n" + std::to_string(k % 12);
      const ShardId shard = shard_of_name(name);
      const Answer taken = world.ask(shard, acquire(name, 5, ++sequence));
      ASSERT_EQ(taken.reply.verdict, TurnVerdict::Committed);
      const Answer freed = world.ask(shard, release(name, 5, ++sequence, FencingToken{1}));
      ASSERT_EQ(freed.reply.verdict, TurnVerdict::Committed);
    }
  };
  work(24);
  for (std::uint32_t round = 0; round < 3; ++round) {
    const std::uint32_t victim = round % kTurnNodes;
    world.kill(victim);
    world.turns(9000);  // The others miss it and lead on.
    work(12);
    for (std::uint32_t peer = 0; peer < kTurnNodes; ++peer) {
      if (peer != victim) {
        world.rejoin(victim, peer);
      }
    }
    world.turns(9000);
    work(12);
    world.turns(900);
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      const auto& told = world.nodes[victim].told[shard];
      EXPECT_EQ(told, world.nodes[(victim + 1) % kTurnNodes].told[shard]) << "shard " << shard;
    }
  }
  world.expect_one_history();
}

TEST(ResidentDurable, AllNodesAreKilledAndNothingAcknowledgedIsLost) {
  DurableWorld world(23);
  world.turns(6000);
  std::map<std::string, LogIndex> acknowledged;
  for (std::uint32_t k = 0; k < 30; ++k) {
    const std::string name = "lock" + std::to_string(k);
    const Answer taken = world.ask(shard_of_name(name), acquire(name, 5, k + 1));
    ASSERT_EQ(taken.reply.verdict, TurnVerdict::Committed);
    acknowledged[name] = taken.reply.index;
  }
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    world.kill(n);
  }
  world.rejoin(0, 1);
  world.rejoin(0, 2);
  world.rejoin(1, 2);
  world.turns(12000);
  for (const auto& [name, index] : acknowledged) {
    const ShardId shard = shard_of_name(name);
    ASSERT_LT(world.leader_of(shard), kTurnNodes);
    bool found = false;
    for (const auto& kept : world.stable) {
      const auto at = kept.at(shard.value).entries.find(index.value);
      found = found || (at != kept.at(shard.value).entries.end() &&
                        at->second.second.kind() ==
                            static_cast<std::uint8_t>(locks::LockCommandKind::Acquire));
    }
    EXPECT_TRUE(found) << name;
    EXPECT_GT(world.ask(shard, {locks::barrier_entry()}).reply.index, index);
  }
  world.expect_one_history();
}

}  // namespace
}  // namespace gcoord::server
