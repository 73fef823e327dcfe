// M8 and M9 with real nodes: members and nodes are killed, and everybody who watches has seen the
// same views; barriers let nobody pass early, and rounds of a rendezvous are the same for all. One
// list for both turns; the resident one by the twins of the devices.
#include "gcoord/gcoord_groups.h"
#include "gcoord/group.h"
#include "gcoord/rendezvous.h"
#include "tests/cli/process_cluster.h"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr std::uint32_t kShards = 8;
const std::string kName = "workers";

// Epoch and ids by rank.
using Seen = std::pair<std::uint64_t, std::vector<std::string>>;

// One who watches the group, over a client of its own.
class Watcher {
 public:
  explicit Watcher(client::Client client) : client_(std::move(client)), views_(client_, kName) {
    views_.on_view([this](const client::Result<client::GroupView>& view) {
      const std::lock_guard lock(mutex_);
      ASSERT_TRUE(view.ok()) << view.status().to_string();
      EXPECT_FALSE(view.value().gap);
      std::vector<std::string> ids;
      for (const client::GroupMember& member : view.value().members) {
        ids.push_back(member.id);
      }
      seen_.emplace_back(view.value().epoch, std::move(ids));
      changed_.notify_all();
    });
  }

  ~Watcher() { views_.stop(); }

  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Waits until the newest view has these members.
  bool wait_for(const std::vector<std::string>& ids) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(
        lock, kPatience, [&] { return !seen_.empty() && seen_.back().second == ids; });
  }

  std::vector<Seen> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  std::mutex mutex_;  // Guards what follows but the client.
  std::condition_variable changed_;
  std::vector<Seen> seen_;
  client::Client client_;
  client::GroupViews views_;
};

std::vector<std::vector<std::string>> turn_of_all(const std::string& turn) {
  return {3, {"--turn", turn}};
}

class GroupProcessTest : public ProcessCluster, public testing::WithParamInterface<std::string> {
 protected:
  GroupProcessTest() : ProcessCluster(kShards, turn_of_all(GetParam())) {}

  // A member as a process, once it has joined.
  ChildProcess member(const std::string& id, const std::string& ttl = "2s") const {
    ChildProcess child = ctl().start({"group", "join", kName, "--id", id, "--ttl", ttl});
    EXPECT_TRUE(child.read_line(kPatience).has_value());
    return child;
  }

  // Of the shard of the group, while it is led.
  void kill_leader() {
    client::Client client = connect(9);
    std::uint32_t node = 0;
    while (node == 0) {
      const auto leaders = client.leader_map(home(kName), 1);
      ASSERT_TRUE(leaders.ok()) << leaders.status().to_string();
      node = leaders.value()[0];
    }
    restart(node);
  }
};

TEST_P(GroupProcessTest, M8AllSeeTheSameViewsWhileMembersAndLeadersAreKilled) {
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    watchers.push_back(std::make_unique<Watcher>(connect(seed)));
    ASSERT_TRUE(watchers.back()->wait_for({}));
  }
  const auto all_see = [&](const std::vector<std::string>& ids) {
    for (const auto& watcher : watchers) {
      ASSERT_TRUE(watcher->wait_for(ids));
    }
  };
  ChildProcess a = member("a");
  ChildProcess b = member("b");
  ChildProcess c = member("c");
  ChildProcess d = member("d");
  all_see({"a", "b", "c", "d"});
  b.kill_now();
  c.kill_now();
  all_see({"a", "d"});
  kill_leader();
  ChildProcess e = member("e");
  all_see({"a", "d", "e"});
  d.signal(SIGTERM);
  all_see({"a", "e"});
  for (const auto& watcher : watchers) {
    EXPECT_EQ(watcher->seen(), watchers.front()->seen());
  }
  const auto listed = ctl().json({"group", "list", kName});
  ASSERT_EQ(listed["members"].size(), 2u);
  EXPECT_EQ(listed["members"][1]["id"], "e");
  EXPECT_EQ(listed["members"][1]["rank"], 1);
}

// A TTL of 4 s lets other nodes hear the last keep-alives 200 ms later than the leader (ADR 0152).
TEST_P(GroupProcessTest, M8MembersThatAreKilledAtOnceMakeOneView) {
  Watcher watcher{connect(1)};
  ASSERT_TRUE(watcher.wait_for({}));
  ChildProcess a = member("a", "4s");
  ChildProcess b = member("b", "4s");
  ChildProcess c = member("c", "4s");
  ASSERT_TRUE(watcher.wait_for({"a", "b", "c"}));
  const std::vector<Seen> before = watcher.seen();
  b.signal(SIGKILL);
  c.signal(SIGKILL);
  ASSERT_TRUE(watcher.wait_for({"a"}));
  const std::vector<Seen> after = watcher.seen();
  ASSERT_EQ(after.size(), before.size() + 1);
  EXPECT_EQ(after.back().first, before.back().first + 1);
}

TEST_P(GroupProcessTest, ABarrierIsNotReleasedEarlyByTheDeathOfALeader) {
  constexpr std::uint32_t kSize = 4;
  std::vector<client::Client> clients;
  std::vector<client::Session> sessions;
  for (std::uint32_t k = 0; k < kSize; ++k) {
    clients.push_back(connect(k + 1));
    sessions.push_back(open(clients.back()));
  }
  std::atomic<std::uint32_t> passed{0};
  std::atomic<bool> last_arrives{false};
  const auto arrive = [&](std::uint32_t k) {
    client::Group group{sessions[k], kName};
    const client::Status status = group.barrier({.size = kSize, .timeout = kPatience});
    EXPECT_TRUE(status.ok()) << status.to_string();
    EXPECT_TRUE(last_arrives.load());
    ++passed;
  };
  std::vector<std::jthread> threads;
  for (std::uint32_t k = 0; k + 1 < kSize; ++k) {
    threads.emplace_back(arrive, k);
  }
  client::GroupViews views{clients.back(), kName};
  auto now = views.now();
  while (now.ok() && now.value().arrived + 1 < kSize) {
    now = views.now();
  }
  ASSERT_TRUE(now.ok()) << now.status().to_string();
  kill_leader();
  now = views.now();
  ASSERT_TRUE(now.ok()) << now.status().to_string();
  EXPECT_EQ(now.value().arrived, kSize - 1);
  EXPECT_EQ(passed.load(), 0u);
  last_arrives = true;
  arrive(kSize - 1);
  threads.clear();
  EXPECT_EQ(passed.load(), kSize);
  const Finished alone =
      ctl()({"-o", "json", "group", "barrier", kName, "--size", "2", "--wait", "300ms"});
  EXPECT_EQ(alone.code, 1);
  EXPECT_EQ(alone.error_code(), "GC6407");
}

TEST_P(GroupProcessTest, RoundsAreTheSameForAllAndOutliveTheDeathOfALeader) {
  constexpr std::uint32_t kSize = 3;
  std::vector<client::Client> clients;
  std::vector<client::Session> sessions;
  for (std::uint32_t k = 0; k < kSize; ++k) {
    clients.push_back(connect(k + 1));
    sessions.push_back(open(clients.back()));
  }
  // The members of the round of the first `size` sessions, which all of them must have seen alike.
  const auto round_of = [&sessions](std::uint32_t size) {
    std::vector<client::RendezvousRound> rounds(size);
    std::vector<std::jthread> threads;
    for (std::uint32_t k = 0; k < size; ++k) {
      threads.emplace_back([&, k] {
        client::Rendezvous rendezvous{sessions[k], kName};
        auto joined = rendezvous.join({.members_min = size,
                                       .members_max = size,
                                       .timeout = kPatience,
                                       .payload = std::string(500, static_cast<char>('a' + k))});
        ASSERT_TRUE(joined.ok()) << joined.status().to_string();
        rounds[k] = std::move(joined).value();
      });
    }
    threads.clear();
    for (std::uint32_t k = 0; k < size; ++k) {
      EXPECT_EQ(rounds[k].round, rounds[0].round);
      EXPECT_EQ(rounds[k].members.size(), size);
      if (rounds[k].members.size() != size || rounds[0].members.size() != size) {
        continue;  // A join failed, which was reported.
      }
      EXPECT_EQ(rounds[k].members[rounds[k].rank].payload.front(), 'a' + static_cast<int>(k));
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        EXPECT_EQ(rounds[k].members[rank].session_id, rounds[0].members[rank].session_id);
      }
    }
    return rounds[0];
  };
  const client::RendezvousRound first = round_of(kSize);
  kill_leader();
  EXPECT_TRUE(client::Rendezvous(sessions.back(), kName).leave().ok());
  const client::RendezvousRound second = round_of(kSize - 1);
  EXPECT_GT(second.round, first.round);
  // The end of a last call and that of a wait are entries of the leader's own.
  client::Rendezvous called{sessions[0], "called"};
  const auto alone = called.join({.members_min = 1,
                                  .members_max = 2,
                                  .last_call = std::chrono::milliseconds{50},
                                  .timeout = kPatience,
                                  .payload = "here"});
  ASSERT_TRUE(alone.ok()) << alone.status().to_string();
  EXPECT_EQ(alone.value().members.size(), 1u);
  client::Rendezvous lonely{sessions[0], "lonely"};
  const auto none = lonely.join({.members_min = 2,
                                 .members_max = 2,
                                 .timeout = std::chrono::milliseconds{100},
                                 .payload = {}});
  EXPECT_EQ(none.status().detail(), 6415u) << none.status().to_string();
}

// The same through the C interface.
TEST_P(GroupProcessTest, M9AProgramInCJoinsIsSeenAndPassesABarrier) {
  const std::string endpoints = comma_list(cluster_->endpoints());
  gcoord_client_options options;
  gcoord_client_options_init(&options);
  options.endpoints = endpoints.c_str();
  options.request_timeout_ms = kPatience.count();
  gcoord_client* client = nullptr;
  gcoord_session* session = nullptr;
  gcoord_error error{};
  ASSERT_EQ(gcoord_client_connect(&options, &client, &error), GCOORD_OK) << error.message;
  ASSERT_EQ(gcoord_session_open(client, 60'000, nullptr, nullptr, &session, &error), GCOORD_OK);
  gcoord_group* const group = gcoord_group_make(session, kName.c_str(), &error);
  ASSERT_NE(group, nullptr) << error.message;
  gcoord_group_views* const views = gcoord_group_views_open(client, kName.c_str(), &error);
  ASSERT_NE(views, nullptr) << error.message;
  gcoord_group_membership joined{.id = "c", .payload = "here", .payload_bytes = 4};
  ASSERT_EQ(gcoord_group_join(group, &joined, &error), GCOORD_OK) << error.message;
  EXPECT_EQ(joined.rank, 0u);
  gcoord_group_view* view = gcoord_group_views_next(views, kPatience.count(), &error);
  ASSERT_NE(view, nullptr) << error.message;
  EXPECT_EQ(gcoord_group_view_epoch(view), joined.epoch);
  ASSERT_EQ(gcoord_group_view_size(view), 1u);
  const gcoord_group_member member = gcoord_group_view_member(view, 0);
  EXPECT_EQ(std::string(member.id), "c");
  EXPECT_EQ(std::string(member.payload, member.payload_bytes), "here");
  EXPECT_EQ(gcoord_group_view_member(view, 1).id, nullptr);
  gcoord_group_view_free(view);
  const gcoord_group_membership silent{};
  EXPECT_EQ(gcoord_group_update(group, &silent, &error), GCOORD_OK) << error.message;
  view = gcoord_group_views_next(views, kPatience.count(), &error);
  ASSERT_NE(view, nullptr) << error.message;
  EXPECT_EQ(gcoord_group_view_member(view, 0).payload_bytes, 0u);
  EXPECT_FALSE(gcoord_group_view_gap(view));
  gcoord_group_view_free(view);
  const gcoord_barrier_options alone{.size = 1, .timeout_ms = 1000};
  const gcoord_barrier_options two{.size = 2, .timeout_ms = 100};
  const gcoord_barrier_options never{.size = 2, .timeout_ms = -1};
  EXPECT_EQ(gcoord_group_barrier(group, &alone, &error), GCOORD_OK) << error.message;
  EXPECT_NE(gcoord_group_barrier(group, &two, &error), GCOORD_OK);
  EXPECT_EQ(error.number, 6407u);
  EXPECT_NE(gcoord_group_barrier(group, &never, &error), GCOORD_OK);
  EXPECT_EQ(error.number, 1001u);
  EXPECT_EQ(gcoord_group_leave(group, &error), GCOORD_OK) << error.message;
  EXPECT_NE(gcoord_group_leave(group, &error), GCOORD_OK);
  EXPECT_EQ(error.number, 6404u);
  gcoord_group_views_free(views);
  gcoord_group_free(group);
  gcoord_session_free(session);
  gcoord_client_free(client);
}

INSTANTIATE_TEST_SUITE_P(BothTurns,
                         GroupProcessTest,
                         testing::Values("host", "resident"),
                         [](const auto& turn) { return turn.param; });

}  // namespace
}  // namespace gcoord::cli
