// Many commands of one shard at three resident nodes, for turns that leave rows to their group
// (server/device_turn/group_apply.h): what is answered, by whom it was decided, and that nobody
// differs.
#pragma once

#include "common/random.h"
#include "locks/commands/entry.h"
#include "tests/server/resident/engine/resident_hosts.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace gcoord::server {

// One shard's clients. What each command is answered is known when it is asked, since a leader
// decides in the order in which it is asked.
class OneShard {
 public:
  OneShard() : leader_(hosts_.leader_of(hosts_.shard())) {}

  Hosts& hosts() { return hosts_; }

  ShardId shard() const { return hosts_.shard(); }

  const locks::LockCpu& model() const { return model_; }

  std::uint64_t asked() const { return cookie_; }

  void ask(const locks::LockCommand& command) {
    while (!leader().requests->may_take(shard(), command)) {
      hosts_.turns(1);
    }
    leader().requests->command(shard(), command, ++cookie_);
    std::array<locks::LockEvent, locks::kLockEventsPerCommandMax> room;
    locks::LockEvents events{room.data(), locks::kLockEventsPerCommandMax};
    wanted_[cookie_] = model_.apply(shard(), LogIndex{cookie_}, command, Tick{1}, events).code;
  }

  // The leader takes in what it is asked while nobody else turns, so that much is decided at once.
  void turn_leader_alone(std::uint32_t count) {
    for (std::uint32_t k = 0; k < count; ++k) {
      leader().requests->push();
      hosts_.world.now_ns += kWorldTickNs / 10;
      ASSERT_TRUE(hosts_.world.nodes[leader_].turn->turn(hosts_.world.now_ns).ok());
      hosts_.listen(leader_);
    }
  }

  // Turns all until nothing is under way.
  void settle() {
    for (std::uint32_t k = 0; k < 20'000 && leader().requests->under_way() != 0; ++k) {
      hosts_.turns(1);
    }
  }

  // All is answered as the model says, and all nodes and their hosts have the same.
  void expect_as_wanted() {
    settle();
    hosts_.turns(300);
    EXPECT_EQ(leader().service.failed.size(), 0u);
    EXPECT_EQ(leader().service.applied, wanted_);
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      const Hosts::Host& host = hosts_.each[n];
      EXPECT_TRUE(host.failure.ok()) << host.failure.to_string();
      EXPECT_EQ(hosts_.world.nodes[n].memory->view().control->abort, 0u);
      EXPECT_EQ(host.service.state_hash(shard()), leader().service.state_hash(shard()));
    }
  }

  // Commands of a node that were decided in windows.
  std::uint64_t in_windows(std::uint32_t n) const {
    const ResidentView& view = hosts_.world.nodes[n].memory->view();
    std::uint64_t sum = 0;
    for (std::uint32_t stripe = 0; stripe < view.shape.stripe_count; ++stripe) {
      sum += view.service.stripes[stripe].window->decided_count;
    }
    return sum;
  }

 private:
  Hosts::Host& leader() { return hosts_.each[leader_]; }

  Hosts hosts_;
  std::uint32_t leader_;
  locks::LockCpu model_{{.shard_count = kShards, .index_seed = 3, .group_answers_apart = true}};
  std::uint64_t cookie_ = 0;
  std::map<std::uint64_t, locks::LockCode> wanted_;
};

// Names that stand in many pieces, waits, notes, retries and wrong tokens, so that windows are cut
// where they please, also between the pieces of a name.
class MixedCommands {
 public:
  MixedCommands(OneShard& one, std::uint64_t seed) : one_(one), seed_(seed) {
    const std::uint32_t bytes[kNames] = {1, 16, 60, 200, 500};
    for (std::uint32_t k = 0; k < kNames; ++k) {
      names_[k] = name_in(one.shard(), std::string(bytes[k], static_cast<char>('a' + k)));
    }
  }

  locks::LockCommand next() {
    const std::string& name = names_[below(kNames)];
    const auto held = one_.model().get(one_.shard(), hash_name(name));
    const std::uint32_t odd = below(100);
    if (held.has_value() && below(100) < 60) {
      locks::LockCommand command = release(name, held->holder.value, 0, held->token);
      command.token.value += odd < 3 ? 1 : 0;
      return numbered(command, odd);
    }
    const std::uint64_t session = 1 + below(kSessions);
    return odd >= 10 && odd < 16 ? noted(name, session)
                                 : numbered(acquire(name, session, 0, below(2) == 0), odd);
  }

 private:
  static constexpr std::uint32_t kNames = 5;
  static constexpr std::uint32_t kSessions = 6;

  std::uint32_t below(std::uint32_t bound) {
    return random_below(random64(seed_, 1, ++counter_), bound);
  }

  // With the next number of its session, or the last one once more.
  locks::LockCommand numbered(locks::LockCommand command, std::uint32_t odd) {
    std::uint64_t& last = last_[command.session.value];
    last += odd < 5 && last != 0 ? 0 : 1;
    command.sequence = RequestSequence{last};
    command.acked_below = RequestSequence{last > 3 ? last - below(3) : 1};
    return command;
  }

  locks::LockCommand noted(const std::string& name, std::uint64_t session) {
    text_ = name + std::string(below(300), 'o');
    const std::uint64_t sequence = ++last_[session];
    return locks::make_acquire_hold(
        {.acquire = {.session = SessionId{session},
                     .sequence = RequestSequence{sequence},
                     .acked_below = RequestSequence{sequence},
                     .name = std::string_view(text_).substr(0, name.size()),
                     .wait = true,
                     .ttl_ms = 10'000},
         .text = text_});
  }

  OneShard& one_;
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
  std::array<std::string, kNames> names_;
  std::map<std::uint64_t, std::uint64_t> last_;  // Sequences of sessions.
  std::string text_;
};

// So many pairs of an acquire and a release, of eight clients that all want one name.
inline void expect_pairs_in_windows(std::uint64_t pairs) {
  OneShard one;
  const std::string name = name_in(one.shard(), "sixteen-letters");
  for (std::uint64_t pair = 1; pair <= pairs; ++pair) {
    const std::uint64_t session = 1 + pair % 8;
    const std::uint64_t sequence = 1 + pair / 8 * 2;
    one.ask(acquire(name, session, sequence));
    one.ask(release(name, session, sequence + 1, FencingToken{pair}));
    if (pair % 20 == 0) {
      one.turn_leader_alone(12);
      one.hosts().turns(12);
    }
  }
  one.expect_as_wanted();
  EXPECT_EQ(one.model().shard(one.shard()).token_last, pairs);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    EXPECT_GT(one.in_windows(n), pairs / 2) << n;
  }
}

// So many commands of every kind, some at once.
inline void expect_mixed_as_wanted(std::uint64_t seed, std::uint32_t commands) {
  constexpr std::size_t kEntries = 45;  // That the log takes from its leader alone.
  OneShard one;
  MixedCommands mixed(one, seed);
  std::size_t entries = 0;
  for (std::uint32_t k = 0; k < commands; ++k) {
    const locks::LockCommand command = mixed.next();
    const std::size_t more = locks::entries_of(command).size();
    if (entries + more > kEntries) {
      one.turn_leader_alone(12);
      one.settle();
      entries = 0;
    }
    entries += more;
    one.ask(command);
  }
  one.expect_as_wanted();
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    EXPECT_GT(one.in_windows(n), commands / 50) << n << " seed " << seed;
  }
}

}  // namespace gcoord::server
