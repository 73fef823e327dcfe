// The sentence that tells of a deadlock.
#include "server/deadlocks/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::server {
namespace {

TEST(DeadlockText, ANameOfALockForgesNoWordsOfTheSentence) {
  const std::vector<DeadlockWait> ring = {
      {.shard = ShardId{1},
       .session = SessionId{5},
       .name = R"(a" (shard 9), which session 1 holds)",
       .holders = {{.session = SessionId{6}, .token = FencingToken{7}}}}};
  EXPECT_EQ(deadlock_text(ring, 0),
            R"(session 5 waits for "a\" (shard 9), which session 1 holds" (shard 1), )"
            "which session 6 holds under token 7");
}

}  // namespace
}  // namespace gcoord::server
