// Payloads of orders to prune, and of what became of them.
#include "protocol/ledger/prune_messages.h"

#include "protocol/error_codes.h"
#include "protocol/request.h"

#include <gtest/gtest.h>

#include <vector>

namespace gcoord::protocol {
namespace {

std::uint32_t refusal_of(const LedgerPrune& order) {
  return decode_ledger_prune(encode_ledger_prune(order)).status().detail();
}

TEST(LedgerMessages, AnOrderIsReadBackAndNoPartOfItIsOne) {
  const auto bytes = encode_ledger_prune(
      {.log = LedgerLog::Shards, .shard = 7, .below = 1, .entries = 2, .bytes = 3, .age_ms = 4});
  const auto order = decode_ledger_prune(bytes);
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(order.value().shard, 7u);
  EXPECT_EQ(order.value().below, 1u);
  EXPECT_EQ(order.value().entries, 2u);
  EXPECT_EQ(order.value().bytes, 3u);
  EXPECT_EQ(order.value().age_ms, 4u);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_ledger_prune(std::span{bytes}.first(size)).ok()) << size;
  }
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_ledger_prune(longer).ok());
  auto odd = bytes;
  odd[0] = std::byte{2};
  EXPECT_FALSE(decode_ledger_prune(odd).ok());
}

TEST(LedgerMessages, WhatAsksForNothingOrForWhatCannotBeIsRefused) {
  constexpr auto kInvalid = static_cast<std::uint32_t>(ErrorCode::LedgerPruneInvalid);
  EXPECT_EQ(refusal_of({.shard = kAllShards}), kInvalid);
  EXPECT_EQ(refusal_of({.shard = kAllShards, .below = 5}), kInvalid);
  EXPECT_EQ(refusal_of({.log = LedgerLog::Cluster, .age_ms = 5}), kInvalid);
  EXPECT_EQ(refusal_of({.log = LedgerLog::Cluster, .shard = 1, .entries = 5}), kInvalid);
  EXPECT_EQ(refusal_of({.log = LedgerLog::Cluster, .below = 5}), 0u);
  EXPECT_EQ(refusal_of({.shard = kAllShards, .entries = 5}), 0u);
}

TEST(LedgerMessages, AnOrderAsTextNamesItsLogAndItsBounds) {
  EXPECT_EQ(prune_text({.shard = kAllShards, .entries = 1'000, .age_ms = 5}),
            "all shards, entries 1000, age_ms 5");
  EXPECT_EQ(prune_text({.shard = 3, .below = 700, .bytes = 9}), "shard 3, below 700, bytes 9");
  EXPECT_EQ(prune_text({.log = LedgerLog::Cluster, .below = 5}), "the cluster log, below 5");
}

TEST(LedgerMessages, AReportIsReadBackAndNoPartOfItIsOne) {
  const auto bytes = encode_ledger_pruned({.logs = 1, .entries = 2, .kept = 3, .damaged = 4});
  const auto report = decode_ledger_pruned(bytes);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report.value().logs, 1u);
  EXPECT_EQ(report.value().entries, 2u);
  EXPECT_EQ(report.value().kept, 3u);
  EXPECT_EQ(report.value().damaged, 4u);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_ledger_pruned(std::span{bytes}.first(size)).ok()) << size;
  }
}

}  // namespace
}  // namespace gcoord::protocol
