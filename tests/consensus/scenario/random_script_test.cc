// Random scenarios in the command language: everything that a scenario can do, in any order, with
// the invariants checked after every command; then all faults end and the cluster must recover.
// A failure prints the commands, which are a golden file as they stand.
#include "common/random.h"
#include "consensus/scenario/script.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::consensus::scenario {
namespace {

constexpr std::uint32_t kNodes = 5;
constexpr std::uint32_t kCommands = 150;
constexpr std::uint32_t kShards = 2;

// Draws from one numbered stream.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}

  // One of least .. most.
  std::uint32_t from(std::uint32_t least, std::uint32_t most) {
    return least + random_below(random64(seed_, 1, counter_++), most - least + 1);
  }

  std::uint32_t node() { return from(1, kNodes); }

 private:
  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
};

std::string two_ends(Dice& dice) {
  const std::uint32_t from = dice.node();
  const std::uint32_t to = 1 + (from - 1 + dice.from(1, kNodes - 1)) % kNodes;
  return fmt::format("{} {}", from, to);
}

// A bar somewhere among the nodes.
std::string partition(Dice& dice) {
  std::string left;
  std::string right;
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    (dice.from(0, 1) == 0 ? left : right) += fmt::format(" {}", node);
  }
  return "partition" + left + " |" + right;
}

std::string configure(Dice& dice) {
  std::string voters;
  std::string learners;
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    const std::uint32_t part = dice.from(0, 4);
    std::string& list = part <= 2 ? voters : learners;
    if (part <= 3) {
      list += fmt::format("{}{}", list.empty() ? "" : ",", node);
    }
  }
  constexpr std::string_view kChanges[] = {"", "joint", "joint-until-leave"};
  return fmt::format("configure {} {} voters={} learners={}",
                     dice.node(),
                     kChanges[dice.from(0, 2)],
                     voters.empty() ? "1" : voters,
                     learners);
}

std::string replica_command(Dice& dice, std::uint32_t number) {
  const std::uint32_t node = dice.node();
  switch (dice.from(0, 10)) {
    case 0:
      return fmt::format("campaign {}", node);
    case 1:
      return fmt::format("transfer {} {}", node, dice.node());
    case 2:
      return fmt::format("read {}{}", node, dice.from(0, 1) == 0 ? "" : " quorum");
    case 3:
      return fmt::format("compact {}", node);
    case 4:
      return configure(dice);
    case 5:
      return fmt::format("leave {}", node);
    case 6:
      return fmt::format("ack {}", node);
    case 7:
      return fmt::format("apply {}", node);
    default:
      return fmt::format("propose {} c{}", node, number);
  }
}

std::string fault(Dice& dice) {
  const std::uint32_t node = dice.node();
  switch (dice.from(0, 16)) {
    case 0:
      return partition(dice);
    case 1:
      return "cut " + two_ends(dice);
    case 2:
      return "mute " + two_ends(dice);
    case 3:
      return "hold " + two_ends(dice);
    case 4:
      return "release " + two_ends(dice);
    case 5:
      return "deliver " + two_ends(dice) + " count=1";
    case 6:
      return "drop " + two_ends(dice) + " count=1";
    case 7:
      return "duplicate " + two_ends(dice);
    case 8:
      return "reverse " + two_ends(dice);
    case 9:
      return fmt::format("restart {}{}", node, dice.from(0, 1) == 0 ? "" : " durable");
    case 10:
      return fmt::format("pause {}", node);
    case 11:
      return fmt::format("resume {}", node);
    case 12:
      return fmt::format("storage {} {}", node, dice.from(0, 2) == 0 ? "manual" : "automatic");
    case 13:
      return fmt::format("credit {} {}", two_ends(dice), dice.from(0, 3));
    case 14:
      return fmt::format("application {} {}", node, dice.from(0, 2) == 0 ? "manual" : "automatic");
    case 15:
      return fmt::format("rate {} {}", node, dice.from(960, 1040));
    default:
      return "heal";
  }
}

std::string command(Dice& dice, std::uint32_t number) {
  const std::uint32_t kind = dice.from(0, 9);
  if (kind <= 3) {
    return fmt::format("tick {}", dice.from(1, kind == 0 ? 60 : 5));
  }
  if (kind <= 6) {
    return fault(dice);
  }
  return fmt::format("{} shard={}", replica_command(dice, number), dice.from(0, kShards - 1));
}

// One run and what was done in it.
class Story {
 public:
  // Commands on a stopped node fail; that is no failure of the run.
  void order(const std::string& line) {
    lines_ += line + "\n";
    if (!script_.run(line).ok()) {
      return;
    }
    for (const std::string& text : script_.take_output()) {
      ASSERT_NE(text.rfind("VIOLATION", 0), 0u) << text << "\n" << lines_;
    }
  }

  void end_faults() {
    order("heal");
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      for (std::uint32_t other = 1; other <= kNodes; ++other) {
        if (other != node) {
          order(fmt::format("release {} {}", node, other));
          order(fmt::format("unmute {} {}", node, other));
          order(fmt::format("credit {} {} unlimited", node, other));
        }
      }
      order(fmt::format("storage {} automatic", node));
      order(fmt::format("application {} automatic", node));
      order(fmt::format("start {}", node));
      order(fmt::format("resume {}", node));
      order(fmt::format("rate {} 1000", node));
    }
  }

  // The leader of a shard in the highest term, or nobody.
  NodeId leader(ShardId shard) {
    NodeId found;
    Term term;
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      const Hot& hot = script_.cluster()->node(NodeId{node}).replica(shard)->row().hot();
      if (hot.role == Role::Leader && hot.term > term) {
        found = NodeId{node};
        term = hot.term;
      }
    }
    return found;
  }

  // Every member of the leader's configuration has applied what the leader has.
  void expect_agreement(ShardId shard) {
    const NodeId leads = leader(shard);
    ASSERT_NE(leads, NodeId{}) << "shard " << shard.value << " has no leader\n" << lines_;
    const Replica& head = *script_.cluster()->node(leads).replica(shard);
    EXPECT_EQ(head.service().applied, head.row().log().last) << lines_;
    for (std::uint32_t slot = 0; slot < kReplicaSlots; ++slot) {
      if (has_slot(head.row().configuration().members(), slot)) {
        const NodeId member = head.row().configuration().node[slot];
        const Replica& tail = *script_.cluster()->node(member).replica(shard);
        EXPECT_EQ(tail.service().digest(), head.service().digest()) << member.value << "\n"
                                                                    << lines_;
      }
    }
  }

 private:
  Script script_;
  std::string lines_;
};

// Where the seeds begin: 0, or GCOORD_SEED_FIRST to look at others.
std::uint64_t seed_first() {
  const char* text = std::getenv("GCOORD_SEED_FIRST");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

class RandomScript : public testing::TestWithParam<std::uint32_t> {};

TEST_P(RandomScript, KeepsTheInvariantsAndRecovers) {
  constexpr std::uint32_t kSeedsPerCase = 25;
  for (std::uint32_t k = 0; k < kSeedsPerCase; ++k) {
    const std::uint64_t seed = seed_first() + std::uint64_t{GetParam()} * kSeedsPerCase + k;
    Dice dice(seed);
    const std::uint32_t inbox = dice.from(1, 8);
    const std::uint32_t resend = dice.from(2, 12);
    Story story;
    story.order(
        fmt::format("cluster replicas={} shards={} seed={} election=40 margin=6 inbox={} resend={}",
                    kNodes,
                    kShards,
                    seed,
                    inbox,
                    resend));
    for (std::uint32_t number = 1; number <= kCommands && !HasFatalFailure(); ++number) {
      story.order(command(dice, number));
    }
    story.end_faults();
    story.order("tick 600");
    for (std::uint32_t shard = 0; shard < kShards && !HasFailure(); ++shard) {
      story.expect_agreement(ShardId{shard});
    }
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomScript, testing::Range(0u, 8u));

}  // namespace
}  // namespace gcoord::consensus::scenario
