#include "ledger/notes/shard_head.h"

#include "ledger/base/error_details.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace gcoord::ledger {
namespace {

TEST(ShardHead, HasTheBytesThatAreDocumented) {
  ShardHead head{ShardId{0x04030201}, 0x0c0b0a0908070605, {}};
  for (std::size_t k = 0; k < head.root.size(); ++k) {
    head.root[k] = static_cast<std::byte>(13 + k);
  }
  const ShardHeadBytes bytes = encode_head(head);
  ASSERT_EQ(bytes.size(), 44u);
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    EXPECT_EQ(bytes[k], static_cast<std::byte>(k + 1)) << k;
  }
  EXPECT_EQ(decode_head(bytes).value(), head);
}

TEST(ShardHead, OfAnotherLengthIsNone) {
  const std::vector<std::byte> bytes(kShardHeadBytes + 1);
  EXPECT_EQ(decode_head(bytes).status().detail(), kShardHeadMalformed);
  EXPECT_EQ(decode_head(std::span(bytes).first(kShardHeadBytes - 1)).status().detail(),
            kShardHeadMalformed);
  EXPECT_EQ(decode_head({}).status().detail(), kShardHeadMalformed);
}

}  // namespace
}  // namespace gcoord::ledger
