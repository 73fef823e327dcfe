// Three resident nodes in durable mode, whose storage is a map that a kill does not touch: what it
// was told to store and has not acknowledged is lost with the process. A directory can be lost,
// too.
#pragma once

#include "common/incarnation.h"
#include "consensus/step/recover.h"
#include "server/device_turn/row.h"
#include "server/device_turn/store.h"
#include "tests/server/resident/engine/resident_world.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace gcoord::server {

// What one node's storage holds of one shard.
struct Stable {
  Stable() {
    configuration.voters = (1u << kTurnNodes) - 1;
    for (std::uint32_t slot = 0; slot < kTurnNodes; ++slot) {
      configuration.node[slot] = NodeId{slot + 1};
      configuration.weight[slot] = 1;
    }
  }

  Term term;
  NodeId vote;
  LogIndex floor;
  Term floor_term;
  LogIndex commit;
  consensus::Configuration configuration;  // As of the floor.
  std::map<std::uint64_t, std::pair<Term, locks::LockEntry>> entries;

  void store(const HostEventSlot& told) {
    const TurnReply& head = told.reply;
    term = head.term;
    vote = head.leader;
    if ((head.detail & kStoreSnapshot) != 0) {
      floor = head.index;
      floor_term = Term{head.result.word[0]};
      commit = floor;
      ASSERT_EQ(told.stores.size(), 1u) << "a snapshot without its configuration";
      configuration = LockTurnService::configuration_of(told.stores.front());
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

  // As the entries up to `decided` say.
  consensus::Configuration configuration_at(LogIndex decided) const {
    consensus::Configuration newest = configuration;
    for (const auto& [index, entry] : entries) {
      const bool said = index <= decided.value && LockTurnService::is_configuration(entry.second);
      newest = said ? LockTurnService::configuration_of(entry.second) : newest;
    }
    return newest;
  }
};

struct DurableWorld : ResidentWorld {
  explicit DurableWorld(std::uint64_t seed) : ResidentWorld(seed, {}, true, 256, true) {}

  void after_turn(std::uint32_t n) override {
    if (!stands) {
      sync(n);
    }
    rejoining[n] = rejoining[n] && nodes[n].leaders->forgotten_count() != 0;
  }

  // Everything that node n was told to store is stored, and it is told so.
  void sync(std::uint32_t n) {
    for (const HostEventSlot& told : std::exchange(nodes[n].stores, {})) {
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

  // The same with a directory that holds nothing: the next generation, until it has been taken back
  // everywhere (docs/adr/0025).
  void lose(std::uint32_t n) {
    const Incarnation before = nodes[n].memory->options().timing.incarnation;
    stable[n].clear();
    rejoining[n] = true;
    restart(
        n,
        [this, n](const ResidentView& view) { fill(n, view); },
        incarnation_of(generation_of(before) + 1, start_of(before) + 1));
  }

  // The node finds the others, and they find it.
  void find(std::uint32_t n) {
    for (std::uint32_t peer = 0; peer < kTurnNodes; ++peer) {
      if (peer != n) {
        rejoin(n, peer);
      }
    }
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
      recovered.configuration = kept.configuration_at(decided);
      recovered.forgetful = rejoining[n];
      consensus::RowCopy copy;
      const consensus::ShardRef ref = consensus::ref_of(copy, ShardId{shard}, kTurnNodes);
      consensus::recover(ref, recovered, view.self);
      for (const auto& [index, entry] : kept.entries) {
        const auto kind = LockTurnService::is_configuration(entry.second)
                              ? consensus::EntryKind::Configuration
                              : consensus::EntryKind::Command;
        consensus::recover_entry(ref, entry.first, kind, decided);
      }
      constexpr std::uint64_t kKept = LockTurnService::kEntriesKept;
      if (decided.value > kept.floor.value + kKept) {
        consensus::compact(ref.log(), ref.runs(), decided - kKept);
      }
      EXPECT_LE(ref.log().last - ref.log().floor, view.shape.log_slots);
      EXPECT_TRUE(consensus::store_row(view.table, shard, consensus::kNotWide, ref));
      view.applied[shard] = decided;
      if (needs_page(ref) || !kept.entries.empty()) {
        hold_page(view.pages, stripe_of(view.shape, ShardId{shard}), shard);
      }
      for (const auto& [index, entry] : kept.entries) {
        view.entry(shard, LogIndex{index}) = entry.second;
      }
      view.service.absent[shard] = decided.value != 0 ? 1 : 0;
      nodes[n].absent[shard] = decided.value != 0;
      nodes[n].told[shard] = decided;
      nodes[n].leaders->set({ShardId{shard}, decode_leader(leader_word_of(ref))});
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
  bool rejoining[kTurnNodes]{};
};

}  // namespace gcoord::server
