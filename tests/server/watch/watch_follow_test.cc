// Watches of a name whose lock moves between shards (L19): what is told, in which order, and where
// a client that comes again goes on, on nodes that apply the shards' logs in whatever order.
#include "common/random.h"
#include "locks/commands/move_command.h"
#include "protocol/error_codes.h"
#include "tests/server/watch/watch_world.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::ShardRevision;
using protocol::WatchBlock;
using protocol::WatchEventKind;

constexpr std::uint32_t kShards = 4;
const std::string kName = "a";

// With what was held before each event (W2), which is told wherever the event comes from.
const std::vector kFollowing{protocol::RequestFlag::WatchFollow,
                             protocol::RequestFlag::WatchPrevious};

ShardId home() {
  return shard_of(hash_name(kName), kShards);
}

ShardId away(std::uint32_t k) {
  return ShardId{(home().value + 1 + k) % kShards};
}

// The logs of a lock that is passed on and moved, and all that happened to it, in that order.
class MovedLock {
 public:
  MovedLock() : all_(logs, {}) {
    all_.open_with(
        {protocol::RequestFlag::WatchPrevious}, 1, 1, {.target = protocol::WatchTarget::Prefix});
  }

  LogIndex decide(ShardId shard, const locks::LockCommand& command) {
    append(logs[shard.value], command);
    all_.apply(shard.value);
    all_.turn();
    for (const auto& each : std::exchange(all_.sink.sent[1], {})) {
      const auto message = protocol::decode_watch_message(each.payload);
      if (message.ok()) {
        for (WatchBlock block : message.value().blocks) {
          without_carried(block, command);
          if (!block.events.empty()) {
            truth.push_back(block);
            home_after.push_back(shard == home() ? block.revision.value : UINT64_MAX);
          }
        }
      }
    }
    return LogIndex{logs[shard.value].size()};
  }

  void wait(ShardId shard, std::uint64_t session) {
    ++sequence_;
    decide(shard,
           locks::make_acquire({.session = SessionId{session},
                                .sequence = RequestSequence{sequence_},
                                .acked_below = RequestSequence{sequence_},
                                .name = kName,
                                .wait = true,
                                .ttl_ms = 1000}));
  }

  void release(ShardId shard) {
    const auto lock = all_.locks().get(shard, hash_name(kName));
    ASSERT_TRUE(lock.has_value());
    decide(shard,
           locks::make_release({.session = lock->holder,
                                .name_hash = hash_name(kName),
                                .token = lock->token,
                                .by_token = true}));
  }

  // The next in line asks for what it was granted, so that the lock may be moved on.
  void claim(ShardId shard) {
    const auto lock = all_.locks().get(shard, hash_name(kName));
    ASSERT_TRUE(lock.has_value());
    wait(shard, lock->holder.value);
  }

  void move(ShardId from, ShardId to) {
    decide(from, locks::make_move_out(kName, to));
    const auto departed = all_.locks().departed(from);
    ASSERT_EQ(departed.size(), 1u);
    auto in = locks::make_move_in({.from = from,
                                   .number = departed[0].number,
                                   .token = departed[0].token,
                                   .token_last = departed[0].token_last,
                                   .name_bytes = departed[0].name_bytes,
                                   .text = departed[0].text});
    in.flags = locks::kMoveInLapses;
    decide(to, in);
    if (to == home()) {
      std::ranges::replace(home_after, UINT64_MAX, logs[to.value].size());
    }
    decide(from, locks::make_move_done(hash_name(kName), departed[0].number));
  }

  void drive() {
    wait(home(), 1);
    wait(home(), 2);
    wait(home(), 3);
    move(home(), away(0));
    release(away(0));
    claim(away(0));
    move(away(0), home());
    release(home());
    claim(home());
    move(home(), away(1));
    wait(away(1), 4);
    release(away(1));
    move(away(1), home());
    release(home());  // Nobody has it.
    move(home(), away(0));
    wait(away(0), 5);
    release(away(0));
    move(away(0), home());
    wait(home(), 6);
    wait(home(), 7);
    wait(home(), 8);
    move(home(), away(2));
    release(away(2));
    lapse(away(2));
    move(away(2), home());
  }

  // Nobody has asked for the places in the queue.
  void lapse(ShardId shard) {
    for (const auto& place : all_.locks().unclaimed(shard, hash_name(kName))) {
      decide(shard, locks::make_move_lapse(place.session, place.sequence, place.name));
    }
  }

  // What is told to who has seen all of the home up to a revision, and nothing of other shards.
  std::vector<WatchBlock> after_home(std::uint64_t revision) const {
    const auto first = std::ranges::upper_bound(home_after, revision) - home_after.begin();
    return {truth.begin() + first, truth.end()};
  }

  std::vector<ShardLog> logs{kShards};
  std::vector<WatchBlock> truth;
  // By block: its revision at home, or that by which the lock came home after it.
  std::vector<std::uint64_t> home_after;

 private:
  // Who holds a lock that comes is known to who follows it; others are told.
  static void without_carried(WatchBlock& block, const locks::LockCommand& command) {
    std::erase_if(block.events, [&](const protocol::WatchEvent& event) {
      return command.kind == locks::LockCommandKind::MoveIn &&
             event.kind == WatchEventKind::Granted && event.token == command.token;
    });
  }

  WatchNode all_;
  std::uint64_t sequence_ = 0;
};

// A client's end of a watch: what it was told, and from where it would go on.
struct Listener {
  void hear(WatchNode& node, std::uint64_t connection) {
    for (const auto& each : std::exchange(node.sink.sent[connection], {})) {
      if (each.slot.code != StatusCode::Ok) {
        error = static_cast<ErrorCode>(each.slot.detail);
        continue;
      }
      const auto message = protocol::decode_watch_message(each.payload).value();
      for (const WatchBlock& block : message.blocks) {
        told.push_back(block);
        place = ShardRevision{block.shard, block.revision};
      }
      for (const ShardRevision& revision : message.progress.revisions) {
        place = revision;
        begun = begun ? begun : place;
      }
    }
  }

  protocol::WatchQuery query() const {
    protocol::WatchQuery query{.text = kName};
    if (place) {
      query.from = {{place->shard, place->revision + 1}};
    }
    return query;
  }

  std::vector<WatchBlock> told;
  std::optional<ShardRevision> begun;  // Where "now" was.
  std::optional<ShardRevision> place;
  ErrorCode error = ErrorCode::None;
};

// Each once, in the order in which it happened, none left out up to the last, and nothing of what
// the shard where the watch began did after that.
void expect_end_of(const std::vector<WatchBlock>& truth, const Listener& listener) {
  ASSERT_LE(listener.told.size(), truth.size());
  const std::size_t skipped = truth.size() - listener.told.size();
  for (std::size_t k = 0; k < listener.told.size(); ++k) {
    EXPECT_EQ(listener.told[k], truth[skipped + k]) << k << " of " << listener.told.size();
  }
  for (std::size_t k = 0; k < skipped; ++k) {
    const bool before = truth[k].shard != listener.begun->shard ||
                        truth[k].revision.value <= listener.begun->revision.value;
    EXPECT_TRUE(before) << k;
  }
}

TEST(WatchFollow, W1L19AWatchOfANameHearsOfItWhereverItsLockIs) {
  MovedLock lock;
  lock.drive();
  WatchNode node(lock.logs, {});
  Listener listener;
  node.open_with(kFollowing, 1, 1, listener.query());
  WatchNode without(lock.logs, {});
  without.open(1, 1, {.text = kName});
  node.apply_all();
  without.apply_all();
  node.settle();
  without.settle();
  listener.hear(node, 1);
  EXPECT_EQ(listener.told, lock.truth);
  EXPECT_EQ(listener.told.front().events[0].previous.before, protocol::WatchBefore::Nothing);
  EXPECT_EQ(listener.told.back().events[0].previous.before, protocol::WatchBefore::Hold);
  EXPECT_EQ(listener.place->shard, home());
  Listener old;
  old.hear(without, 1);
  EXPECT_LT(old.told.size(), lock.truth.size()) << "who does not ask to follow hears of its home";
}

TEST(WatchFollow, W2L19OnlyTheWantedKindsOfANameAreToldWhereverItsLockIs) {
  MovedLock lock;
  lock.drive();
  WatchNode node(lock.logs, {});
  Listener listener;
  protocol::WatchQuery query = listener.query();
  query.kinds = protocol::watch_kind_bit(protocol::WatchEventKind::Released);
  node.open_with(kFollowing, 1, 1, query);
  node.apply_all();
  node.settle();
  listener.hear(node, 1);
  std::vector<WatchBlock> wanted = lock.truth;
  for (WatchBlock& block : wanted) {
    std::erase_if(block.events, [](const protocol::WatchEvent& event) {
      return event.kind != protocol::WatchEventKind::Released;
    });
  }
  std::erase_if(wanted, [](const WatchBlock& block) { return block.events.empty(); });
  EXPECT_FALSE(wanted.empty());
  EXPECT_LT(wanted.size(), lock.truth.size());
  EXPECT_EQ(listener.told, wanted);
}

// A node that applies four logs in any order, and forgets soon or late.
class LaggingNode {
 public:
  LaggingNode(std::vector<ShardLog>& logs, std::uint64_t seed)
      : seed_(seed), node(logs, {.ring_bytes_max = below(2) == 0 ? 1500u : 1u << 20}) {}

  std::uint64_t below(std::uint64_t count) { return mix64(seed_ << 20 | ++drawn_) % count; }

  void apply_some(std::uint64_t limit) {
    for (std::uint64_t k = below(limit); k > 0; --k) {
      node.apply(static_cast<std::uint32_t>(below(kShards)));
    }
  }

  // It may record already when the watch is opened.
  void begin() {
    apply_some(50);
    if (below(2) == 0) {
      node.open(9, 1, {.target = protocol::WatchTarget::Prefix});
    }
    apply_some(20);
  }

  // The connection takes what it is sent now and then; a watch that lags too much comes again.
  void live(Listener& listener, std::uint64_t steps) {
    open(listener);
    for (std::uint64_t k = below(steps); k > 0; --k) {
      apply_some(3);
      if (below(2) == 0) {
        node.turn();
      }
      if (below(4) == 0) {
        node.sink.full.insert(connection_);
      } else if (below(2) == 0) {
        node.sink.full.erase(connection_);
      }
      hear(listener);
    }
  }

  void finish(Listener& listener) {
    node.sink.full.clear();
    node.settle();
    hear(listener);
    node.settle();
    hear(listener);
  }

  void hear(Listener& listener) {
    listener.hear(node, connection_);
    while (listener.error == ErrorCode::WatchLagging) {
      listener.error = ErrorCode::None;
      open(listener);
      listener.hear(node, connection_);
    }
  }

 private:
  void open(Listener& listener) {
    node.sink.full.erase(connection_);
    node.open_with(kFollowing, ++connection_, 1, listener.query());
    listener.hear(node, connection_);
  }

  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
  std::uint64_t connection_ = 100;

 public:
  WatchNode node;
};

// A client that loses its node and goes on at another one, with events in the ring or made again
// from history.
TEST(WatchFollow, W1L19WhateverANodeLagsBehindWithAndWhereverAClientGoesOnNothingIsMissed) {
  MovedLock lock;
  lock.drive();
  std::size_t told = 0;
  std::uint64_t looks = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Listener listener;
    for (std::uint64_t life = 0; life < 3; ++life) {
      LaggingNode node(lock.logs, seed << 2 | life);
      node.begin();
      node.live(listener, 40);
      if (life == 2) {
        node.node.apply_all();
      }
      node.finish(listener);
      looks += node.node.history_looks;
      ASSERT_EQ(listener.error, ErrorCode::None) << "seed " << seed;
    }
    told += listener.told.size();
    expect_end_of(lock.truth, listener);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(told, 200u) << "else this says nothing";
  EXPECT_GT(looks, 200u) << "else it does not of history";
}

// Where a watch of a release that does not follow has ended, and from each event of one that does.
TEST(WatchFollow, W1L19AWatchGoesOnFromWhereverAnEarlierOneHasEnded) {
  MovedLock lock;
  lock.drive();
  const auto goes_on = [&](ShardRevision place, std::vector<WatchBlock> expected) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      Listener listener;
      listener.place = place;
      LaggingNode node(lock.logs, seed << 32 | place.shard.value << 16 | place.revision.value);
      node.begin();
      node.live(listener, 20);
      node.node.apply_all();
      node.finish(listener);
      EXPECT_EQ(listener.told, expected) << "shard " << place.shard.value << " revision "
                                         << place.revision.value << " seed " << seed;
    }
  };
  for (std::uint64_t revision = 0; revision <= lock.logs[home().value].size(); ++revision) {
    goes_on({home(), LogIndex{revision}}, lock.after_home(revision));
  }
  for (auto at = lock.truth.begin(); at != lock.truth.end(); ++at) {
    goes_on({at->shard, at->revision}, {at + 1, lock.truth.end()});
  }
}

TEST(WatchFollow, W1L19WhoDoesNotReadHoldsUpNobodyWhoFollowsTheSameName) {
  MovedLock lock;
  lock.drive();
  WatchNode node(lock.logs, {});
  Listener slow;
  Listener quick;
  node.open_with(kFollowing, 1, 1, slow.query());
  node.open_with(kFollowing, 2, 1, quick.query());
  node.sink.full.insert(1);
  node.apply_all();
  node.settle();
  quick.hear(node, 2);
  EXPECT_EQ(quick.told, lock.truth);
  slow.hear(node, 1);
  EXPECT_TRUE(slow.told.empty());
  node.sink.full.clear();
  node.settle();
  slow.hear(node, 1);
  EXPECT_EQ(slow.told, lock.truth);
}

TEST(WatchFollow, L19WhereAnArrivalCannotBeHadAnyMoreTheClientIsToldFromWhereOn) {
  MovedLock lock;
  lock.drive();
  WatchNode node(lock.logs, {});
  node.apply_all();
  node.history_first = 1;  // Pruned.
  node.open_with(kFollowing, 1, 1, {.text = kName, .from = {{home(), LogIndex{1}}}});
  node.settle();
  Listener listener;
  listener.hear(node, 1);
  EXPECT_EQ(listener.error, ErrorCode::WatchCompacted);
}

// The other shard's state came as a whole: what happened to the lock there is not known here.
TEST(WatchFollow, L19AnArrivalInAStateThatWasInstalledIsGone) {
  MovedLock lock;
  lock.drive();
  WatchNode node(lock.logs, {});
  node.open_with(kFollowing, 1, 1, {.text = kName});
  while (node.apply(away(0).value)) {
  }
  node.history_first = 1;
  node.desk().on_installed(away(0));
  node.apply_all();
  node.settle();
  Listener listener;
  listener.hear(node, 1);
  EXPECT_EQ(listener.error, ErrorCode::WatchCompacted);
  EXPECT_TRUE(std::ranges::all_of(listener.told,
                                  [](const WatchBlock& block) { return block.shard == home(); }));
}

TEST(WatchFollow, L19OneThatFollowsGoesOnFromOnePlace) {
  MovedLock lock;
  WatchNode node(lock.logs, {});
  const auto refused = [&](const protocol::WatchQuery& query) {
    node.open_with(kFollowing, 1, 1, query);
    Listener listener;
    listener.hear(node, 1);
    return listener.error;
  };
  EXPECT_EQ(refused({.text = kName, .from = {{home(), LogIndex{1}}, {away(0), LogIndex{1}}}}),
            ErrorCode::WatchInvalid);
  EXPECT_EQ(refused({.text = kName, .from = {{ShardId{kShards}, LogIndex{1}}}}),
            ErrorCode::ShardOutOfRange);
}

// A place in a shard that the lock never was in is no place of this name's.
TEST(WatchFollow, L19WhoGoesOnWhereTheLockNeverWasIsToldThatItsPastIsGone) {
  MovedLock lock;
  lock.wait(home(), 1);
  WatchNode node(lock.logs, {});
  node.apply_all();
  node.open_with(kFollowing, 1, 1, {.text = kName, .from = {{away(0), LogIndex{1}}}});
  node.settle();
  Listener listener;
  listener.hear(node, 1);
  EXPECT_EQ(listener.error, ErrorCode::WatchCompacted);
}

}  // namespace
}  // namespace gcoord::server
