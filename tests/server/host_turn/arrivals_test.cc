#include "server/host_turn/arrivals.h"

#include <gtest/gtest.h>

#include <string_view>

namespace gcoord::server {
namespace {

constexpr NodeId kPeer{2};

bool add(Arrivals& arrivals, std::uint32_t row, std::string_view entries) {
  return arrivals.add(row, {.from = kPeer}, std::as_bytes(std::span(entries)));
}

std::string_view entries_of(const Arrivals& arrivals, std::size_t k) {
  const auto extent = arrivals.extent(arrivals[k]);
  return {reinterpret_cast<const char*>(extent.data()), extent.size()};
}

TEST(Arrivals, MessagesKeepTheirOrderAndEntries) {
  Arrivals arrivals({.messages = 8, .extent_bytes = 100, .row_count = 8});
  EXPECT_TRUE(add(arrivals, 3, "three"));
  EXPECT_TRUE(add(arrivals, 1, ""));
  EXPECT_TRUE(add(arrivals, 3, "again"));
  ASSERT_EQ(arrivals.size(), 3u);
  EXPECT_EQ(arrivals[0].row, 3u);
  EXPECT_EQ(entries_of(arrivals, 0), "three");
  EXPECT_EQ(arrivals[1].row, 1u);
  EXPECT_EQ(entries_of(arrivals, 2), "again");
}

TEST(Arrivals, WhatIsNotTakenStandsBeforeWhatComesLater) {
  Arrivals arrivals({.messages = 8, .extent_bytes = 100, .row_count = 8});
  EXPECT_TRUE(add(arrivals, 1, "one"));
  EXPECT_TRUE(add(arrivals, 2, "two"));
  arrivals.take(1);
  EXPECT_TRUE(add(arrivals, 3, "three"));
  arrivals.shrink();
  ASSERT_EQ(arrivals.size(), 2u);
  EXPECT_EQ(entries_of(arrivals, 0), "two");
  EXPECT_EQ(entries_of(arrivals, 1), "three");
  arrivals.take(2);
  EXPECT_EQ(arrivals.size(), 0u);
}

bool add_reply(Arrivals& arrivals, std::uint32_t row, NodeId from) {
  return arrivals.add(row, {.kind = consensus::MessageKind::AppendReply, .from = from}, {});
}

TEST(Arrivals, AMessageIsAloneUnlessAPeerSentSeveralToItsRow) {
  Arrivals arrivals({.messages = 8, .extent_bytes = 100, .row_count = 8});
  for (const std::uint32_t row : {1u, 2u, 1u}) {
    EXPECT_TRUE(add_reply(arrivals, row, kPeer));
  }
  EXPECT_TRUE(add_reply(arrivals, 2, NodeId{3}));
  EXPECT_TRUE(add(arrivals, 3, ""));
  EXPECT_TRUE(add(arrivals, 3, ""));
  EXPECT_FALSE(arrivals.alone(0));
  EXPECT_TRUE(arrivals.alone(1));
  EXPECT_FALSE(arrivals.alone(2));
  EXPECT_TRUE(arrivals.alone(3));
  EXPECT_TRUE(arrivals.alone(4)) << "without entries";
  EXPECT_TRUE(arrivals.alone(5));
  arrivals.take(6);
  EXPECT_TRUE(add_reply(arrivals, 1, kPeer));
  EXPECT_TRUE(arrivals.alone(0));
}

TEST(Arrivals, ItIsBoundedUntilAllAreTaken) {
  Arrivals arrivals({.messages = 3, .extent_bytes = 10, .row_count = 8});
  EXPECT_TRUE(add(arrivals, 1, "12345"));
  EXPECT_FALSE(add(arrivals, 2, "123456"));
  EXPECT_TRUE(add(arrivals, 2, "12345"));
  EXPECT_TRUE(add(arrivals, 3, ""));
  EXPECT_FALSE(add(arrivals, 4, ""));
  arrivals.take(2);
  EXPECT_FALSE(add(arrivals, 4, ""));
  arrivals.take(1);
  EXPECT_TRUE(add(arrivals, 4, "1234567890"));
  Arrivals none({});
  EXPECT_FALSE(add(none, 1, ""));
}

}  // namespace
}  // namespace gcoord::server
