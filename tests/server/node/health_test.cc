#include "server/node/health.h"

#include "tests/notify_socket.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace gcoord::server {
namespace {

class NodeHealthTest : public testing::Test {
 protected:
  NodeHealthTest() {
    auto opened = NodeLedger::open({.cluster = ClusterId{7},
                                    .node = NodeId{1},
                                    .nodes = {NodeId{1}, NodeId{2}, NodeId{3}},
                                    .shard_count = 4,
                                    .data_directory = folder_.path().string(),
                                    .silent_for = kWitnessPublishesNothing},
                                   metrics_);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    ledger_ = std::move(opened).value();
    view_.peers.resize(2);
    view_.peers[0].link.id = NodeId{2};
    view_.peers[1].link.id = NodeId{3};
    view_.peers[0].live = true;
  }

  HealthCheck look(const std::string& name, std::uint64_t now_ms) {
    health_.on_look(view_, *ledger_, now_ms);
    return check(name);
  }

  HealthCheck check(const std::string& name) const {
    for (const HealthCheck& each : health_.board().report().checks) {
      if (each.name == name) {
        return each;
      }
    }
    return {};
  }

  const ScratchFolder folder_;
  MetricsRegistry metrics_;
  std::unique_ptr<NodeLedger> ledger_;
  NodeView view_;
  NodeHealth health_;
};

TEST_F(NodeHealthTest, ALookIsDueOnceASecond) {
  EXPECT_TRUE(health_.on_turn(5'000'000));
  EXPECT_FALSE(health_.on_turn(5'999'999));
  EXPECT_TRUE(health_.on_turn(6'000'000));
}

TEST_F(NodeHealthTest, WithoutAMajorityANodeIsNotReadyAndNamesWhomItDoesNotHear) {
  EXPECT_TRUE(look("majority", 1).ok);
  EXPECT_TRUE(health_.board().report().ready);
  view_.peers[0].live = false;
  view_.peers[0].link.address = "10.0.0.2:7500";
  view_.peers[0].link.last_error = "cannot connect";
  const HealthCheck told = look("majority", 2);
  EXPECT_FALSE(told.ok);
  EXPECT_EQ(told.detail.find("not heard: node 2 at 10.0.0.2:7500 (cannot connect)"), 0u);
  EXPECT_FALSE(health_.board().report().ready);
}

TEST_F(NodeHealthTest, ADiskThatStandsStillIsFoundAndOneThatIsSlowIsNot) {
  view_.submitted_lsn = ledger::Lsn{9};
  view_.durable_lsn = ledger::Lsn{3};
  EXPECT_TRUE(look("disk", 1000).ok);
  EXPECT_TRUE(look("disk", 1000 + kDiskLimitMs - 1).ok);
  EXPECT_FALSE(look("disk", 1000 + kDiskLimitMs).ok);
  EXPECT_FALSE(health_.board().report().ready);
  view_.durable_lsn = ledger::Lsn{4};  // Some headway.
  EXPECT_TRUE(look("disk", 7000).ok);
  view_.durable_lsn = view_.submitted_lsn;
  EXPECT_TRUE(look("disk", 7000 + kDiskLimitMs).ok);  // Nothing waits.
}

TEST_F(NodeHealthTest, ALedgerThatPublishesNothingIsNoFault) {
  const HealthCheck told = look("ledger", 1);
  EXPECT_TRUE(told.ok);
  EXPECT_FALSE(told.required);
  EXPECT_EQ(told.detail.find("publishes nothing: "), 0u);
}

TEST_F(NodeHealthTest, AnAlarmIsToldAndLeavesTheNodeHealthy) {
  EXPECT_TRUE(look("alarms", 1).ok);
  health_.set_alarms("node 3 is suspect for 400 s: start it again, or replace it");
  const HealthCheck told = look("alarms", 2);
  EXPECT_FALSE(told.ok);
  EXPECT_FALSE(told.required);
  EXPECT_EQ(told.detail, "node 3 is suspect for 400 s: start it again, or replace it");
  EXPECT_TRUE(health_.board().report().ready);
  health_.set_alarms("");
  EXPECT_TRUE(look("alarms", 3).ok);
}

TEST_F(NodeHealthTest, ANodeThatStopsIsNotReadyAndLooksNoMore) {
  EXPECT_TRUE(look("serves", 1).ok);
  health_.on_stopping("SIGTERM");
  EXPECT_EQ(check("serves").detail, "stopping: SIGTERM");
  EXPECT_FALSE(health_.board().report().ready);
  EXPECT_FALSE(health_.on_turn(99'000'000));
}

TEST_F(NodeHealthTest, ANodeThatIsOpenedAnewIsNotReadyAndTellsSystemdNoEnd) {
  const ScratchFolder folder;
  NotifySocket systemd(folder.path("notify"));
  ::setenv("NOTIFY_SOCKET", folder.path("notify").c_str(), 1);
  NodeHealth health;
  ::unsetenv("NOTIFY_SOCKET");
  health.on_reopening("a fault of the GPU");
  EXPECT_EQ(systemd.next(), "STATUS=opens anew: a fault of the GPU");
  EXPECT_FALSE(systemd.waits());
  EXPECT_FALSE(health.board().report().ready);
  EXPECT_FALSE(health.on_turn(99'000'000));
}

}  // namespace
}  // namespace gcoord::server
