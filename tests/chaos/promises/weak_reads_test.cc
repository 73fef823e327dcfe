// What is promised by reads that need not be linearizable, and that their judge can say no.
#include "chaos/promises/weak_reads.h"

#include <gtest/gtest.h>

namespace gcoord::chaos {
namespace {

using protocol::ReadConsistency;

constexpr std::uint64_t kMs = 1'000'000;

// Three changes, acknowledged at 100, 200 and 300 ms.
WeakReads three_writes(WeakReads::Slack slack = {}) {
  WeakReads reads(slack);
  for (std::uint64_t k = 1; k <= 3; ++k) {
    reads.note_write(ShardId{1}, LogIndex{10 * k}, 100 * kMs * k);
  }
  return reads;
}

WeakRead read_at_350(ReadConsistency consistency, std::uint64_t index) {
  WeakRead read;
  read.consistency = consistency;
  read.shard = ShardId{1};
  read.index = LogIndex{index};
  read.call_ns = 350 * kMs;
  return read;
}

TEST(WeakReads, R4ABoundedReadShowsWhatIsOlderThanItsBound) {
  WeakReads reads = three_writes();
  WeakRead read = read_at_350(ReadConsistency::Bounded, 20);
  read.staleness_ms = 100;
  read.age_ms = 100;
  EXPECT_EQ(reads.take(read), "") << "the third is 50 ms old";
  read.index = LogIndex{19};
  EXPECT_NE(reads.take(read), "") << "the second is 150 ms old";
  read.index = LogIndex{20};
  read.age_ms = 40;
  EXPECT_NE(reads.take(read), "") << "it says that it is fresher than it is";
  read.index = LogIndex{30};
  read.age_ms = 101;
  EXPECT_NE(reads.take(read), "") << "it says that it is older than asked";
}

TEST(WeakReads, R3ASerializableReadOwesWhatItsAgeSaysAndNothingWithoutOne) {
  WeakReads reads = three_writes();
  WeakRead read = read_at_350(ReadConsistency::Serializable, 0);
  EXPECT_EQ(reads.take(read), "");
  read.age_ms = 200;
  EXPECT_NE(reads.take(read), "");
  read.index = LogIndex{10};
  EXPECT_EQ(reads.take(read), "");
  read.shard = ShardId{2};
  read.index = LogIndex{};
  EXPECT_EQ(reads.take(read), "") << "of another shard nothing was acknowledged";
}

TEST(WeakReads, R5AMonotonicReadShowsThePositionThatWasAskedFor) {
  WeakReads reads = three_writes();
  WeakRead read = read_at_350(ReadConsistency::Monotonic, 10);
  read.needed = LogIndex{10};
  EXPECT_EQ(reads.take(read), "");
  read.needed = LogIndex{11};
  EXPECT_NE(reads.take(read), "");
}

TEST(WeakReads, ANodesClockMayBeOffByAsMuchAsItsDrift) {
  WeakReads reads = three_writes({.drift_ppm = 100'000, .grain_ns = 0});
  WeakRead read = read_at_350(ReadConsistency::Bounded, 20);
  read.staleness_ms = read.age_ms = 46;  // 50.6 ms of another clock.
  EXPECT_EQ(reads.take(read), "");
  read.staleness_ms = read.age_ms = 45;
  EXPECT_NE(reads.take(read), "");
  EXPECT_EQ(reads.reads().size(), 2u);
}

}  // namespace
}  // namespace gcoord::chaos
