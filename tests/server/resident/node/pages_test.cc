// Log pages on demand in resident nodes: commands of several entries, growth, and memory that is
// not there.
#include "server/device_turn/pages.h"

#include "server/resident/node/pools.h"
#include "tests/server/resident/engine/resident_world.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using locks::LockCode;

constexpr std::uint32_t kShards = ResidentWorld::kShards;
constexpr std::uint32_t kTurnsToRest = 9000;

// Stripes of eight rows that begin with so many log pages, and have so many at most.
struct PagesWorld : ResidentWorld {
  explicit PagesWorld(std::uint64_t seed, PageLimits pages = {8, 8})
      : ResidentWorld(seed, {}, true, 256, false, true, pages) {}

  std::uint64_t taken(std::uint32_t n) const {
    return nodes[n].memory->pools().page_counts().value().taken;
  }

  std::uint64_t taken() const { return taken(0) + taken(1) + taken(2); }

  std::uint64_t refused() const {
    std::uint64_t sum = 0;
    for (const Node& node : nodes) {
      sum += node.memory->pools().page_counts().value().refused;
    }
    return sum;
  }

  void rest() {
    turns(kTurnsToRest);
    EXPECT_EQ(taken(), 0u) << taken(0) << " " << taken(1) << " " << taken(2);
  }

  // An entry that changes nothing for every shard, so that no log ends with pieces.
  void end_logs() {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      Answer answer;
      for (std::uint32_t k = 0; k < 50 && answer.reply.verdict != TurnVerdict::Committed; ++k) {
        answer = ask(ShardId{shard}, std::vector<locks::LockEntry>{locks::barrier_entry()});
      }
      EXPECT_EQ(answer.reply.verdict, TurnVerdict::Committed) << "shard " << shard;
    }
  }

  std::uint32_t absent_rows() const {
    std::uint32_t sum = 0;
    for (const Node& node : nodes) {
      for (std::uint32_t shard = 0; shard < kShards; ++shard) {
        sum += node.absent[shard] ? 1 : 0;
      }
    }
    return sum;
  }

  // Every replica that was told as much has the same state.
  void expect_equal_copies() const {
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      std::map<std::uint64_t, std::uint64_t> hashes;  // By index told.
      for (const Node& node : nodes) {
        if (!node.absent[shard]) {
          const std::uint64_t hash = node.copy->state_hash(ShardId{shard});
          const auto [at, fresh] = hashes.try_emplace(node.told[shard].value, hash);
          EXPECT_EQ(at->second, hash) << "shard " << shard;
        }
      }
    }
  }
};

std::string long_name(std::uint32_t k, std::size_t bytes) {
  std::string name = "n" + std::to_string(k) + "-";
  while (name.size() < bytes) {
    name += static_cast<char>('a' + (name.size() + k) % 26);
  }
  return name;
}

TEST(ResidentPages, ShardsAtRestHoldNoPageAndServeTheirNextCommand) {
  PagesWorld world(1);
  world.turns(4000);
  world.work(24);
  EXPECT_GT(world.taken(), 0u);
  for (std::uint32_t round = 0; round < 3; ++round) {
    world.rest();
    const std::string name = long_name(round, 20 + 300 * round);
    const Answer taken = world.ask(shard_of_name(name), acquire(name, 5 + round, 1));
    EXPECT_EQ(taken.decision.code, LockCode::Granted);
    EXPECT_LE(world.taken(), 1u * kTurnNodes);
  }
  world.rest();
  world.expect_equal_copies();
  EXPECT_EQ(world.absent_rows(), 0u);
  EXPECT_EQ(world.growths, 0u);
}

// Of a command of several entries whose last one has not come: its pieces are where the log ends.
TEST(ResidentPages, PiecesAtTheEndOfALogKeepItsPageUntilTheirCommandComes) {
  PagesWorld world(2);
  world.turns(4000);
  world.rest();
  const std::string name = long_name(1, 200);
  const ShardId shard = shard_of_name(name);
  const std::vector<locks::LockEntry> entries = locks::entries_of(acquire(name, 9, 1));
  ASSERT_GT(entries.size(), 3u);
  world.ask(shard, std::vector<locks::LockEntry>(entries.begin(), entries.end() - 1));
  world.turns(kTurnsToRest);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    EXPECT_EQ(world.taken(n), 1u) << "node " << n;
  }
  const Answer taken =
      world.ask(shard, std::vector<locks::LockEntry>(entries.end() - 1, entries.end()));
  EXPECT_TRUE(taken.whole);
  EXPECT_EQ(taken.decision.code, LockCode::Granted);
  world.rest();
  world.expect_equal_copies();
  for (const auto& node : world.nodes) {
    EXPECT_TRUE(node.copy->get(shard, hash_name(name)).has_value());
  }
}

// A page that comes from the pool holds what another row left there. Here it is what a command
// claims to have before it, on one node only: it must find as little there as on the others.
TEST(ResidentPages, ACommandFindsNoPiecesThatAnotherRowLeftInItsPage) {
  PagesWorld world(3);
  world.turns(4000);
  world.rest();
  const std::string name = long_name(2, 90);
  const ShardId shard = shard_of_name(name);
  const std::vector<locks::LockEntry> entries = locks::entries_of(acquire(name, 9, 1));
  const auto count = static_cast<std::uint32_t>(entries.size()) - 1;
  ASSERT_GE(count, 2u);
  // The next request has the number behind this one's.
  const Answer last = world.ask(shard, std::vector<locks::LockEntry>{locks::barrier_entry()});
  const std::uint64_t tag = last.reply.tag + 1;
  world.rest();
  // All that may be read before the command, with the numbers of requests that it will expect.
  const LogIndex next = world.nodes[0].told[shard.value] + 1;
  const ResidentView& view = world.nodes[1].memory->view();
  const std::size_t pages = std::size_t{view.pages.stripe_pages} * view.shape.stripe_count;
  for (std::uint32_t page = 1; page <= pages; ++page) {
    for (std::uint32_t k = 0; k < count; ++k) {
      locks::LockEntry piece = entries[k];
      piece.request = tag - (count - k);
      view.entry_in(page, LogIndex{next.value - count + k}) = piece;
    }
  }
  const Answer torn = world.ask(shard, std::vector<locks::LockEntry>{entries.back()});
  EXPECT_EQ(torn.reply.tag, tag);
  EXPECT_FALSE(torn.whole);
  world.turns(600);
  world.expect_equal_copies();
  EXPECT_EQ(world.ask(shard, entries).decision.code, LockCode::Granted);
  world.rest();
  world.expect_equal_copies();
}

// Long enough for any follower to have been at rest: it waits for its peers, so the one that comes
// back finds all entries.
TEST(ResidentPages, ANodeThatWasAwayFindsWhatItLacksInTheLogsOfItsPeers) {
  PagesWorld world(4);
  world.turns(4000);
  world.work(12);
  world.rest();
  world.paused = 2;
  world.turns(4000);
  world.work(24);
  world.turns(2 * kTurnsToRest);
  EXPECT_EQ(world.taken(0), world.taken(1));
  EXPECT_GE(world.taken(0), 8u);
  world.paused = kTurnNodes;
  world.turns(4000);
  EXPECT_EQ(world.absent_rows(), 0u);
  world.expect_told_alike();
  world.rest();
  world.expect_equal_copies();
}

// Random commands for all shards of nodes with pages for half of them, which come and go.
void run_dry(PagesWorld& world, std::uint64_t seed) {
  world.turns(4000);
  std::vector<std::pair<std::uint32_t, std::uint64_t>> asked;
  for (std::uint32_t round = 0; round < 60; ++round) {
    for (std::uint32_t k = 0; k < 8; ++k) {
      const std::uint64_t word = random64(seed, round, k);
      const std::string name =
          long_name(random_below(word, 40), 4 + random_below(mix64(word), 150));
      const ShardId shard = shard_of_name(name);
      const std::uint32_t n = world.leader_of(shard);
      if (n < kTurnNodes) {
        asked.emplace_back(n, world.push(n, shard, acquire(name, 1 + k, round + 1)));
      }
    }
    if (round % 8 == 7) {
      const std::uint32_t away = random_below(random64(seed, 9, round), 2 * kTurnNodes);
      world.paused = away < kTurnNodes ? away : kTurnNodes;
    }
    world.turns(200 + random_below(random64(seed, 10, round), 900));
  }
  world.paused = kTurnNodes;
  world.turns(6000);
  std::uint32_t committed = 0;
  for (const auto& [n, tag] : asked) {
    const auto answer = world.nodes[n].answers.find(tag);
    const bool kept = answer != world.nodes[n].answers.end() &&
                      answer->second.reply.verdict == TurnVerdict::Committed;
    if (!kept) {
      continue;
    }
    ++committed;
    const std::uint32_t shard = answer->second.reply.shard.value;
    ASSERT_TRUE(world.history[shard].contains(answer->second.reply.index.value));
    for (const auto& node : world.nodes) {
      EXPECT_GE(node.told[shard], answer->second.reply.index) << "shard " << shard;
    }
  }
  EXPECT_GT(committed, asked.size() / 4);
  world.expect_equal_copies();
}

TEST(ResidentPages, PoolsThatRunDryRefuseCommandsAndLoseNoneThatTheyAnswered) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    PagesWorld world(40 + seed, {4, 4});
    run_dry(world, seed);
    EXPECT_GT(world.refused(), 0u);
    EXPECT_EQ(world.growths, 0u);
    world.end_logs();
    world.rest();
    world.expect_told_alike();
  }
}

TEST(ResidentPages, NodesThatRunDryGrowAndShrinkAgainWhileTheyServe) {
  PagesWorld world(50, {4, 0});
  run_dry(world, 50);
  EXPECT_GT(world.growths, 0u);
  for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
    ResidentNode& node = *world.nodes[n].memory;
    EXPECT_EQ(node.view().pages.stripe_pages, 8u) << "node " << n;
    EXPECT_EQ(node.view().pages.grows, 0u);
  }
  world.end_logs();
  world.rest();
  for (auto& node : world.nodes) {
    ASSERT_TRUE(node.turn->stop(0).ok());
    ASSERT_TRUE(node.memory->pools().shrink_pages(4).ok());
    EXPECT_LT(node.memory->view().pages.stripe_pages, 8u);
    EXPECT_EQ(node.memory->view().pages.grows, 1u);
    ASSERT_TRUE(node.memory->go_on().ok());
    ASSERT_TRUE(node.turn->start().ok());
  }
  run_dry(world, 51);
}

// --- Memory that is not there

class ScarceMemory final : public netcore::MemorySource {
 public:
  explicit ScarceMemory(const bool& scarce) : scarce_(scarce) {}

  std::string name() const override { return host_->name(); }

  Result<netcore::MemoryRange> allocate(netcore::MemoryKind kind, std::size_t bytes) override {
    if (scarce_) {
      return Status{StatusCode::ResourceExhausted, "no memory"};
    }
    return host_->allocate(kind, bytes);
  }

  Result<netcore::MemoryRange> import(int fd, std::size_t bytes) override {
    return host_->import(fd, bytes);
  }

  void release(const netcore::MemoryRange& range) override { host_->release(range); }

  Status write(std::byte* to, std::span<const std::byte> from) override {
    return host_->write(to, from);
  }

  Status store_word(std::uint64_t* to, std::uint64_t value) override {
    return host_->store_word(to, value);
  }

  Status read(std::span<std::byte> to, const std::byte* from) override {
    return host_->read(to, from);
  }

  Status copy_within(std::byte* to, const std::byte* from, std::size_t bytes) override {
    return host_->copy_within(to, from, bytes);
  }

 private:
  const bool& scarce_;
  std::unique_ptr<netcore::MemorySource> host_ = netcore::make_host_memory();
};

TEST(ResidentPages, ANodeWithoutMemoryForMorePagesGoesOnWithThoseThatItHas) {
  bool scarce = false;
  ResidentNodeOptions options;
  options.shape = {
      .shard_count = 64, .stripe_count = 2, .log_slots = 128, .entries_max = 16, .wide_count = 64};
  options.pages = {4, 0};
  auto made = ResidentNode::make(options, std::make_unique<ScarceMemory>(scarce));
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  ResidentNode& node = *made.value();
  hold_page(node.view().pages, 1, 40);
  PageStripe& stripe = node.view().pages.stripe[1];
  stripe.free_count = 1;
  stripe.visited = 1000;
  scarce = true;
  EXPECT_EQ(node.view().pages.grows, 1u);
  ASSERT_TRUE(node.go_on().ok());
  EXPECT_EQ(node.view().pages.stripe_pages, 4u);
  EXPECT_EQ(node.view().pages.grows, 0u) << "it would leave again and again";
  EXPECT_NE(node.view().pages.of_row[40], kNoLogPage);
  EXPECT_TRUE(node.pools().gave_up_growth());
  scarce = false;
  ASSERT_TRUE(node.go_on().ok());
  EXPECT_FALSE(node.pools().gave_up_growth());
  EXPECT_EQ(node.view().pages.stripe_pages, 16u);
  EXPECT_EQ(node.view().pages.grows, 1u);
  EXPECT_EQ(node.view().pages.owner[node.view().pages.of_row[40] - 1], 41u);
  EXPECT_EQ(node.pools().page_counts().value().taken, 1u);
}

// 302 with what the lock service has of each (docs/reference/devices.md).
TEST(ResidentPages, AMillionShardsAtRestTakeLessThanThreeHundredBytesEach) {
  TurnShape shape;
  shape.shard_count = 1u << 20;
  shape.stripe_count = 256;
  shape.log_slots = 128;
  shape.wide_count = first_wide_places(shape);
  const std::size_t pages = std::size_t{first_stripe_pages(shape)} * shape.stripe_count;
  const std::size_t bytes = turn_rows_bytes<LockTurnService>(shape) +
                            consensus::wide_pool_bytes(kTurnNodes, shape.wide_count) +
                            page_pool_bytes<locks::LockEntry>(pages, shape.log_slots);
  EXPECT_LT(bytes / shape.shard_count, 300u);
}

}  // namespace
}  // namespace gcoord::server
