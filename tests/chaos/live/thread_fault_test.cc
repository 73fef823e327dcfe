// One thread of a real node stops while its others go on, as live chaos does it: the others lead;
// the node comes back, or ends itself once it cannot end a turn for ten seconds.
#include "chaos/check/history_file.h"
#include "chaos/live/fault.h"
#include "chaos/process/own_path.h"
#include "chaos/process/thread_stop.h"
#include "common/host/child_process.h"
#include "gcoord/client.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace gcoord::chaos {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kPatience{60};
constexpr std::uint64_t kSeed = 1;

// Three nodes of three turn threads each, which a client keeps busy.
class ThreadFaultTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!thread_stop_obstacle().empty()) {
      GTEST_SKIP() << thread_stop_obstacle();
    }
    start_cluster();
    client_ = connect();
    ASSERT_TRUE(client_->wait_for_all_nodes(kPatience).ok());
    await_leaders();
    busy_ = std::thread([this] { keep_busy(); });
    auto history = HistoryWriter::open(directory_.path() / "history");
    ASSERT_TRUE(history.ok());
    history_ = std::move(history).value();
  }

  void TearDown() override {
    ends_ = true;
    if (busy_.joinable()) {
      busy_.join();
    }
    if (cluster_.has_value()) {
      cluster_->stop_all(kPatience);
    }
  }

  void start_cluster() {
    auto planned = LocalCluster::plan({.program = program_beside("gcoordd"),
                                       .directory = directory_.path(),
                                       .shards = 64,
                                       .node_arguments = {"--turn-threads", "3"}});
    ASSERT_TRUE(planned.ok()) << planned.status().to_string();
    cluster_.emplace(std::move(planned).value());
    std::vector<std::uint16_t> ports;
    for (std::uint32_t node = 1; node <= cluster_->node_count(); ++node) {
      ports.push_back(cluster_->peer_port(node));
    }
    auto proxies = LinkProxies::start(ports, 1);
    ASSERT_TRUE(proxies.ok());
    proxies_ = std::move(proxies).value();
    cluster_->route_peers([this](auto from, auto to) { return proxies_->port(from, to); });
    const Status started = cluster_->start_all(kPatience);
    ASSERT_TRUE(started.ok()) << started.to_string();
  }

  std::unique_ptr<client::Client> connect() const {
    client::ClientOptions options;
    options.endpoints = cluster_->endpoints();
    auto client = client::Client::connect(options);
    EXPECT_TRUE(client.ok());
    return std::make_unique<client::Client>(std::move(client).value());
  }

  // Locks and unlocks, so that every node's log of record has something to write.
  void keep_busy() {
    const auto client = connect();
    for (int round = 0; !ends_; ++round) {
      const auto lease = client->take_lease("name-" + std::to_string(round % 16));
      static_cast<void>(lease);
    }
  }

  LiveWorld world() {
    return {.cluster = *cluster_,
            .proxies = *proxies_,
            .shims = shims_,
            .client = *client_,
            .history = *history_,
            .clients = clients_,
            .program = program_beside("gcoordd"),
            .library = {},
            .session_ttl = 5s};
  }

  // All nodes answer, and lead all shards together.
  void await_leaders() {
    const AllLedOptions all{.node_ids = {1, 2, 3}, .shards = 64, .timeout = kPatience};
    const auto led = wait_all_led(*client_, std::chrono::steady_clock::now(), all);
    EXPECT_TRUE(led.ok()) << led.status().to_string();
  }

  // The number of a strike that stops a turn thread for good, which it draws first, or for a while.
  static std::uint64_t strike_number(bool for_good) {
    std::uint64_t number = 1;
    while (Draw{kSeed, number}.one_in(2) != for_good) {
      ++number;
    }
    return number;
  }

  // One strike of a class; what came of it. Holds for no time: what is waited for are events.
  static std::string strike(LiveWorld& world, const std::string& name, std::uint64_t number) {
    const auto classes = thread_faults({});
    const auto found = std::ranges::find(classes, name, &FaultClass::name);
    if (found == classes.end() || found->make == nullptr) {
      ADD_FAILURE() << name << " cannot be injected";
      return {};
    }
    world.claimed.clear();
    const auto fault = found->make();
    Draw draw{kSeed, number};
    const auto injected = fault->inject(world, draw);
    EXPECT_TRUE(injected.ok()) << injected.status().to_string();
    const auto healed = fault->heal(world);
    EXPECT_TRUE(healed.ok()) << healed.status().to_string();
    EXPECT_EQ(fault->felt(), 1u);
    return (injected.ok() ? injected.value() : "") + "; " + (healed.ok() ? healed.value() : "");
  }

  const ScratchFolder directory_;
  std::optional<LocalCluster> cluster_;
  std::unique_ptr<LinkProxies> proxies_;
  std::vector<std::unique_ptr<ShimPage>> shims_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<HistoryWriter> history_;
  std::vector<ChildProcess> clients_;
  std::atomic<bool> ends_{false};
  std::thread busy_;
};

TEST_F(ThreadFaultTest, TheOthersLeadAndTheNodeComesBackOrEndsItself) {
  LiveWorld world = this->world();
  const std::string logged = strike(world, "log-thread", 1);
  EXPECT_NE(logged.find("it goes on"), std::string::npos) << logged;
  await_leaders();
  const std::string back = strike(world, "turn-thread", strike_number(false));
  EXPECT_NE(back.find("it goes on"), std::string::npos) << back;
  await_leaders();
  const std::string ended = strike(world, "turn-thread", strike_number(true));
  EXPECT_NE(ended.find("it ended itself"), std::string::npos) << ended;
  await_leaders();
}

}  // namespace
}  // namespace gcoord::chaos
