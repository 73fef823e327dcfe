// Records of other services in logs that stay on their devices, by the twins of three nodes: all
// hosts have the same records in the log's order, and the devices' tables and hashes know none.
#include "locks/commands/entry_record.h"
#include "server/interfaces/log_record.h"
#include "tests/server/resident/engine/resident_hosts.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

std::vector<std::byte> record(RecordKind kind, const std::string& body) {
  std::vector<std::byte> bytes;
  put_record_header(bytes, {kind, protocol::RecordOrigin::System, 17});
  const auto text = std::as_bytes(std::span{body});
  bytes.insert(bytes.end(), text.begin(), text.end());
  return bytes;
}

class ResidentRecords : public testing::Test {
 protected:
  void TearDown() override {
    hosts_.turns(600);
    for (const auto& host : hosts_.each) {
      EXPECT_TRUE(host.failure.ok()) << host.failure.to_string();
      EXPECT_EQ(host.rows->applied(shard()), hosts_.each[0].rows->applied(shard()));
      EXPECT_EQ(host.service.records, hosts_.each[0].service.records);
    }
  }

  std::uint64_t propose(const std::vector<std::byte>& bytes) {
    auto& requests = *hosts_.each[hosts_.leader_of(shard())].requests;
    EXPECT_TRUE(requests.may_take_record(shard(), bytes.size()));
    requests.record(shard(), bytes, ++hosts_.cookie);
    return hosts_.cookie;
  }

  // Pieces and entry of a record as entries that the leader's device is asked for.
  void push(std::span<const locks::LockEntry> entries) {
    hosts_.world.push(hosts_.leader_of(shard()),
                      shard(),
                      std::vector<locks::LockEntry>(entries.begin(), entries.end()));
  }

  ShardId shard() const { return hosts_.shard(); }

  Hosts hosts_;
};

TEST_F(ResidentRecords, AllHostsHaveThemInTheOrderOfTheLogAndLocksGoOn) {
  std::vector<std::vector<std::byte>> said;
  for (const std::size_t bytes : {1, 24, 25, 32, 400, 1032, 2040}) {
    said.push_back(record(RecordKind::View, std::string(bytes, 'v')));
    const std::uint64_t cookie = propose(said.back());
    hosts_.lock_and_unlock(1);
    hosts_.turns(600);
    EXPECT_TRUE(hosts_.each[hosts_.leader_of(shard())].service.noted.contains(cookie)) << bytes;
  }
  for (const auto& host : hosts_.each) {
    EXPECT_EQ(host.service.records, said);
    EXPECT_NE(host.rows->counts().recorded, 0u);
    EXPECT_EQ(host.requests->under_way(), 0u);
    EXPECT_EQ(host.rows->counts().compared, 2 * said.size());
  }
}

// Else a host would do what its device does not.
TEST_F(ResidentRecords, NoneSaysWhatIsALocksCommand) {
  propose(record(RecordKind::LockCommand, std::string(40, 'l')));
  propose(record(RecordKind::Restore, std::string(4, 'r')));
  hosts_.turns(600);
  EXPECT_EQ(hosts_.each[0].service.records.size(), 0u);
  hosts_.lock_and_unlock(1);
}

TEST_F(ResidentRecords, OneThatIsNotThereWholeIsNothing) {
  const auto entries = locks::record_entries(record(RecordKind::Access, std::string(300, 'a')));
  push(std::span{entries}.first(4));
  hosts_.turns(600);
  EXPECT_EQ(hosts_.each[0].rows->pieces(shard()).entries.size(), 4u);
  push(std::span{entries}.subspan(5));
  hosts_.turns(600);
  EXPECT_EQ(hosts_.each[0].service.records.size(), 0u);
  EXPECT_EQ(hosts_.each[0].rows->counts().recorded, 0u);
  propose(record(RecordKind::Access, "b"));
  hosts_.turns(600);
  EXPECT_EQ(hosts_.each[0].service.records.size(), 1u);
}

// More pieces than a name has are on their way when the state is stored, and the rest comes later.
TEST_F(ResidentRecords, WhatIsStoredInTheMiddleOfOneHasItsPieces) {
  const auto whole = record(RecordKind::Limits, std::string(2000, 'm'));
  propose(record(RecordKind::Limits, "first"));
  hosts_.turns(600);
  auto entries = locks::record_entries(whole);
  for (std::size_t k = 0; k < entries.size(); ++k) {
    entries[k].request = 900 + k;
  }
  Hosts other;
  ResidentRows& rows = *other.each[0].rows;
  LogIndex index = rows.applied(shard());
  const std::size_t middle = entries.size() - 3;
  ASSERT_GT(middle, std::size_t{locks::kPiecesMax});
  for (std::size_t k = 0; k < middle; ++k) {
    index = index + 1;
    rows.replay(shard(), index, entries[k]);
  }
  EXPECT_EQ(rows.whole_at(shard()).value, 0u);
  std::vector<std::byte> stored;
  rows.encode(shard(), StoredFor::Checkpoint, stored);
  ASSERT_TRUE(ResidentRows::well_formed(stored));
  ResidentRows& again = *hosts_.each[1].rows;
  std::vector<std::byte> before;
  again.encode(shard(), StoredFor::Checkpoint, before);
  ASSERT_TRUE(again.decode(shard(), stored).ok());
  for (std::size_t k = middle; k < entries.size(); ++k) {
    index = index + 1;
    again.replay(shard(), index, entries[k]);
  }
  EXPECT_EQ(hosts_.each[1].service.records.back(), whole);
  ASSERT_TRUE(again.decode(shard(), before).ok());
  hosts_.each[1].service.records.pop_back();
}

TEST_F(ResidentRecords, AStoredStateSaysThatThereWereSome) {
  std::vector<std::byte> stored;
  hosts_.each[0].rows->encode(shard(), StoredFor::Snapshot, stored);
  Hosts other;
  ASSERT_TRUE(other.each[0].rows->decode(shard(), stored).ok());
  EXPECT_EQ(other.each[0].rows->counts().recorded, 0u);
  propose(record(RecordKind::SessionNote, "note"));
  hosts_.turns(600);
  stored.clear();
  hosts_.each[0].rows->encode(shard(), StoredFor::Snapshot, stored);
  ASSERT_TRUE(other.each[0].rows->decode(shard(), stored).ok());
  EXPECT_NE(other.each[0].rows->counts().recorded, 0u);
}

TEST_F(ResidentRecords, ALeaderThatIsLostLeavesNothingOfOneButSaysSo) {
  const std::uint32_t leader = hosts_.leader_of(shard());
  hosts_.world.paused = leader;
  const std::uint64_t cookie = ++hosts_.cookie;
  hosts_.each[leader].requests->record(
      shard(), record(RecordKind::View, std::string(500, 'x')), cookie);
  hosts_.turns(8000);
  ASSERT_LT(hosts_.leader_of(shard()), kTurnNodes);
  hosts_.world.paused = kTurnNodes;
  hosts_.turns(3000);
  EXPECT_FALSE(hosts_.each[leader].service.noted.contains(cookie));
  EXPECT_EQ(hosts_.each[leader].service.failed.count(cookie), 1u);
  EXPECT_EQ(hosts_.each[leader].requests->under_way(), 0u);
}

}  // namespace
}  // namespace gcoord::server
