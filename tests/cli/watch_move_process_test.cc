// W1 and L19 with real nodes: watches of a name whose lock moves from shard to shard, and goes on
// being released and taken, while the watches lose their nodes.
#include "tests/cli/process_cluster.h"

#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using client::EventKind;

constexpr std::uint32_t kShards = 8;
const std::string kName = "jobs/moved";

using Told = std::tuple<EventKind, std::uint64_t, std::uint64_t>;  // Token, session.

class WatchMoveProcessTest : public ProcessCluster {
 protected:
  WatchMoveProcessTest() : ProcessCluster(kShards) {}

  void SetUp() override {
    ProcessCluster::SetUp();
    if (!HasFatalFailure()) {
      operator_.emplace(connect(1));
      session_.emplace(open(*operator_));
    }
  }

  void take() {
    auto lock = session_->acquire(kName);
    ASSERT_TRUE(lock.ok()) << lock.status().to_string();
    happened_.push_back({EventKind::Granted, lock.value().fence(), session_->id()});
    held_.emplace(std::move(lock).value());
  }

  void release() {
    happened_.push_back({EventKind::Released, held_->fence(), session_->id()});
    const client::Status released = held_->release();
    ASSERT_TRUE(released.ok()) << released.to_string();
  }

  void move_to(std::uint32_t shard) {
    const client::Status moved = operator_->move_lock(kName, shard);
    ASSERT_TRUE(moved.ok()) << moved.to_string();
  }

  std::uint32_t away(std::uint32_t k) const { return (home(kName) + k) % kShards; }

  // What a watch is told next, as much as has happened since `seen`; where it was told last.
  void expect_told(client::Watch& watch, std::size_t& seen) {
    for (; seen < happened_.size(); ++seen) {
      const auto batch = watch.next(kPatience);
      ASSERT_TRUE(batch.ok()) << batch.status().to_string();
      ASSERT_TRUE(batch.value()) << "event " << seen << " did not come";
      ASSERT_EQ(batch.value()->events.size(), 1u) << seen;
      const client::WatchEvent& event = batch.value()->events.front();
      ASSERT_EQ((Told{event.kind, event.token, event.session_id}), happened_[seen]) << seen;
      shard_ = batch.value()->shard;
    }
  }

  std::optional<client::Client> operator_;
  std::optional<client::Session> session_;
  std::optional<client::Lock> held_;
  std::vector<Told> happened_;
  std::uint32_t shard_ = 0;  // Of the newest event.
};

TEST_F(WatchMoveProcessTest, W1L19AWatchHearsOfItsLockAwayFromHomeAndHomeAgain) {
  client::Client watching = connect(2);
  auto watch = watching.watch({.name = kName});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  std::size_t seen = 0;
  take();
  move_to(away(1));
  release();
  take();
  expect_told(watch.value(), seen);
  EXPECT_EQ(shard_, away(1));
  move_to(home(kName));
  release();
  take();
  expect_told(watch.value(), seen);
  EXPECT_EQ(shard_, home(kName));
  move_to(away(3));
  release();
  expect_told(watch.value(), seen);
  EXPECT_EQ(shard_, away(3));
  EXPECT_EQ(watch.value().revisions().size(), 1u);
}

// Each watch has seen a part, away from home or not, and another one goes on from there; the nodes
// restart meanwhile, so that they make much of it from their histories.
TEST_F(WatchMoveProcessTest, W1L19AWatchGoesOnOverMovesFromWhereAnotherHasEnded) {
  std::vector<std::pair<std::vector<client::Revision>, std::size_t>> ends;
  const auto end_here = [&](std::uint64_t seed) {
    std::size_t seen = ends.empty() ? 0 : ends.back().second;
    client::Client watching = connect(seed);
    client::WatchOptions options{.name = kName};
    if (ends.empty()) {
      options.from_revision = 1;
    } else {
      options.from = ends.back().first;
      ++options.from.front().revision;
    }
    auto watch = watching.watch(std::move(options));
    ASSERT_TRUE(watch.ok()) << watch.status().to_string();
    expect_told(watch.value(), seen);
    ends.emplace_back(watch.value().revisions(), seen);
    ASSERT_EQ(ends.back().first.size(), 1u);
  };
  take();
  end_here(1);
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    move_to(away(node));
    release();
    take();
    end_here(node);
    release();
    take();
    restart(node);
    move_to(home(kName));
    release();
    take();
    end_here(node + 1);
  }
  client::Client watching = connect(5);
  for (const auto& [from, already] : std::vector{ends}) {
    auto watch = watching.watch({.name = kName, .from = {{from[0].shard, from[0].revision + 1}}});
    ASSERT_TRUE(watch.ok()) << watch.status().to_string();
    std::size_t next = already;
    expect_told(watch.value(), next);
  }
}

TEST_F(WatchMoveProcessTest, E4L19ObserveTellsOfThoseWhoLeadAwayFromHome) {
  client::Client watching = connect(3);
  auto leaders = watching.observe(kName);
  ASSERT_TRUE(leaders.ok()) << leaders.status().to_string();
  const auto expect_leader = [&] {
    const auto office = leaders.value().next(kPatience);
    ASSERT_TRUE(office.ok() && office.value()) << office.status().to_string();
    EXPECT_EQ(office.value()->epoch, held_->fence());
  };
  take();
  expect_leader();
  for (const std::uint32_t shard : {away(1), home(kName), away(2), home(kName)}) {
    move_to(shard);
    release();
    take();
    expect_leader();
  }
}

// One watch, over all restarts.
TEST_F(WatchMoveProcessTest, W1L19AWatchThatLosesItsNodesMissesNothingOfAMovedLock) {
  client::Client watching = connect(2);
  auto watch = watching.watch({.name = kName});
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  std::size_t seen = 0;
  take();
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    move_to(away(node));
    release();
    restart(node);
    take();
    move_to(home(kName));
    release();
    take();
    expect_told(watch.value(), seen);
  }
}

}  // namespace
}  // namespace gcoord::cli
