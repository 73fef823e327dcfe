// Groups of nodes with --turn resident, by the twins of the devices, after the nodes that had them
// were killed: from the log of record in durable mode, and from other hosts in memory mode.
#include "gcoord/client.h"
#include "gcoord/group.h"
#include "tests/cli/resident_cluster.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

constexpr std::uint32_t kGroups = 8;  // In several shards.

class ResidentGroupProcessTest : public ResidentProcessTest {
 protected:
  using ResidentProcessTest::ResidentProcessTest;

  void SetUp() override {
    client::ClientOptions options;
    options.endpoints = cluster_->endpoints();
    options.request_timeout = kPatience;
    options.connect_timeout = kPatience;
    options.wait_for_cluster = true;
    auto connected = client::Client::connect(std::move(options));
    ASSERT_TRUE(connected.ok()) << connected.status().to_string();
    client_.emplace(std::move(connected).value());
    for (std::uint32_t k = 0; k < 2; ++k) {
      auto session = client_->open_session({.ttl = std::chrono::minutes{5}, .on_event = {}});
      ASSERT_TRUE(session.ok()) << session.status().to_string();
      sessions_.push_back(std::move(session).value());
    }
    for (std::uint32_t k = 0; k < kGroups; ++k) {
      join(k, 0);
      join(k, 1);
    }
    EXPECT_TRUE(client::Group(sessions_[0], name(0)).leave().ok());
  }

  static std::string name(std::uint32_t k) { return "group" + std::to_string(k); }

  void join(std::uint32_t k, std::uint32_t session) {
    client::Group group{sessions_[session], name(k)};
    const auto joined = group.join("m" + std::to_string(session), "at");
    ASSERT_TRUE(joined.ok()) << joined.status().to_string();
  }

  // Epoch, ids and payloads of each.
  std::string views() {
    std::string text;
    for (std::uint32_t k = 0; k < kGroups; ++k) {
      client::GroupViews views{*client_, name(k)};
      const auto now = views.now();
      EXPECT_TRUE(now.ok()) << now.status().to_string();
      if (!now.ok()) {
        return {};
      }
      text += name(k) + " " + std::to_string(now.value().epoch);
      for (const client::GroupMember& member : now.value().members) {
        text += " " + member.id + "=" + member.payload;
      }
      text += "\n";
    }
    return text;
  }

  // Whoever left comes back in a view of its own; a barrier of both goes on.
  void go_on() {
    const auto before = views();
    join(0, 0);
    EXPECT_NE(views(), before);
    client::Group first{sessions_[0], name(1)};
    client::Group second{sessions_[1], name(1)};
    auto arrived = first.barrier_async({.size = 2, .timeout = kPatience});
    EXPECT_TRUE(second.barrier({.size = 2, .timeout = kPatience}).ok());
    EXPECT_TRUE(arrived.get().ok());
  }

  std::optional<client::Client> client_;
  std::vector<client::Session> sessions_;
};

class DurableResidentGroups : public ResidentGroupProcessTest {
 protected:
  DurableResidentGroups() : ResidentGroupProcessTest({.durability = "durable"}) {}
};

TEST_F(DurableResidentGroups, TheViewsAreThereAfterAllNodesWereKilled) {
  const std::string before = views();
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_->kill(node);
  }
  for (std::uint32_t node = 1; node <= 3; ++node) {
    ASSERT_TRUE(cluster_->spawn(node).ok());
  }
  EXPECT_EQ(views(), before);
  go_on();
}

class MemoryResidentGroups : public ResidentGroupProcessTest {};

// In the end each node has the groups from another host.
TEST_F(MemoryResidentGroups, TheViewsAreThereAfterEachNodeWasKilledInTurn) {
  const std::string before = views();
  for (std::uint32_t node = 1; node <= 3; ++node) {
    cluster_->kill(node);
    EXPECT_EQ(views(), before) << node;
    restart(node);
    wait_until_whole();
  }
  EXPECT_EQ(views(), before);
  go_on();
}

}  // namespace
}  // namespace gcoord::cli
