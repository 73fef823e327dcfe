// W1, W2 and E4 with real nodes: watches of the client library while nodes are killed under load.
//
// What the log holds is asked afterwards, by a watch of everything from the first revision on,
// which the nodes make from their histories: the watch that lived through it all must have seen
// just that.
#include "tests/acceptance/both_turns.h"
#include "tests/cli/process_cluster.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kShards = 16;

// Revision, kind, name, token, session, and before it kind, token, session and note.
using Told = std::tuple<std::uint64_t,
                        client::EventKind,
                        std::string,
                        std::uint64_t,
                        std::uint64_t,
                        client::PreviousKind,
                        std::uint64_t,
                        std::uint64_t,
                        std::string>;

// By shard, in the order told.
using ByShard = std::map<std::uint32_t, std::vector<Told>>;

// What a watch was told, on any thread.
class Listener {
 public:
  client::Watch::Callback callback() {
    return [this](const client::Result<client::WatchBatch>& batch) {
      const std::lock_guard lock(mutex_);
      if (!batch.ok()) {
        ended_ = batch.status().detail() != 0;
        return;
      }
      for (const client::WatchEvent& event : batch.value().events) {
        told_[batch.value().shard].push_back({batch.value().revision,
                                              event.kind,
                                              event.name,
                                              event.token,
                                              event.session_id,
                                              event.previous.kind,
                                              event.previous.token,
                                              event.previous.session_id,
                                              event.previous.value});
        granted_.insert({event.name, event.token});
      }
      changed_.notify_all();
    };
  }

  bool wait_granted(const std::string& name, std::uint64_t token) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return granted_.contains({name, token}); });
  }

  ByShard told() {
    const std::lock_guard lock(mutex_);
    return told_;
  }

 private:
  std::mutex mutex_;  // Guards all of it.
  std::condition_variable changed_;
  ByShard told_;
  std::set<std::pair<std::string, std::uint64_t>> granted_;
  bool ended_ = false;
};

class WatchProcessTest : public ProcessCluster {
 protected:
  explicit WatchProcessTest(const std::string& turn = "host")
      : ProcessCluster(kShards, turn_of_all(turn)) {}

  // What is left with a name.
  static std::string note_of(const std::string& name) { return "of " + name; }

  // Each end says which hold ended, with its note; no lock is passed on.
  static void expect_previous(const Told& told, std::uint64_t session) {
    const auto& [revision, kind, name, token, by, before, old_token, old_by, note] = told;
    if (kind == client::EventKind::Granted) {
      EXPECT_EQ(before, client::PreviousKind::Nothing) << name << " " << revision;
      return;
    }
    EXPECT_EQ(kind, client::EventKind::Released);
    EXPECT_EQ(before, client::PreviousKind::Hold);
    EXPECT_EQ((std::tuple{old_token, old_by, note}), (std::tuple{token, session, note_of(name)}));
  }

  // Takes and releases names; the grants are kept.
  void load(client::Session& session, int times) {
    for (int k = 0; k < times; ++k) {
      const std::string name = "name-" + std::to_string(++count_ % 23);
      auto lock = session.acquire(name, {.note = note_of(name)});
      ASSERT_TRUE(lock.ok()) << lock.status().to_string();
      grants_.emplace_back(name, lock.value().fence());
      const auto released = lock.value().release();
      ASSERT_TRUE(released.ok()) << released.to_string();
    }
  }

  // A name in each shard that is taken last: who has seen it has seen the shard's all.
  std::vector<std::pair<std::string, std::uint64_t>> take_last(client::Session& session) {
    std::vector<std::pair<std::string, std::uint64_t>> last;
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      std::string name = "last";
      while (home(name) != shard) {
        name += "+";
      }
      auto lock = session.acquire(name);
      EXPECT_TRUE(lock.ok());
      last.emplace_back(name, lock.value().fence());
      lock.value().detach();
    }
    return last;
  }

  // Watches from these revisions on. A resident node that was behind has taken a shard's state from
  // another one, and its history begins there: it names a later revision (GC6201), which is as
  // good.
  static client::Result<client::Watch> watch_from(client::Client& client,
                                                  client::WatchOptions& options,
                                                  Listener& listener) {
    static const std::string kPlace = "(shard ";
    static const std::string kBegin = " begins with revision ";
    while (true) {
      auto watch = client.watch(options, listener.callback());
      const std::string why = watch.ok() ? "" : watch.status().message();
      const std::size_t place = why.find(kPlace);
      const std::size_t begin = why.find(kBegin);
      if (place == std::string::npos || begin == std::string::npos) {
        return watch;
      }
      const std::size_t shard = std::stoul(why.substr(place + kPlace.size()));
      const std::uint64_t revision = std::stoull(why.substr(begin + kBegin.size()));
      if (shard >= kShards || revision <= options.from[shard].revision) {
        return watch;
      }
      options.from[shard].revision = revision;
    }
  }

  // What was told from these revisions on.
  static ByShard told_since(const ByShard& all, const std::vector<client::Revision>& from) {
    ByShard since;
    for (const auto& [shard, told] : all) {
      for (const Told& each : told) {
        if (std::get<0>(each) >= from[shard].revision) {
          since[shard].push_back(each);
        }
      }
    }
    return since;
  }

  static std::vector<client::Revision> everything() {
    std::vector<client::Revision> from;
    for (std::uint32_t shard = 0; shard < kShards; ++shard) {
      from.push_back({shard, 1});
    }
    return from;
  }

  std::vector<std::pair<std::string, std::uint64_t>> grants_;
  int count_ = 0;
};

class WatchTurnTest : public AtBothTurns<WatchProcessTest> {};

INSTANTIATE_TEST_SUITE_P(BothTurns, WatchTurnTest, both_turns(), turn_name);

TEST_P(WatchTurnTest, W1W2AWatchThatLivesThroughKillsHasSeenWhatTheLogHolds) {
  client::Client client = connect(1);
  Listener live;
  const client::WatchOptions options{.prefix = "", .previous = true, .from = everything()};
  auto watch = client.watch(options, live.callback());
  ASSERT_TRUE(watch.ok()) << watch.status().to_string();
  client::Session session = open(client);
  load(session, 50);
  for (std::uint32_t node = 1; node <= kNodes; ++node) {
    restart(node);
    load(session, 50);
  }
  const auto last = take_last(session);
  for (const auto& [name, token] : last) {
    ASSERT_TRUE(live.wait_granted(name, token)) << name;
  }
  const ByShard told = live.told();
  for (std::uint64_t seed = 1; seed <= kNodes; ++seed) {  // Each begins at another node.
    client::Client other = connect(seed);
    Listener replayed;
    client::WatchOptions kept = options;
    auto again = GetParam() == "resident" ? watch_from(other, kept, replayed)
                                          : other.watch(options, replayed.callback());
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    for (const auto& [name, token] : last) {
      const bool before = token < kept.from[home(name)].revision;
      ASSERT_TRUE(before || replayed.wait_granted(name, token)) << name;
    }
    EXPECT_EQ(replayed.told(), told_since(told, kept.from));
  }
  std::set<std::pair<std::string, std::uint64_t>> seen;
  for (const auto& [shard, all] : told) {
    std::uint64_t revision = 0;
    for (const Told& each : all) {
      EXPECT_GE(std::get<0>(each), revision);
      revision = std::get<0>(each);
      expect_previous(each, session.id());
      if (std::get<1>(each) == client::EventKind::Granted) {
        EXPECT_TRUE(seen.insert({std::get<2>(each), std::get<3>(each)}).second);
      }
    }
  }
  for (const auto& grant : grants_) {
    EXPECT_TRUE(seen.contains(grant)) << grant.first << " " << grant.second;
  }
}

TEST_P(WatchTurnTest, E4ObserveNeverGoesBackAnEpochThroughKills) {
  client::Client client = connect(1);
  client::Session session = open(client);
  auto leaders = client.observe("chief");
  ASSERT_TRUE(leaders.ok()) << leaders.status().to_string();
  std::uint64_t before = 0;
  for (std::uint32_t round = 0; round < 2 * kNodes; ++round) {
    if (round % 2 == 1) {
      restart(1 + round / 2);
    }
    auto election = session.election("chief");
    ASSERT_TRUE(election.campaign().ok());
    const auto office = leaders.value().next(kPatience);
    ASSERT_TRUE(office.ok()) << office.status().to_string();
    ASSERT_TRUE(office.value().has_value());
    EXPECT_EQ(office.value()->epoch, election.epoch());
    EXPECT_GT(office.value()->epoch, before);
    before = office.value()->epoch;
    ASSERT_TRUE(election.resign().ok());
  }
}

TEST_F(WatchProcessTest, AFullQueueStopsTheStreamAndNothingIsLost) {
  client::Client client = connect(1);
  auto watch = client.watch({.prefix = "name-", .from = everything(), .queue_bytes_max = 2048});
  ASSERT_TRUE(watch.ok());
  client::Session session = open(client);
  load(session, 100);
  std::size_t granted = 0;
  std::map<std::uint32_t, std::uint64_t> revisions;
  while (granted < grants_.size()) {
    const auto batch = watch.value().next(kPatience);
    ASSERT_TRUE(batch.ok() && batch.value()) << granted;
    EXPECT_GT(batch.value()->revision, revisions[batch.value()->shard]);
    revisions[batch.value()->shard] = batch.value()->revision;
    granted += batch.value()->events.front().kind == client::EventKind::Granted ? 1 : 0;
  }
}

TEST_F(WatchProcessTest, AClosedWatchAndAClosedClientSayWhy) {
  client::Client client = connect(1);
  EXPECT_EQ(client.watch({}).status().detail(), 6204u);
  EXPECT_EQ(client.watch({.name = "a", .session_id = 5}).status().detail(), 6204u);
  EXPECT_EQ(client.watch({.name = "a\n"}).status().detail(), 1114u);
  auto watch = client.watch({.name = "a"});
  ASSERT_TRUE(watch.ok());
  EXPECT_FALSE(watch.value().next(milliseconds{1}).value().has_value());
  watch.value().close();
  EXPECT_EQ(watch.value().next().status().detail(), 6207u);
  std::optional<client::Client> other{connect(2)};
  auto left = other->watch({.name = "a"});
  ASSERT_TRUE(left.ok());
  other.reset();
  EXPECT_EQ(left.value().next().status().detail(), 4010u);
}

}  // namespace
}  // namespace gcoord::cli
