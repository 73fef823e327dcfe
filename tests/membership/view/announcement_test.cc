// What nodes say to each other of their views, over releases that say less and more.
#include "membership/view/announcement.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>

namespace gcoord::membership {
namespace {

TEST(Announcement, SaysHowFarItsShardsAre) {
  ViewAnnouncement said{.epoch = 7, .settings = {.shards = 3}, .self = {}, .progress = {}};
  said.self.id = NodeId{2};
  said.self.name = "a";
  const std::size_t before = encode_announcement(said).size();
  said.progress = ShardProgress{.epoch = 7, .led = 3, .settled = 2, .ready = 1};
  auto bytes = encode_announcement(said);
  EXPECT_EQ(decode_announcement(bytes), said);
  // What was cut in the new part says nothing of it, as an earlier release.
  for (std::size_t length = before; length < bytes.size(); ++length) {
    const auto read = decode_announcement(std::span{bytes}.first(length));
    ASSERT_TRUE(read.has_value());
    EXPECT_FALSE(read->progress.has_value());
  }
  bytes.push_back(std::byte{9});  // A later release says more.
  EXPECT_EQ(decode_announcement(bytes), said);
}

TEST(Announcement, SaysWhichShardsAreSettled) {
  ViewAnnouncement said{.epoch = 7, .settings = {.shards = 3}, .self = {}, .progress = {}};
  said.self.id = NodeId{2};
  said.self.name = "a";
  said.progress = ShardProgress{.epoch = 7, .led = 3, .settled = 2, .ready = 1};
  const std::size_t before = encode_announcement(said).size();
  said.progress->settled_sum = 0x1234'5678'9abc'def0;
  const auto bytes = encode_announcement(said);
  EXPECT_EQ(bytes.size(), before + 9);
  EXPECT_EQ(decode_announcement(bytes), said);
  said.others = {{NodeId{9}, "host:9"}};
  EXPECT_EQ(decode_announcement(encode_announcement(said)), said);
  for (std::size_t length = before; length < bytes.size(); ++length) {
    const auto read = decode_announcement(std::span{bytes}.first(length));
    ASSERT_TRUE(read && read->progress);
    EXPECT_FALSE(read->progress->settled_sum.has_value());
    EXPECT_EQ(read->progress->settled, 2u);
  }
}

}  // namespace
}  // namespace gcoord::membership
