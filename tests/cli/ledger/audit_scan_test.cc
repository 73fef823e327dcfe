// What a search of a ledger reads, and what it finds about a name.
#include "cli/ledger/audit_scan.h"

#include "locks/commands/move_command.h"
#include "tests/cli/served_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint32_t kShards = 64;
constexpr const char* kName = "jobs/a";
constexpr const char* kMoved = "jobs/moved";

std::vector<std::byte> entry_of(const locks::LockCommand& command) {
  std::vector<std::byte> record;
  server::put_record_header(record,
                            {.kind = server::RecordKind::LockCommand,
                             .origin = protocol::RecordOrigin::Loopback,
                             .time_ms = 1'700'000'000'000});
  locks::encode(command, record);
  return record;
}

locks::LockCommand acquire(std::uint64_t session, std::uint64_t sequence, const char* name) {
  return locks::make_acquire({.session = SessionId{session},
                              .sequence = RequestSequence{sequence},
                              .acked_below = RequestSequence{sequence},
                              .name = name,
                              .ttl_ms = 5000});
}

locks::LockCommand release(std::uint64_t session, std::uint64_t sequence, const char* name) {
  return locks::make_release({.session = SessionId{session},
                              .sequence = RequestSequence{sequence},
                              .acked_below = RequestSequence{sequence},
                              .name_hash = hash_name(name),
                              .token = FencingToken{sequence}});
}

class AuditScanTest : public ::testing::Test {
 protected:
  // One server for all tests: to stop it takes a second.
  static void SetUpTestSuite() {
    served_ = new ServedLedger(kShards);
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      served_->ledger.append(shard, 2);
    }
    home_ = shard_of(hash_name(kName), kShards).value;
    auto& log = served_->ledger.tree(home_);
    for (const locks::LockCommand& command :
         {acquire(901, 1, kName),                                             // 2
          acquire(902, 1, kName),                                             // 3, waits
          locks::make_cancel_wait(SessionId{902}, RequestSequence{1}, true),  // 4
          locks::make_cancel_wait(SessionId{902}, RequestSequence{7}, true),  // of another
          acquire(903, 1, "jobs/other"),                                      //
          locks::make_expire_session(SessionId{901}, 1),                      // 7
          locks::make_close_session(SessionId{903}, RequestSequence{2}),      // of another
          acquire(904, 1, kName),                                             // 9
          release(904, 2, kName),                                             // 10
          locks::make_close_session(SessionId{904}, RequestSequence{3}),      // had let go
          acquire(905, 1, kName),                                             // 12
          locks::make_close_session(SessionId{905}, RequestSequence{2}),      // 13
          locks::make_close_session(SessionId{905}, RequestSequence{2})}) {   // ended before
      log.append(entry_of(command));
    }
    move();
    served_->ledger.publish();
  }

  // Another lock goes to the next shard, where the session of its holder ends.
  static void move() {
    auto& from = served_->ledger.tree(shard_of(hash_name(kMoved), kShards).value);
    auto& to = served_->ledger.tree(moved_to());
    from.append(entry_of(acquire(906, 1, kMoved)));
    from.append(entry_of(locks::make_move_out(kMoved, ShardId{moved_to()})));
    to.append(entry_of(locks::make_move_in({.from = shard_of(hash_name(kMoved), kShards),
                                            .number = 1,
                                            .token = {},
                                            .token_last = 1,
                                            .name_bytes = 10,
                                            .text = kMoved})));
    to.append(entry_of(locks::make_expire_session(SessionId{906}, 1)));
    to.append(entry_of(locks::make_expire_session(SessionId{907}, 1)));  // Never had it.
  }

  static std::uint32_t moved_to() {
    return (shard_of(hash_name(kMoved), kShards).value + 1) % kShards;
  }

  static void TearDownTestSuite() { delete served_; }

  static std::uint64_t requests() {
    return served_->metrics
        .counter({"gcoord_http_requests_total", "Requests to this port.", "port", "ledger"})
        .value();
  }

  static AuditQuery query(const char* name) {
    return {.filter = {.principal = {}, .name = name, .since = {}},
            .shard = {},
            .from = {},
            .bounds = {}};
  }

  static std::vector<std::uint64_t> rows(const AuditQuery& query) {
    auto scan = AuditScan::open(served_->place(), served_->trust()).value();
    std::vector<std::uint64_t> found;
    const AuditPage page = scan.find(query).value();
    for (const AuditRow& row : page.rows) {
      EXPECT_EQ(row.at.shard, home_);
      found.push_back(row.at.index);
    }
    return found;
  }

  static ServedLedger* served_;
  static std::uint32_t home_;
};

ServedLedger* AuditScanTest::served_ = nullptr;
std::uint32_t AuditScanTest::home_ = 0;

TEST(AuditAuthor, OrdersToPruneAreByWhoMadeConfirmedOrCancelledThem) {
  for (const char* kind : {"prune_order", "prune_confirm", "prune_cancel", "limit_set"}) {
    EXPECT_EQ(author_of({{"kind", kind}, {"by_principal", "ann"}}), "ann") << kind;
  }
  EXPECT_EQ(author_of({{"kind", "order_note"}, {"principal", "bob"}}), "bob");
}

TEST_F(AuditScanTest, ANameIsFoundWithTheEndsOfWhatItsEntriesBegan) {
  EXPECT_THAT(rows(query(kName)), ElementsAre(2, 3, 4, 7, 9, 10, 12, 13));
}

TEST_F(AuditScanTest, ASearchOfOneShardFindsTheSame) {
  AuditQuery one = query(kName);
  one.shard = home_;
  EXPECT_THAT(rows(one), ElementsAre(2, 3, 4, 7, 9, 10, 12, 13));
}

TEST_F(AuditScanTest, ACursorBetweenAnAcquireAndItsEndLosesNothing) {
  AuditQuery rest = query(kName);
  rest.from = {home_, 5};
  EXPECT_THAT(rows(rest), ElementsAre(7, 9, 10, 12, 13));
}

TEST_F(AuditScanTest, ASearchByNameReadsTheShardsThatItLeadsTo) {
  const std::uint64_t before = requests();
  EXPECT_FALSE(rows(query(kName)).empty());
  // The number of shards; then checkpoint, hashes and entries of the name's shard and of the home
  // shards of five sessions.
  EXPECT_LE(requests() - before, 1 + 3 * 6u);
  const std::uint64_t between = requests();
  EXPECT_THAT(rows(query("jobs/nobody")), IsEmpty());
  EXPECT_LE(requests() - between, 1 + 3 * 1u);
}

TEST_F(AuditScanTest, ALockIsFollowedToTheShardThatItWasMovedTo) {
  auto scan = AuditScan::open(served_->place(), served_->trust()).value();
  const AuditPage page = scan.find(query(kMoved)).value();
  std::vector<std::string> found;
  for (const AuditRow& row : page.rows) {
    const bool there = row.at.shard == moved_to();
    found.push_back((there ? "there " : "here ") + std::string{fact_of(row.facts, "kind")});
  }
  EXPECT_THAT(found,
              testing::UnorderedElementsAre(
                  "here acquire", "here move_out", "there move_in", "there expire_session"));
}

TEST_F(AuditScanTest, AnotherSearchReadsEachShardOnce) {
  auto scan = AuditScan::open(served_->place(), served_->trust()).value();
  AuditQuery all = query("");
  all.filter.since = "2023";
  const std::uint64_t before = requests();
  EXPECT_EQ(scan.find(all).value().rows.size(), 2 * kShards + 18);
  EXPECT_LE(requests() - before, 3 * kShards + 1);
}

}  // namespace
}  // namespace gcoord::cli
