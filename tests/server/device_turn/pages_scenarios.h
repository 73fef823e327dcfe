// Worlds of device turns whose pools of log pages run dry, by hosts and by warps
// (turn_scenarios.h).
#pragma once

#include "common/random.h"
#include "server/device_turn/page_pool.h"
#include "tests/server/device_turn/turn_client.h"
#include "tests/server/device_turn/turn_world.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace gcoord::server {

// Clients of all nodes, and what they were answered.
template <typename Node>
struct DryWorld : BasicWorld<Node> {
  using Base = BasicWorld<Node>;
  using Base::cluster;
  using Base::host;
  using Base::turns;

  explicit DryWorld(const TurnClusterOptions& options) : Base(options), seed(options.seed) {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      for (std::uint32_t stripe = 0; stripe < options.shape.stripe_count; ++stripe) {
        clients[n].push_back(std::make_unique<Client>(cluster->client(n), stripe));
      }
    }
  }

  std::uint32_t shard_count() const { return cluster->options().shape.shard_count; }

  // Of the nodes that are turned.
  std::uint32_t leader_of(std::uint32_t row) const {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      const auto& packed = cluster->node(n).table.packed[row];
      if (host[n].has_value() && consensus::role_of(packed) == consensus::Role::Leader) {
        return n;
      }
    }
    return kTurnNodes;
  }

  std::uint32_t led_rows() const {
    std::uint32_t count = 0;
    for (std::uint32_t row = 0; row < shard_count(); ++row) {
      count += leader_of(row) != kTurnNodes ? 1 : 0;
    }
    return count;
  }

  Term term_of(std::uint32_t n, std::uint32_t row) const {
    const auto& table = cluster->node(n).table;
    const auto& packed = table.packed[row];
    return consensus::is_wide(packed) ? table.wide.hot[packed.term].term : Term{packed.term};
  }

  // By row: the term in which it is led.
  std::map<std::uint32_t, Term> led_terms() const {
    std::map<std::uint32_t, Term> terms;
    for (std::uint32_t row = 0; row < shard_count(); ++row) {
      const std::uint32_t n = leader_of(row);
      if (n != kTurnNodes) {
        terms[row] = term_of(n, row);
      }
    }
    return terms;
  }

  // Turns all nodes until every row is led; the ticks that it took, or `most`.
  std::uint32_t ticks_until_led(std::uint32_t most) {
    std::uint32_t ticks = 0;
    while (ticks < most && led_rows() != shard_count()) {
      turns(10);  // A tick.
      ++ticks;
    }
    return ticks;
  }

  // Asks whoever seems to lead a row for one command.
  void ask(std::uint32_t row) {
    const std::uint32_t n = leader_of(row);
    if (n == kTurnNodes) {
      return;
    }
    TurnRequest request;
    request.shard = ShardId{row};
    request.tag = ++tag;
    request.word[0] = random64(seed, 11, tag);
    request.word[1] = random64(seed, 12, tag);
    const std::uint32_t stripe = stripe_of(cluster->options().shape, request.shard);
    static_cast<void>(clients[n][stripe]->ask(request));
  }

  void listen() {
    for (auto& of_node : clients) {
      for (auto& client : of_node) {
        while (const auto reply = client->answer()) {
          take(*reply);
        }
      }
    }
  }

  void take(const TurnReply& reply) {
    overloaded += reply.verdict == TurnVerdict::Overloaded ? 1 : 0;
    if (reply.verdict == TurnVerdict::Committed) {
      const std::uint32_t row = reply.shard.value;
      note(row, {reply.result.word[1], reply.result.word[0]});
      std::uint64_t& most = committed[row];
      most = most < reply.result.word[0] ? reply.result.word[0] : most;
    }
  }

  // After so many commands of a row everybody has the same digest, whoever says so, and whenever.
  void note(std::uint32_t row, const chaos::CountedRow& one) {
    const auto [at, fresh] = digests[row].try_emplace(one.count, one.digest);
    EXPECT_EQ(at->second, one.digest) << "shard " << row << " after " << one.count;
  }

  void note_all() {
    for (std::uint32_t row = 0; row < shard_count(); ++row) {
      for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
        note(row, cluster->node(n).service.rows[row]);
      }
    }
  }

  // Another pool for a node that rests for it.
  void resize(std::uint32_t n, std::uint32_t stripe_pages) {
    const bool alive = host[n].has_value();
    host[n].reset();
    const Status done = cluster->resize_pages(n, stripe_pages);
    EXPECT_TRUE(done.ok() || done.code() == StatusCode::FailedPrecondition) << done.to_string();
    resized += done.ok() ? 1 : 0;
    if (alive) {
      host[n].emplace(*cluster, n);
    }
  }

  PageCounts pages(std::uint32_t n) { return cluster->page_counts(n).value(); }

  std::uint64_t taken() { return pages(0).taken + pages(1).taken + pages(2).taken; }

  std::uint64_t refused() { return pages(0).refused + pages(1).refused + pages(2).refused; }

  void revive() {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      if (!host[n].has_value()) {
        host[n].emplace(*cluster, n);
      }
    }
  }

  // Every row that has a log has a page, whose owner it is, and no page is anybody's twice.
  void expect_sound_pages() {
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      const auto& node = cluster->node(n);
      std::uint64_t held = 0;
      for (std::uint32_t row = 0; row < shard_count(); ++row) {
        const std::uint32_t page = node.pages.of_row[row];
        if (page != kNoLogPage) {
          ++held;
          EXPECT_EQ(node.pages.owner[page - 1], 1 + row);
        }
      }
      EXPECT_EQ(pages(n).taken, held) << "node " << n;
    }
  }

  // All is quiet for as long as it takes, and nobody lacks anything.
  void expect_rest(std::uint32_t count) {
    revive();
    turns(count);
    listen();
    note_all();
    expect_equal_everywhere(*this, {0, 1, 2});
    for (const auto& [row, most] : committed) {
      EXPECT_GE(cluster->node(0).service.rows[row].count, most) << "shard " << row;
    }
    expect_sound_pages();
    EXPECT_EQ(taken(), 0u) << pages(0).taken << " " << pages(1).taken << " " << pages(2).taken;
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      EXPECT_EQ(this->counts(n).sum.unsent, 0u);
      EXPECT_EQ(*cluster->node(n).table.exhausted, 0u);
    }
  }

  std::uint64_t seed;
  std::vector<std::unique_ptr<Client>> clients[kTurnNodes];
  std::map<std::uint32_t, std::uint64_t> committed;  // By row: commands before the newest answer.
  std::map<std::uint32_t, std::map<std::uint64_t, std::uint64_t>> digests;
  std::uint64_t tag = 0;
  std::uint64_t overloaded = 0;
  std::uint32_t resized = 0;
};

// How much a kind of nodes is given to do.
struct DryNodes {
  std::uint32_t stripe_count = 3;
  std::uint32_t seeds = 1;
  std::uint32_t rounds = 10;
  std::uint32_t turns_to_rest = 20'000;
};

// A cluster of them: 20 rows in each stripe, with so many log pages.
inline TurnClusterOptions dry_cluster(const DryNodes& kind,
                                      std::uint64_t seed,
                                      std::uint32_t stripe_pages) {
  TurnClusterOptions options = small_cluster(seed);
  options.shape.stripe_count = kind.stripe_count;
  options.shape.shard_count = 20 * kind.stripe_count;
  options.stripe_pages = stripe_pages;
  options.client_slots = 256;
  return options;
}

template <typename Kind>
class PagesOfNodes : public testing::Test {
 protected:
  using Dry = DryWorld<typename Kind::Node>;
};

TYPED_TEST_SUITE_P(PagesOfNodes);

TYPED_TEST_P(PagesOfNodes, RowsAtRestHoldNoPageAndTakeOneWithTheirNextCommand) {
  typename TestFixture::Dry world(dry_cluster(TypeParam::kDry, 31, 0));
  world.turns(3000);
  world.expect_rest(TypeParam::kDry.turns_to_rest / 4);
  for (std::uint32_t row = 0; row < world.shard_count(); row += 10) {
    world.ask(row);
  }
  world.turns(300);
  world.listen();
  EXPECT_EQ(world.committed.size(), world.shard_count() / 10);
  EXPECT_EQ(world.taken(), world.shard_count() / 10 * kTurnNodes);
  EXPECT_EQ(world.overloaded, 0u);
  EXPECT_EQ(world.refused(), 0u);
  expect_nothing_lost(world);
  world.expect_rest(TypeParam::kDry.turns_to_rest / 4);
}

// What happens in one round of a world whose pools run dry: many rows want pages, nodes are lost
// and come back, and pools change their size.
template <typename World>
void dry_round(World& world, std::uint32_t round) {
  const auto draw = [&world, round](std::uint32_t what, std::uint32_t below) {
    return random_below(random64(world.seed, 1000 + what, round), below);
  };
  const std::uint32_t burst = 1 + draw(0, 40);
  for (std::uint32_t k = 0; k < burst; ++k) {
    world.ask(random_below(random64(world.seed, round, k), world.shard_count()));
  }
  if (draw(1, 4) == 0) {
    EXPECT_TRUE(world.cluster->feed(draw(2, kTurnNodes), draw(3, 3)).ok());
  }
  if (draw(4, 6) == 0) {
    world.revive();
    world.lose(draw(5, kTurnNodes));
  } else if (draw(4, 6) == 1) {
    world.revive();
  }
  if (draw(6, 3) == 0) {
    world.resize(draw(7, kTurnNodes), 4 + draw(8, 8));
  }
  world.turns(50 + draw(9, 600));
  world.listen();
  world.note_all();
  world.expect_sound_pages();
}

TYPED_TEST_P(PagesOfNodes, PoolsThatRunDryLoseNothingThatWasAcknowledged) {
  std::uint64_t refused = 0;
  std::uint64_t committed = 0;
  std::uint64_t resized = 0;
  for (std::uint64_t seed = 1; seed <= TypeParam::kDry.seeds; ++seed) {
    SCOPED_TRACE(seed);
    typename TestFixture::Dry world(dry_cluster(TypeParam::kDry, 500 + seed, 4));
    world.turns(3000);
    for (std::uint32_t round = 0; round < TypeParam::kDry.rounds; ++round) {
      dry_round(world, round);
    }
    for (std::uint32_t n = 0; n < kTurnNodes; ++n) {
      EXPECT_TRUE(world.cluster->feed(n, 0).ok());
    }
    world.expect_rest(TypeParam::kDry.turns_to_rest);
    EXPECT_EQ(world.led(), world.shard_count());
    refused += world.refused();
    resized += world.resized;
    committed += world.committed.size();
  }
  EXPECT_GT(refused, 0u) << "no pool ever ran dry";
  EXPECT_GT(resized, 0u);
  EXPECT_GT(committed, 0u);
}

// All rows are asked for something at once, with pages for a few of them: the leaders of three
// nodes hold theirs, and wait for pages of the other two.
TYPED_TEST_P(PagesOfNodes, ThreePoolsThatAreFullDoNotWaitForEachOtherForEver) {
  typename TestFixture::Dry world(dry_cluster(TypeParam::kDry, 77, 4));
  world.turns(3000);
  world.expect_rest(TypeParam::kDry.turns_to_rest / 2);
  std::map<std::uint32_t, std::uint64_t> before;
  for (std::uint32_t row = 0; row < world.shard_count(); ++row) {
    before[row] = world.cluster->node(0).service.rows[row].count;
  }
  const auto waits = [&world, &before](std::uint32_t row) {
    return world.committed[row] <= before[row];
  };
  std::uint32_t left = world.shard_count();
  for (std::uint32_t round = 0; round < 200 && left != 0; ++round) {
    left = 0;
    for (std::uint32_t row = 0; row < world.shard_count(); ++row) {
      if (waits(row)) {
        ++left;
        world.ask(row);
      }
    }
    world.turns(90);
    world.listen();
  }
  EXPECT_EQ(left, 0u);
  EXPECT_GT(world.refused(), 0u);
  EXPECT_GT(world.overloaded, 0u);
  world.expect_rest(TypeParam::kDry.turns_to_rest / 2);
}

// Rows whose Appends find no page keep their leaders: each election would leave one more undecided
// term in a log, and a log with too many of them is never appended to again (docs/adr/0002). Two
// nodes have no page from the beginning, as if all of theirs were taken.
TYPED_TEST_P(PagesOfNodes, RowsWhoseAppendsFindNoPageKeepTheirLeaders) {
  typename TestFixture::Dry world(dry_cluster(TypeParam::kDry, 80, 0));
  const std::uint32_t stripes = TypeParam::kDry.stripe_count;
  std::vector<std::uint32_t> free(kTurnNodes * stripes);
  for (std::uint32_t k = stripes; k < free.size(); ++k) {
    std::swap(free[k], world.cluster->node(k / stripes).pages.stripe[k % stripes].free_count);
  }
  const std::uint32_t timeout = 10 * world.cluster->options().timing.timing.election_ticks;
  world.turns(6 * timeout);
  const auto terms = world.led_terms();
  EXPECT_GT(terms.size(), world.shard_count() / 4);
  world.turns(4 * timeout);
  EXPECT_EQ(world.led_terms(), terms);
  EXPECT_GT(world.refused(), 0u);
  for (std::uint32_t k = stripes; k < free.size(); ++k) {
    std::swap(free[k], world.cluster->node(k / stripes).pages.stripe[k % stripes].free_count);
  }
  world.expect_rest(TypeParam::kDry.turns_to_rest);
}

// While a node is away its peers keep what it may lack, as long as they have pages to spare.
TYPED_TEST_P(PagesOfNodes, PagesWaitForANodeThatIsAwayUnlessTheyAreFew) {
  typename TestFixture::Dry world(dry_cluster(TypeParam::kDry, 78, 20));
  world.turns(3000);
  world.expect_rest(TypeParam::kDry.turns_to_rest / 4);
  world.lose(2);
  world.turns(4000);  // Its rows are led by the others, each with a first entry.
  const std::uint64_t held = world.pages(0).taken;
  EXPECT_GT(held, 3u);
  world.turns(4000);
  EXPECT_EQ(world.pages(0).taken, held);
  EXPECT_EQ(world.pages(1).taken, held);
  world.resize(0, 20);
  EXPECT_EQ(world.pages(0).taken, held) << "a pool of as many has the same";
  world.expect_rest(TypeParam::kDry.turns_to_rest / 2);
}

// Many rows are elected at once, with pages for a few of them: those that wait keep their votes, so
// that nobody campaigns again half an election timeout later.
TYPED_TEST_P(PagesOfNodes, RowsOfADeadNodeAreLedAgainAtOnceThoughPagesAreFew) {
  typename TestFixture::Dry world(dry_cluster(TypeParam::kDry, 79, 4));
  const std::uint32_t election = world.cluster->options().timing.timing.election_ticks;
  EXPECT_LT(world.ticks_until_led(election), election / 2) << "of a new cluster";
  world.expect_rest(TypeParam::kDry.turns_to_rest / 2);
  const std::uint64_t refused = world.refused();
  world.lose(2);
  EXPECT_LT(world.led_rows(), world.shard_count());
  EXPECT_LT(world.ticks_until_led(2 * election), election + election / 2);
  EXPECT_GT(world.refused(), refused) << "there was a page for each";
  world.expect_rest(TypeParam::kDry.turns_to_rest / 2);
}

REGISTER_TYPED_TEST_SUITE_P(PagesOfNodes,
                            RowsAtRestHoldNoPageAndTakeOneWithTheirNextCommand,
                            PoolsThatRunDryLoseNothingThatWasAcknowledged,
                            ThreePoolsThatAreFullDoNotWaitForEachOtherForEver,
                            RowsWhoseAppendsFindNoPageKeepTheirLeaders,
                            PagesWaitForANodeThatIsAwayUnlessTheyAreFew,
                            RowsOfADeadNodeAreLedAgainAtOnceThoughPagesAreFew);

}  // namespace gcoord::server
