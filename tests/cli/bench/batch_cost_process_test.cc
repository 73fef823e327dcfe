// Budget of a batch at three real nodes: system calls, copies, frames and messages for each
// request, by the nodes' own counters. The number of batches is fixed, so no figure depends on how
// fast the machine is.
#include "chaos/rings/client_way.h"
#include "cli/bench/node_cost.h"
#include "common/http/client.h"
#include "common/json/text.h"
#include "gcoord/lock_batch.h"
#include "tests/cli/process_cluster.h"

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr std::uint32_t kShards = 64;
constexpr std::size_t kBatch = 192;    // 64 for each node, more or less.
constexpr std::size_t kOneShard = 32;  // What a session may have under way in a shard.
constexpr int kBatches = 100;

// By the number of I/O threads: without them the loop reads and sends, with them a thread also
// waits, and wakes the loop, by epoll or ("uring") by io_uring. Or by shared memory, where only who
// sleeps is rung for.
class BatchCostProcessTest : public ProcessCluster,
                             public testing::WithParamInterface<const char*> {
 protected:
  BatchCostProcessTest()
      : ProcessCluster(kShards, {kNodes, {"--io-threads", threads(), "--io-backend", backend()}}) {}

  static bool by_rings() { return std::string_view{GetParam()} == "shm"; }

  static bool by_uring() { return std::string_view{GetParam()} == "uring"; }

  static std::string threads() { return by_rings() ? "0" : by_uring() ? "1" : GetParam(); }

  // "auto" is io_uring, or epoll where the kernel allows no other.
  static std::string backend() { return by_uring() ? "auto" : "epoll"; }

  static double calls_max() { return threads() == "0" ? 0.1 : 0.25; }

  // Slots of a frame behind a name of odd length are copied once more. With io_uring the kernel
  // fills buffers of the ring, so frames are copied out of them.
  static double copies_in_max() { return by_uring() ? 2.1 : 1.1; }

  client::Client connect_by_param() const {
    client::ClientOptions options;
    options.endpoints = chaos::endpoints_of(
        *cluster_, by_rings() ? chaos::ClientWay::Shm : chaos::ClientWay::Tcp, 1);
    options.request_timeout = kPatience;
    options.connect_timeout = kPatience;
    auto client = client::Client::connect(std::move(options));
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    return std::move(client).value();
  }

  // The shard of all names is the first one's, or whichever.
  std::vector<std::string> names(bool one_shard) const {
    std::vector<std::string> names;
    for (int number = 0; names.size() < (one_shard ? kOneShard : kBatch); ++number) {
      std::string name = "batch/" + std::to_string(number);
      if (!one_shard || names.empty() || home(name) == home(names.front())) {
        names.push_back(std::move(name));
      }
    }
    return names;
  }

  static void run(client::Session& session, const std::vector<std::string>& names, int batches) {
    for (int batch = 0; batch < batches; ++batch) {
      auto outcomes = session.acquire_many(names);
      ASSERT_TRUE(outcomes.ok()) << outcomes.status().to_string();
      auto locks = client::granted(std::move(outcomes).value());
      ASSERT_EQ(locks.size(), names.size());
      const auto released = client::Session::release_many(locks);
      ASSERT_TRUE(released.ok()) << released.status().to_string();
    }
  }

  static double number(const Json& cost, const char* name) {
    return std::stod(cost[std::string_view{name}].dump());
  }

  // Sum over the nodes of a metric with this text in front of its value.
  double total(const std::string& sample) const {
    double sum = 0;
    for (std::uint32_t node = 1; node <= kNodes; ++node) {
      HttpClient http({"127.0.0.1", std::to_string(cluster_->metrics_port(node))});
      const auto page = http.get("/metrics", {.timeout = kPatience, .body_bytes_max = 16u << 20});
      EXPECT_TRUE(page.ok()) << page.status().to_string();
      std::istringstream lines{page.ok() ? page.value().body : std::string{}};
      for (std::string line; std::getline(lines, line);) {
        sum += line.starts_with(sample + " ") ? std::stod(line.substr(sample.size() + 1)) : 0.0;
      }
    }
    return sum;
  }
};

TEST_P(BatchCostProcessTest, ABatchStaysWithinItsBudget) {
  client::Client client = connect_by_param();
  ASSERT_TRUE(client.wait_for_all_nodes(kPatience).ok());
  if (by_uring() && total("gcoord_server_io_threads{backend=\"io_uring\"}") == 0) {
    GTEST_SKIP() << "skipped: the kernel allows no io_uring";
  }
  client::Session session = open(client);
  const auto names = this->names(false);
  run(session, names, 5);  // Who leads is known then.
  NodeCostMeter meter(client);
  const auto before = client.statistics();
  run(session, names, kBatches);
  const auto after = client.statistics();
  const Json cost = meter.cost(kBatch * kBatches);
  ASSERT_FALSE(cost.is_null());
  SCOPED_TRACE(cost.dump(1));
  const double frames = static_cast<double>(after.frames - before.frames);
  EXPECT_LT(frames, 2.0 * kBatches * kNodes * 1.2) << "one for each node, call and keep-alive";
  // Reports and keep-alives are requests, too; a few of them.
  EXPECT_GE(number(cost, "requests_per_frame"), kBatch / kNodes * 0.8);
  EXPECT_LT(number(cost, "socket_calls_per_request"), calls_max());
  EXPECT_LE(number(cost, "copies_in"), copies_in_max()) << "from the kernel or the ring";
  EXPECT_LE(number(cost, "copies_out"), 2.1) << "into a frame, to the kernel or the ring";
  EXPECT_GE(std::stod(cost["requests"].text()), 2.0 * kBatch * kBatches);
}

// How they come makes no difference.
class OneShardCostProcessTest : public BatchCostProcessTest {};

TEST_P(OneShardCostProcessTest, CommandsOfOneShardAreProposedTogether) {
  client::Client client = connect(1);
  ASSERT_TRUE(client.wait_for_all_nodes(kPatience).ok());
  client::Session session = open(client);
  const auto names = this->names(true);
  run(session, names, 5);
  const std::string appends = "gcoord_server_messages_out_total{kind=\"append\"}";
  const double proposals_before = total("gcoord_server_proposals_total");
  const double appends_before = total(appends);
  run(session, names, kBatches);
  const double proposals = total("gcoord_server_proposals_total") - proposals_before;
  const double messages = total(appends) - appends_before;
  EXPECT_GE(proposals, 2.0 * kOneShard * kBatches);
  // Alone each would be sent to two followers.
  EXPECT_LT(messages / proposals, 0.25) << messages << " of " << proposals;
}

INSTANTIATE_TEST_SUITE_P(Ways, BatchCostProcessTest, testing::Values("0", "1", "uring", "shm"));
INSTANTIATE_TEST_SUITE_P(IoThreads, OneShardCostProcessTest, testing::Values("0", "1"));

}  // namespace
}  // namespace gcoord::cli
