// What peers write into the channels of a resident turn and no peer should have: dropped, counted
// while the turn goes on, and still counted when the channel has been replaced.
#include "server/resident/links/link_metrics.h"

#include "netcore/memory/order.h"
#include "tests/server/resident/engine/resident_world.h"

namespace gcoord::server {
namespace {

using netcore::Band;
using netcore::DropReason;

class ResidentChannelMetricsTest : public testing::Test {
 protected:
  ResidentChannelMetricsTest() { world_.turns(3000); }

  // Node 2 writes a stamp over all of lane 0 in the memory of node 1.
  void scribble(std::uint32_t stamp) {
    const ResidentNode& writer = *world_.nodes[1].memory;
    const auto wires = netcore::wires_of(
        writer.view().channel[peer_place(NodeId{2}, NodeId{1})], Band::Consensus, 0);
    for (std::uint32_t place = 0; place < writer.options().ring_slots; ++place) {
      for (netcore::Packet& packet : wires.peer_slots[place].packet) {
        netcore::SystemOrder::put(packet, {.stamp = stamp});
      }
    }
  }

  std::uint32_t epoch() const { return world_.nodes[1].memory->epoch(NodeId{1}); }

  std::uint64_t dropped(const char* reason) {
    metrics_.tell(world_.nodes[0].memory->channel_counts());
    return registry_.counter({"gcoord_server_resident_channel_dropped_total", "", "reason", reason})
        .value();
  }

  ResidentWorld world_{11};
  MetricsRegistry registry_;
  ResidentChannelMetrics metrics_{registry_};
};

TEST_F(ResidentChannelMetricsTest, AWordBeyondAllCreditIsCountedOnceAndOutlivesItsChannel) {
  EXPECT_EQ(dropped("credit_overrun"), 0u);
  scribble(netcore::packet_stamp(epoch(), 7));
  world_.turns(3000);
  EXPECT_EQ(world_.nodes[0].memory->fault(NodeId{2}), DropReason::CreditOverrun);
  EXPECT_EQ(dropped("credit_overrun"), 1u);
  world_.rejoin(0, 1);
  world_.turns(3000);
  EXPECT_EQ(world_.nodes[0].memory->fault(NodeId{2}), DropReason::None);
  EXPECT_EQ(dropped("credit_overrun"), 1u);
}

TEST_F(ResidentChannelMetricsTest, WordsOfAnotherEpochAreCountedAndStopNothing) {
  scribble(netcore::packet_stamp(epoch() + 1, 0));
  world_.turns(3000);
  EXPECT_GT(dropped("stale_epoch"), 0u);
  EXPECT_EQ(world_.nodes[0].memory->fault(NodeId{2}), DropReason::None);
  const ShardId shard = shard_of_name("served");
  EXPECT_EQ(world_.ask(shard, acquire("served", 5, 1)).decision.code, locks::LockCode::Granted);
}

TEST_F(ResidentChannelMetricsTest, IsDueTenTimesASecond) {
  EXPECT_TRUE(metrics_.due(1000));
  EXPECT_FALSE(metrics_.due(1099));
  EXPECT_TRUE(metrics_.due(1100));
}

}  // namespace
}  // namespace gcoord::server
