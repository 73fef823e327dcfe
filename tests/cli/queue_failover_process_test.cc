// A long queue of one process loses its leader: more waits than retries that the process may take.
#include "cli/load/queue_load.h"
#include "tests/acceptance/both_turns.h"
#include "tests/cli/process_cluster.h"

namespace gcoord::cli {
namespace {

constexpr std::uint32_t kShards = 4;
constexpr std::uint32_t kWaiters = 2000;

// More than the nodes' start may cost those who open the queue's sessions, and far less than one
// for each waiter.
constexpr std::uint32_t kRetries = 500;

class QueueFailoverProcessTest : public ProcessCluster,
                                 public testing::WithParamInterface<std::string> {
 protected:
  QueueFailoverProcessTest() : ProcessCluster(kShards, turn_of_all(GetParam())) {}

  // Who has spent its few retries rests for minutes before the next one: longer than the test.
  client::Client connect_with_few_retries() const {
    client::ClientOptions options;
    options.endpoints = cluster_->endpoints();
    options.request_timeout = kPatience;
    options.connect_timeout = kPatience;
    options.retry_budget = kRetries;
    options.backoff_max = std::chrono::hours{1};
    options.seed = 1;
    auto client = client::Client::connect(std::move(options));
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    EXPECT_TRUE(client.value().wait_for_all_nodes(kPatience).ok());
    return std::move(client).value();
  }

  std::uint32_t leader_of(client::Client& client, const std::string& name) const {
    std::uint32_t leader = 0;
    while (leader == 0) {
      const auto leaders = client.leader_map(home(name), 1);
      EXPECT_TRUE(leaders.ok()) << leaders.status().to_string();
      leader = leaders.ok() ? leaders.value().front() : 1;
    }
    return leader;
  }
};

INSTANTIATE_TEST_SUITE_P(BothTurns, QueueFailoverProcessTest, both_turns(), turn_name);

// It stood still, because every wait took a retry of its own to come back to its place in line.
TEST_P(QueueFailoverProcessTest, Row74ALeaderIsKilledUnderMoreWaitsThanTheRetryBudget) {
  const std::string name = "long/queue";
  client::Client watcher = connect(2);
  open(watcher).detach();  // By now a node opens sessions.
  client::Client client = connect_with_few_retries();
  QueueLoad load(client,
                 {.name = name,
                  .waiters = kWaiters,
                  .handovers = kWaiters,
                  .interlude_grants = kWaiters / 3,
                  .interlude = [&] { cluster_->kill(leader_of(watcher, name)); },
                  .patience = std::chrono::minutes{5}});
  const client::Status queued = load.queue_up();
  ASSERT_TRUE(queued.ok()) << queued.to_string();
  const auto results = load.hand_on();
  ASSERT_TRUE(results.ok()) << results.status().to_string();
  EXPECT_EQ(results.value().grants, kWaiters);
  EXPECT_EQ(results.value().releases, kWaiters);
  EXPECT_EQ(results.value().waiters_left, 0u);
  EXPECT_EQ(results.value().tokens_out_of_order, 0u);
  EXPECT_TRUE(results.value().exact(kWaiters)) << results.value().out_of_order << " out of order";
}

}  // namespace
}  // namespace gcoord::cli
