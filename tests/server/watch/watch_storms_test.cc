// Very many watches that want something at once: what one pass of the loop does of it, and that
// each is told what was promised, in order.
#include "server/watch/hub.h"
#include "tests/server/watch/watch_world.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::server {
namespace {

using protocol::ErrorCode;
using protocol::WatchEventKind;

constexpr std::uint64_t kWatches = 10'000;
constexpr std::uint64_t kOfConnection = 100;

class WatchStormsTest : public testing::Test {
 protected:
  WatchStormsTest() {
    for (std::uint64_t k = 0; k < kWatches; ++k) {
      node_.open(1 + k / kOfConnection, 1 + k % kOfConnection, {.text = "a"});
    }
    node_.settle();
    forget();
  }

  void forget() {
    for (auto& [connection, sent] : node_.sink.sent) {
      sent.clear();
    }
  }

  // "a" is taken by the session, or given back: an event for each watch.
  void change(bool taken, std::uint64_t session = 5) {
    log_change(taken, session);
    node_.apply(0);
  }

  // The same, which this node has not applied.
  void log_change(bool taken, std::uint64_t session = 5) {
    ++sequence_;
    if (taken) {
      append(logs_[0],
             locks::make_acquire({.session = SessionId{session},
                                  .sequence = RequestSequence{sequence_},
                                  .acked_below = RequestSequence{sequence_},
                                  .name = "a",
                                  .ttl_ms = 1000}));
    } else {
      append(logs_[0],
             locks::make_release({.session = SessionId{session},
                                  .sequence = RequestSequence{sequence_},
                                  .acked_below = RequestSequence{sequence_},
                                  .name_hash = hash_name("a"),
                                  .token = node_.locks().get(ShardId{0}, hash_name("a"))->token}));
    }
  }

  std::size_t sent() const {
    std::size_t count = 0;
    for (const auto& [connection, sent] : node_.sink.sent) {
      count += sent.size();
    }
    return count;
  }

  // Passes until nothing is left; the most messages that one of them sent.
  std::size_t drain() {
    std::size_t most = 0;
    bool more = true;
    for (int pass = 0; more && pass < 1000; ++pass) {
      const std::size_t before = sent();
      node_.budget().begin_pass();
      more = node_.desk().advance(node_.now_ms);
      most = std::max(most, sent() - before);
    }
    EXPECT_FALSE(more);
    EXPECT_FALSE(node_.budget().behind());
    return most;
  }

  // What a watch was told, as revisions in their order.
  std::vector<std::uint64_t> revisions(std::uint64_t connection, std::uint64_t id) {
    std::vector<std::uint64_t> told;
    for (const auto& each : node_.sink.sent[connection]) {
      if (each.slot.request_id == id && each.slot.code == StatusCode::Ok) {
        const auto message = protocol::decode_watch_message(each.payload).value();
        for (const auto& block : message.blocks) {
          told.push_back(block.revision.value);
        }
      }
    }
    return told;
  }

  // What the watch's end said, if it has ended, with the revision from which it may go on.
  std::optional<std::pair<ErrorCode, std::uint64_t>> end_of(std::uint64_t connection,
                                                            std::uint64_t id) {
    for (const auto& each : node_.sink.sent[connection]) {
      if (each.slot.request_id == id && each.slot.code != StatusCode::Ok) {
        return std::pair{static_cast<ErrorCode>(each.slot.detail), each.slot.extra};
      }
    }
    return std::nullopt;
  }

  void expect_all_told(const std::vector<std::uint64_t>& revisions_told) {
    for (std::uint64_t k = 0; k < kWatches; ++k) {
      ASSERT_EQ(revisions(1 + k / kOfConnection, 1 + k % kOfConnection), revisions_told) << k;
    }
  }

  std::vector<ShardLog> logs_{1};
  WatchNode node_{logs_, {}};
  std::uint64_t sequence_ = 0;
};

// All of them were sent it in one pass.
TEST_F(WatchStormsTest, AChangeGoesToAllWatchesOfANameInSlices) {
  change(true);
  node_.turn();
  EXPECT_LE(sent(), kQuantumUnits);
  EXPECT_TRUE(node_.budget().behind());
  EXPECT_LE(drain(), kPassUnits);
  EXPECT_EQ(sent(), kWatches);
  expect_all_told({1});
}

// What happens during a sweep comes with the next, as one message.
TEST_F(WatchStormsTest, ChangesDuringASweepComeInOrderAndTogether) {
  change(true);
  node_.turn();
  change(false);
  node_.turn();
  change(true, 6);
  drain();
  EXPECT_EQ(sent(), 2 * kWatches);
  expect_all_told({1, 2, 3});
}

TEST_F(WatchStormsTest, AnotherNamesWatchIsToldInTheSamePass) {
  node_.open(900, 1, {.text = "b"});
  node_.settle();
  change(true);
  append(logs_[0],
         locks::make_acquire({.session = SessionId{9},
                              .sequence = RequestSequence{1},
                              .acked_below = RequestSequence{1},
                              .name = "b",
                              .ttl_ms = 1000}));
  node_.apply(0);
  node_.turn();
  EXPECT_EQ(revisions(900, 1), std::vector<std::uint64_t>{2});
  drain();
  expect_all_told({1});
}

// Those that come, go, ask for progress and jam in the middle of a sweep.
TEST_F(WatchStormsTest, WhoComesAndGoesDuringASweepDisturbsNobody) {
  change(true);
  node_.turn();
  change(false);
  node_.sink.full.insert(7);
  node_.sink.gone.insert(8);
  node_.open(901, 1, {.text = "a"});
  for (const std::uint64_t id : {1, 50, 100}) {
    for (const std::uint64_t connection : {1, 100}) {
      protocol::RequestSlot close;
      close.kind = protocol::RequestKind::WatchClose;
      close.request_id = 1000 + id;
      close.sequence = id;
      node_.request(connection, close);
    }
  }
  protocol::RequestSlot ask;
  ask.kind = protocol::RequestKind::WatchProgress;
  ask.request_id = 2000;
  ask.sequence = 2;
  node_.request(2, ask);
  EXPECT_EQ(revisions(2, 2), (std::vector<std::uint64_t>{1, 2})) << "told before its progress";
  node_.desk().on_sweep(node_.now_ms, true);
  change(true);
  drain();
  node_.sink.full.clear();
  drain();
  for (std::uint64_t k = 0; k < kWatches; ++k) {
    const std::uint64_t connection = 1 + k / kOfConnection;
    const std::uint64_t id = 1 + k % kOfConnection;
    const bool closed =
        (connection == 1 || connection == 100) && (id == 1 || id == 50 || id == 100);
    if (connection != 8) {
      ASSERT_EQ(revisions(connection, id),
                closed ? (std::vector<std::uint64_t>{1, 2}) : (std::vector<std::uint64_t>{1, 2, 3}))
          << connection << " " << id;
    }
  }
  EXPECT_EQ(revisions(901, 1), std::vector<std::uint64_t>{3});
  EXPECT_EQ(node_.desk().watch_count(), kWatches - kOfConnection - 6 + 1);
}

// A hundred thousand clients come back over new connections: the old ones end in slices.
TEST_F(WatchStormsTest, WatchesOfConnectionsThatAreGoneEndInSlices) {
  for (std::uint64_t connection = 1; connection <= kWatches / kOfConnection; ++connection) {
    node_.sink.gone.insert(connection);
  }
  std::size_t most = 0;
  std::size_t before = node_.desk().watch_count();
  node_.budget().begin_pass();
  node_.desk().on_sweep(node_.now_ms, true);
  for (int pass = 0; node_.desk().watch_count() > 0 && pass < 1000; ++pass) {
    node_.desk().advance(node_.now_ms);
    most = std::max(most, before - node_.desk().watch_count());
    before = node_.desk().watch_count();
    EXPECT_EQ(node_.budget().behind(), before != 0);
    node_.budget().begin_pass();
  }
  EXPECT_EQ(before, 0u);
  EXPECT_LE(most, kPassUnits);
}

TEST_F(WatchStormsTest, ANodeThatIsCutOffEndsItsWatchesInSlices) {
  std::size_t most = 0;
  for (int sweep = 0; sweep < 3; ++sweep) {
    node_.budget().begin_pass();
    node_.desk().on_sweep(node_.now_ms, false);
    most = std::max(most, sent());
  }
  EXPECT_LE(most, kPassUnits);
  EXPECT_LE(drain(), kPassUnits);
  EXPECT_EQ(node_.desk().watch_count(), 0u);
  EXPECT_EQ(sent(), kWatches);
}

// All of them ended in the pass that installed the snapshot.
TEST_F(WatchStormsTest, ASnapshotEndsTheWatchesOfItsShardInSlices) {
  log_change(true);
  log_change(true, 6);
  node_.budget().begin_pass();
  node_.install(0);
  EXPECT_LE(sent(), kPassUnits);
  EXPECT_LE(drain(), kPassUnits);
  EXPECT_EQ(node_.desk().watch_count(), 0u);
  for (std::uint64_t k = 0; k < kWatches; ++k) {
    ASSERT_EQ(end_of(1 + k / kOfConnection, 1 + k % kOfConnection),
              (std::pair{ErrorCode::WatchCompacted, std::uint64_t{3}}));
  }
}

// One that was not told yet that it missed something must not hear of what came after it.
TEST_F(WatchStormsTest, AWatchThatMissedASnapshotIsToldOfNothingBehindIt) {
  change(true);  // All are owed this.
  log_change(true, 6);
  node_.budget().begin_pass();
  node_.install(0);
  node_.open(900, 1, {.text = "a"});
  node_.sink.full.insert(90);
  change(false);
  const auto ended = [this](std::uint64_t id) { return end_of(100, id).has_value(); };
  ASSERT_FALSE(ended(1) || ended(2)) << "of those that are yet to end";
  protocol::RequestSlot ask;
  ask.kind = protocol::RequestKind::WatchProgress;
  ask.request_id = 2000;
  ask.sequence = 1;
  node_.request(100, ask);
  EXPECT_EQ(end_of(100, 1), (std::pair{ErrorCode::WatchCompacted, std::uint64_t{3}}));
  EXPECT_EQ(end_of(100, 2000)->first, ErrorCode::WatchUnknown);
  node_.turn();
  change(true);
  drain();
  for (std::uint64_t k = 0; k < kWatches; ++k) {
    const std::uint64_t connection = 1 + k / kOfConnection;
    ASSERT_EQ(end_of(connection, 1 + k % kOfConnection),
              (std::pair{ErrorCode::WatchCompacted, std::uint64_t{3}}));
    const auto told = revisions(connection, 1 + k % kOfConnection);
    ASSERT_TRUE(told == std::vector<std::uint64_t>{1} || (connection == 90 && told.empty()));
  }
  EXPECT_EQ(revisions(900, 1), (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(node_.desk().watch_count(), 1u);
}

// A second snapshot comes while the watches of the first one end.
TEST_F(WatchStormsTest, SnapshotsOfOneShardAfterAnotherEndAllThatMissedEither) {
  log_change(true);
  node_.budget().begin_pass();
  node_.install(0);
  const std::size_t ended = kWatches - node_.desk().watch_count();
  ASSERT_LT(ended, kWatches);
  node_.open(900, 1, {.text = "a"});
  node_.turn();
  log_change(true, 6);
  node_.install(0);
  node_.open(901, 1, {.text = "a"});
  drain();
  EXPECT_EQ(end_of(900, 1), (std::pair{ErrorCode::WatchCompacted, std::uint64_t{3}}));
  EXPECT_EQ(end_of(100, 100), (std::pair{ErrorCode::WatchCompacted, std::uint64_t{3}}));
  EXPECT_EQ(end_of(901, 1), std::nullopt);
  EXPECT_EQ(node_.desk().watch_count(), 1u);
}

// All want progress in the same second.
TEST_F(WatchStormsTest, ProgressThatIsDueTogetherIsToldInSlices) {
  for (std::uint64_t k = 0; k < kWatches; ++k) {
    node_.open(1000 + k / kOfConnection, 1 + k % kOfConnection, {.text = "b", .progress_ms = 1000});
  }
  node_.settle();
  forget();
  node_.now_ms += 1000;
  node_.budget().begin_pass();
  node_.desk().on_sweep(node_.now_ms, true);
  EXPECT_LE(sent(), kQuantumUnits);
  EXPECT_LE(drain(), kPassUnits);
  EXPECT_EQ(sent(), kWatches);
}

// Those that lag are visited a slice at a time, and one that can go on has its turn.
TEST_F(WatchStormsTest, AMillionThatAreFullDoNotKeepTheLoopAwake) {
  for (std::uint64_t connection = 1; connection <= kWatches / kOfConnection; ++connection) {
    node_.sink.full.insert(connection);
  }
  change(true);
  drain();
  node_.sink.full.erase(42);
  drain();
  EXPECT_EQ(sent(), kOfConnection);
  node_.sink.full.clear();
  drain();
  expect_all_told({1});
}

// All come again after a while, from where the ring has nothing any more.
class ReplayStormTest : public testing::Test {
 protected:
  static constexpr std::size_t kReplays = 8;
  static constexpr std::uint64_t kComeAgain = 3000;

  // A lock is taken and given back so often before anybody watches.
  void fill(std::uint64_t changes) {
    const auto acquire = [](std::uint64_t sequence) {
      return locks::make_acquire({.session = SessionId{5},
                                  .sequence = RequestSequence{sequence},
                                  .acked_below = RequestSequence{sequence},
                                  .name = "a",
                                  .ttl_ms = 1000});
    };
    for (std::uint64_t k = 0; k < changes; k += 2) {
      append(logs_[0], acquire(k + 1));
      node_.apply(0);
      append(logs_[0],
             locks::make_release({.session = SessionId{5},
                                  .sequence = RequestSequence{k + 2},
                                  .acked_below = RequestSequence{k + 2},
                                  .name_hash = hash_name("a"),
                                  .token = node_.locks().get(ShardId{0}, hash_name("a"))->token}));
      node_.apply(0);
    }
  }

  void open(std::uint64_t watches) {
    for (std::uint64_t k = 0; k < watches; ++k) {
      node_.open(1 + k, 1, {.text = "a", .from = {{ShardId{0}, LogIndex{1}}}});
    }
    ASSERT_EQ(node_.desk().replaying_count(), watches);
  }

  // Events that all were told together.
  std::size_t told() const {
    std::size_t events = 0;
    for (const auto& [connection, sent] : node_.sink.sent) {
      for (const auto& each : sent) {
        const auto message = protocol::decode_watch_message(each.payload).value();
        for (const auto& block : message.blocks) {
          events += block.events.size();
        }
      }
    }
    return events;
  }

  std::vector<ShardLog> logs_{1};
  WatchNode node_{logs_, {.replays_max = kReplays}};
};

// Each pass looked at all of them, as long as one of them was not done.
TEST_F(ReplayStormTest, APassLooksAtSomeOfThoseThatWaitForTheirTurn) {
  fill(2);
  open(kComeAgain);
  std::size_t most = 0;
  for (int pass = 0; pass < 20; ++pass) {
    node_.sink.looks = 0;
    node_.turn();
    most = std::max(most, node_.sink.looks);
  }
  EXPECT_LE(most, kPassUnits);
  node_.settle();
  EXPECT_EQ(told(), 2 * kComeAgain);
}

// Of those that do not read, some are looked at in a pass, and they hold up nobody for good.
TEST_F(ReplayStormTest, ThoseThatAreFullLetOthersGoFirst) {
  fill(2);
  open(kComeAgain);
  for (std::uint64_t k = 1; k < kComeAgain; ++k) {
    node_.sink.full.insert(k);
  }
  for (int pass = 0; pass < 100 && node_.desk().replaying_count() == kComeAgain; ++pass) {
    node_.sink.looks = 0;
    node_.turn();
    EXPECT_LE(node_.sink.looks, kPassUnits);
    if (pass > 25) {
      node_.await_batches(1);
    }
  }
  EXPECT_EQ(node_.desk().replaying_count(), kComeAgain - 1);
  node_.sink.full.clear();
  node_.settle();
  EXPECT_EQ(told(), 2 * kComeAgain);
}

// All batches that were made since the last pass were sent in one.
TEST_F(ReplayStormTest, BatchesThatAreReadyTogetherAreSentOneAfterAnother) {
  constexpr std::size_t kEvents = 4000;
  fill(kEvents);
  open(kReplays);
  node_.turn();
  node_.await_batches(kReplays);
  std::size_t most = 0;
  std::size_t before = 0;
  for (int pass = 0; before < kReplays * kEvents && pass < 20; ++pass) {
    node_.turn();
    most = std::max(most, told() - before);
    before = told();
  }
  node_.settle();
  EXPECT_EQ(told(), kReplays * kEvents);
  EXPECT_LE(most, 2 * kEvents);
}

}  // namespace
}  // namespace gcoord::server
