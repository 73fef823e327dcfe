// What a broken or malicious peer can put into frames, and what comes of it: nothing but counts.
#include "common/random.h"
#include "server/host_turn/inflow.h"
#include "server/replicas/shard_codec.h"
#include "tests/server/host_turn/engine_cluster.h"

namespace gcoord::server {
namespace {

using consensus::Message;
using consensus::MessageKind;
using netcore::Band;
using netcore::Slot;

constexpr std::uint32_t kShardCount = 4;

class EngineInflowTest : public testing::Test {
 protected:
  void deliver(const Message& message, Band band, NodeId from = NodeId{2}) {
    Slot slot;
    std::memcpy(slot.bytes, &message, sizeof message);
    inflow_.on_frame(from, band, {&slot, 1}, {});
  }

  Message valid() const {
    Message message;
    message.kind = MessageKind::PreVote;
    message.shard = ShardId{1};
    message.from = NodeId{2};
    message.to = NodeId{1};
    message.term = Term{1};
    return message;
  }

  std::uint64_t dropped(ReplicaDrop reason) { return metrics_.dropped(reason).value(); }

  MetricsRegistry registry_;
  ReplicaMetrics metrics_{registry_};
  ToyService service_;
  const consensus::RowMap map_{kShardCount};
  ActiveRows rows_{kShardCount};
  Arrivals arrivals_{{.messages = 100, .extent_bytes = 10'000, .row_count = 1000}};
  ReplicaInflow inflow_{{NodeId{1}, {{map_, rows_, arrivals_}}, {}, service_, metrics_},
                        {.up = [](NodeId) {},
                         .down = [](NodeId) {},
                         .refused = [](NodeId, const netcore::Refusal&) {}}};
};

TEST_F(EngineInflowTest, AValidMessageReachesItsRow) {
  deliver(valid(), Band::Consensus);
  EXPECT_TRUE(rows_.waiting());
  EXPECT_NE(rows_.find(1)->message_first, 0u);
}

TEST_F(EngineInflowTest, MessagesThatCannotBeAreDroppedAndCounted) {
  Message message = valid();
  message.shard = ShardId{kShardCount};
  deliver(message, Band::Consensus);
  message = valid();
  message.kind = static_cast<MessageKind>(99);
  deliver(message, Band::Consensus);
  message = valid();
  message.from = NodeId{3};
  deliver(message, Band::Consensus);
  message = valid();
  message.to = NodeId{2};
  deliver(message, Band::Consensus);
  message = valid();
  message.count = 1;
  deliver(message, Band::Consensus);
  message = valid();
  message.kind = MessageKind::Snapshot;
  deliver(message, Band::Consensus);
  deliver(valid(), Band::Bulk);
  EXPECT_EQ(dropped(ReplicaDrop::BadMessage), 7u);
  deliver(valid(), Band::Control);
  EXPECT_EQ(dropped(ReplicaDrop::BandUnknown), 1u);
  EXPECT_FALSE(rows_.waiting());
}

TEST_F(EngineInflowTest, AMessageGoesToTheRowOfItsShardOrIsDroppedWhereThatIsNotHere) {
  constexpr std::array<std::uint8_t, 2> kSlicesHere = {3, 9};
  const consensus::RowMap map(700, kSlicesHere.data(), kSlicesHere.size());
  ActiveRows rows(map.row_count());
  ReplicaInflow inflow({NodeId{1}, {{map, rows, arrivals_}}, {}, service_, metrics_},
                       {.up = [](NodeId) {},
                        .down = [](NodeId) {},
                        .refused = [](NodeId, const netcore::Refusal&) {}});
  for (const std::uint32_t shard : {265u, 1u, 4u, 266u, 699u, 701u, 771u}) {
    Message message = valid();
    message.shard = ShardId{shard};
    Slot slot;
    std::memcpy(slot.bytes, &message, sizeof message);
    inflow.on_frame(NodeId{2}, Band::Consensus, {&slot, 1}, {});
    message.kind = MessageKind::Snapshot;
    std::memcpy(slot.bytes, &message, sizeof message);
    inflow.on_frame(NodeId{2}, Band::Bulk, {&slot, 1}, {});
  }
  EXPECT_EQ(dropped(ReplicaDrop::BadMessage), 12u);
  EXPECT_EQ(dropped(ReplicaDrop::BadChunk), 1u);  // The shard is here, the chunk is none.
  ASSERT_NE(rows.find(3), nullptr);
  EXPECT_EQ(rows.message(rows.take_message(*rows.find(3))).message.shard, ShardId{265});
  for (const std::uint32_t row : {0u, 1u, 2u, 4u, 5u}) {
    EXPECT_EQ(rows.find(row), nullptr) << row;
  }
}

TEST_F(EngineInflowTest, AnAppendWithoutItsEntriesIsDropped) {
  Message message = valid();
  message.kind = MessageKind::Append;
  message.count = 3;
  deliver(message, Band::Consensus);
  EXPECT_EQ(dropped(ReplicaDrop::BadEntries), 1u);
  EXPECT_FALSE(rows_.waiting());
}

// A node that shares a cluster with an engine and says whatever the seed says.
class HostilePeer final : public netcore::Sink {
 public:
  explicit HostilePeer(netcore::LoopbackFabric& fabric) {
    netcore::PeerNetworkOptions options;
    options.cluster = ClusterId{77};
    options.node = NodeId{2};
    options.incarnation = Incarnation{1};
    options.directory = netcore::DirectoryId{9};
    options.settings = {kShardCount, 10, 1000, 2};
    options.listen_host = "loop";
    options.listen_port = 7002;
    options.peers = {{NodeId{1}, "loop", 7001}};
    options.transport = fabric.endpoint();
    network_ = netcore::PeerNetwork::create(std::move(options)).value();
  }

  void progress(std::uint64_t now_ms) { network_->progress(now_ms, *this); }

  void speak(std::uint64_t seed, std::uint64_t tick) {
    network_->heartbeat(NodeId{1},
                        {.incarnation = Incarnation{1},
                         .send_tick = Tick{tick},
                         .echoed_peer_send_tick = heard_,
                         .echoed_incarnation = Incarnation{1}});
    std::vector<Slot> slots;
    std::vector<std::byte> extent;
    for (std::uint64_t k = 0; k < 16; ++k) {
      const Message message = draw(seed * 1000 + k, extent);
      std::memcpy(slots.emplace_back().bytes, &message, sizeof message);
    }
    const Band band = seed % 8 == 0 ? Band::Bulk : Band::Consensus;
    std::vector<netcore::PayloadExtent> payloads;
    for (std::uint32_t k = 0; k < slots.size() && !extent.empty(); k += 3) {
      payloads.push_back({k, extent});
    }
    network_->send(NodeId{1}, band, slots, payloads);
    network_->flush();
  }

  void on_frame(NodeId, Band, std::span<const Slot>, const netcore::PayloadView&) override {}

  void on_heartbeat(NodeId, const netcore::Heartbeat& heartbeat) override {
    heard_ = heartbeat.send_tick;
  }

  void on_peer_up(NodeId, Incarnation, std::uint32_t) override {}

  void on_peer_down(NodeId, std::string_view) override {}

 private:
  // Half plausible: small numbers where small numbers are, and noise now and then.
  static Message draw(std::uint64_t seed, std::vector<std::byte>& extent) {
    const auto word = [&](std::uint64_t stream, std::uint64_t bound) {
      const std::uint64_t drawn = random64(seed, stream, 0);
      return random64(seed, stream, 1) % 16 == 0 ? drawn : drawn % bound;
    };
    Message message;
    message.kind = static_cast<MessageKind>(word(1, consensus::kMessageKindLast + 1));
    message.shard = ShardId{static_cast<std::uint32_t>(word(2, kShardCount))};
    message.from = NodeId{2};
    message.to = NodeId{1};
    message.flags = static_cast<std::uint8_t>(word(3, 16));
    message.count = static_cast<std::uint16_t>(word(4, 3));
    message.term = Term{word(5, 6)};
    message.index = LogIndex{word(6, 8)};
    message.log_term = Term{word(7, 6)};
    message.commit = LogIndex{word(8, 8)};
    message.entry_term = word(9, 6);
    message.context = word(10, 100);
    extent.clear();
    for (std::uint16_t k = 0; k < message.count % 4; ++k) {
      encode_entry(extent, {.kind = consensus::EntryKind::Command});
    }
    return message;
  }

  std::unique_ptr<netcore::PeerNetwork> network_;
  Tick heard_;
};

TEST(EngineHostile, APeerThatLiesBreaksNothingButItsOwnCluster) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EngineCluster cluster(2, kShardCount);
    cluster.start(1);
    HostilePeer peer(cluster.fabric());
    for (std::uint64_t round = 1; round <= 300; ++round) {
      peer.progress(round * 10);
      peer.speak(seed * 1000 + round, round);
      cluster.engine(1).turn();
      cluster.advance_ms(10);
    }
    EXPECT_TRUE(cluster.engine(1).failure().ok()) << "seed " << seed;
    EXPECT_GT(cluster.count(1, "gcoord_server_dropped_total"), 0u);
  }
}

}  // namespace
}  // namespace gcoord::server
