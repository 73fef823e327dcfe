// The device channel on devices: one and two processes, one and two GPUs, peers that stop, die and
// lie while kernels run. Needs a GPU; where there is none, every case says so and is skipped.
#include "netcore/device/gpu_device.h"

#include "chaos/gpu/gpu_peer.h"
#include "netcore/device/node_facts.h"
#include "netcore/probe/channel_probe_job.h"
#include "tests/netcore/gpu_channel/gpu_test.h"
#include "tests/netcore/gpu_channel/lane_samples.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace gcoord::netcore {
namespace {

using chaos::GpuPeer;
using chaos::PeerOrder;
using chaos::ProbeSummary;
using chaos::summary_of;

constexpr std::uint32_t kLanes = 8;

class GpuDevice : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) {
      return;
    }
    // The last device, so that a peer on the first is another one where there are two.
    device_ = count_ - 1;
    auto memory = make_gpu_memory(device_);
    ASSERT_TRUE(memory.ok()) << memory.status().to_string();
    registry_.emplace(std::move(memory).value());
  }

  GpuChannelPair loopback(std::uint32_t epoch = kSampleEpoch) {
    GpuChannelOptions options;
    options.layout = sample_layout(kLanes, 128);
    options.epoch = epoch;
    auto pair = make_gpu_loopback(*registry_, options);
    EXPECT_TRUE(pair.ok()) << pair.status().to_string();
    return std::move(pair).value();
  }

  std::unique_ptr<ProbeJob> start(ProbeKind kind,
                                  const GpuChannelDevice& channel,
                                  const ProbeOptions& probe,
                                  std::uint32_t lanes = kLanes) {
    ProbeJobOptions options;
    options.device = device_;
    options.kind = kind;
    options.channel = channel;
    options.probe = probe;
    options.lane_count = lanes;
    auto job = ProbeJob::start(options);
    EXPECT_TRUE(job.ok()) << job.status().to_string();
    return std::move(job).value();
  }

  static ProbeSummary end(ProbeJob& job) {
    const auto results = job.finish();
    EXPECT_TRUE(results.ok()) << results.status().to_string();
    return results.ok() ? summary_of(results.value()) : ProbeSummary{};
  }

  static std::uint32_t lanes_with(const ProbeSummary& summary, WaitStatus status) {
    return summary.lanes_by_status[static_cast<std::size_t>(status)];
  }

  // The device still works: a fresh pair streams without a wrong word.
  void expect_healthy() {
    const GpuChannelPair pair = loopback(99);
    const auto receiver = start(ProbeKind::Receive, pair.second->device(), stream(1'000));
    const auto sender = start(ProbeKind::Send, pair.first->device(), stream(1'000));
    EXPECT_EQ(end(*sender).slots, 1'000u * kLanes);
    const ProbeSummary received = end(*receiver);
    EXPECT_EQ(received.slots, 1'000u * kLanes);
    EXPECT_EQ(received.wrong_words, 0u);
  }

  static ProbeOptions stream(std::uint64_t slots, std::uint32_t payload_bytes = 0) {
    ProbeOptions options;
    options.slot_count = slots;
    options.payload_bytes = payload_bytes;
    options.seed = 5;
    options.timeout_ns = 10 * kSecondNs;
    return options;
  }

  static ProbeOptions endless(std::uint64_t timeout_ns) {
    ProbeOptions options = stream(~std::uint64_t{0} >> 1);
    options.timeout_ns = timeout_ns;
    return options;
  }

  static PeerOrder order(ProbeKind kind, const ProbeOptions& probe) {
    PeerOrder order;
    order.kind = kind;
    order.probe = probe;
    order.lane_count = kLanes;
    return order;
  }

  std::uint32_t device_ = 0;
  std::optional<MemoryRegistry> registry_;
};

TEST_F(GpuDevice, StreamsSlotsAndPayloadsWithoutAWrongWord) {
  for (const std::uint32_t payload : {0u, 16u, 4096u, kLanePayloadBytesMax}) {
    const GpuChannelPair pair = loopback();
    const ProbeOptions options = stream(payload == 0 ? 200'000 : 2'000, payload);
    const auto receiver = start(ProbeKind::Receive, pair.second->device(), options);
    const auto sender = start(ProbeKind::Send, pair.first->device(), options);
    EXPECT_EQ(end(*sender).slots, options.slot_count * kLanes);
    const ProbeSummary received = end(*receiver);
    EXPECT_EQ(received.slots, options.slot_count * kLanes);
    EXPECT_EQ(received.wrong_words, 0u) << payload << " bytes of payload";
    EXPECT_EQ(pair.second->counts().received.slots, received.slots);
    EXPECT_EQ(pair.second->fault(), DropReason::None);
  }
}

TEST_F(GpuDevice, TwoProcessesOfThisHostChooseNvlinkAndSayWhy) {
  const auto own = own_gpu_node_facts(device_);
  auto peer = own_gpu_node_facts(0);
  ASSERT_TRUE(own.ok() && peer.ok());
  peer.value().process_id += 1;
  EXPECT_EQ(choose_gpu_link(facts_between(own.value(), peer.value())).to_text(),
            "nvlink: both devices are on this host and reach each other");
  EXPECT_EQ(choose_gpu_link(facts_between(own.value(), own.value())).kind, GpuLinkKind::Loopback);
}

TEST_F(GpuDevice, EchoesEverySlotWhole) {
  const GpuChannelPair pair = loopback();
  const auto pong = start(ProbeKind::Pong, pair.second->device(), stream(5'000), 1);
  const auto ping = start(ProbeKind::Ping, pair.first->device(), stream(5'000), 1);
  const ProbeSummary pinged = end(*ping);
  EXPECT_EQ(pinged.slots, 5'000u);
  EXPECT_EQ(pinged.wrong_words, 0u);
  EXPECT_EQ(end(*pong).slots, 5'000u);
}

TEST_F(GpuDevice, AWaitingKernelLeavesAtItsDeadlineAtAnAbortAndAtTheEndOfTheEpoch) {
  const GpuChannelPair pair = loopback();
  const auto late = start(ProbeKind::Receive, pair.second->device(), endless(kSecondNs / 10));
  EXPECT_EQ(lanes_with(end(*late), WaitStatus::TimedOut), kLanes);

  const auto closed = start(ProbeKind::Receive, pair.second->device(), endless(10 * kSecondNs));
  EXPECT_TRUE(pair.second->close().ok());
  EXPECT_EQ(lanes_with(end(*closed), WaitStatus::EpochChanged), kLanes);

  const auto aborted = start(ProbeKind::Receive, pair.first->device(), endless(10 * kSecondNs));
  EXPECT_TRUE(pair.first->abort().ok());
  EXPECT_EQ(lanes_with(end(*aborted), WaitStatus::Aborted), kLanes);
  expect_healthy();
}

TEST_F(GpuDevice, AKilledPeerEndsNoKernelButByItsDeadline) {
  auto peer = GpuPeer::start(0);
  ASSERT_TRUE(peer.ok()) << peer.status().to_string();
  const auto joined = peer.value()->join(*registry_, sample_layout(kLanes, 128), 3);
  ASSERT_TRUE(joined.ok()) << joined.status().to_string();
  ASSERT_TRUE(peer.value()->run(order(ProbeKind::Send, endless(10 * kSecondNs))).ok());
  const auto before = start(ProbeKind::Receive, joined.value()->device(), stream(50'000));
  const ProbeSummary first = end(*before);
  EXPECT_EQ(first.slots, 50'000u * kLanes);
  const auto during =
      start(ProbeKind::Receive, joined.value()->device(), endless(3 * kSecondNs / 2));
  peer.value()->kill_now();
  const ProbeSummary rest = end(*during);
  EXPECT_EQ(lanes_with(rest, WaitStatus::TimedOut), kLanes);
  EXPECT_EQ(first.wrong_words + rest.wrong_words, 0u);
  // The dead peer's memory stays writable: sending ends at the credit.
  const auto sending = start(ProbeKind::Send, joined.value()->device(), endless(kSecondNs / 10));
  EXPECT_EQ(end(*sending).slots, (128 - kControlReserveSlots) * kLanes);
  expect_healthy();
}

TEST_F(GpuDevice, AStoppedPeersKernelIsWaitedForAndAResumedPeerReconnects) {
  auto peer = GpuPeer::start(0);
  ASSERT_TRUE(peer.ok()) << peer.status().to_string();
  {
    const auto joined = peer.value()->join(*registry_, sample_layout(kLanes, 128), 3);
    ASSERT_TRUE(joined.ok()) << joined.status().to_string();
    // Stopped before it was told to run: nothing comes, and nothing hangs.
    peer.value()->signal(SIGSTOP);
    const auto waiting =
        start(ProbeKind::Receive, joined.value()->device(), endless(kSecondNs / 5));
    EXPECT_EQ(lanes_with(end(*waiting), WaitStatus::TimedOut), kLanes);
    peer.value()->signal(SIGCONT);
    ASSERT_TRUE(peer.value()->run(order(ProbeKind::Send, stream(20'000))).ok());
    const auto resumed = start(ProbeKind::Receive, joined.value()->device(), stream(20'000));
    EXPECT_EQ(end(*resumed).wrong_words, 0u);
    EXPECT_TRUE(peer.value()->finish().ok());
  }
  const std::size_t imported = registry_->bytes_of(MemoryKind::Imported);
  EXPECT_EQ(imported, 0u) << "the mapping of the ended epoch was not released";
  const auto again = peer.value()->join(*registry_, sample_layout(kLanes, 128), 4);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  ASSERT_TRUE(peer.value()->run(order(ProbeKind::Receive, stream(20'000))).ok());
  const auto sender = start(ProbeKind::Send, again.value()->device(), stream(20'000));
  EXPECT_EQ(end(*sender).slots, 20'000u * kLanes);
  const auto received = peer.value()->finish();
  ASSERT_TRUE(received.ok()) << received.status().to_string();
  EXPECT_EQ(received.value().slots, 20'000u * kLanes);
  EXPECT_EQ(received.value().wrong_words, 0u);
}

TEST_F(GpuDevice, SeveralProcessesOnOneDeviceStreamSideBySide) {
  std::vector<std::unique_ptr<GpuPeer>> peers;
  std::vector<std::unique_ptr<GpuChannel>> channels;
  std::vector<std::unique_ptr<ProbeJob>> jobs;
  for (std::uint32_t i = 0; i < 2; ++i) {
    auto peer = GpuPeer::start(device_);
    ASSERT_TRUE(peer.ok()) << peer.status().to_string();
    auto joined = peer.value()->join(*registry_, sample_layout(kLanes, 128), 1);
    ASSERT_TRUE(joined.ok()) << joined.status().to_string();
    ASSERT_TRUE(peer.value()->run(order(ProbeKind::Send, stream(20'000))).ok());
    jobs.push_back(start(ProbeKind::Receive, joined.value()->device(), stream(20'000)));
    peers.push_back(std::move(peer).value());
    channels.push_back(std::move(joined).value());
  }
  for (const auto& job : jobs) {
    const ProbeSummary received = end(*job);
    EXPECT_EQ(received.slots, 20'000u * kLanes);
    EXPECT_EQ(received.wrong_words, 0u);
  }
}

TEST_F(GpuDevice, GarbageAndStaleSlotsInARingStopOneChannelAtMost) {
  const GpuChannelPair bad = loopback();
  const GpuChannelPair stale = loopback();
  const GpuChannelPair good = loopback();
  // Lane 0 of `bad`: a lap that this reader has not granted. Lane 0 of `stale`: another epoch.
  SealedSlot garbage;
  for (Packet& packet : garbage.packet) {
    packet.stamp = packet_stamp(kSampleEpoch, 3);
  }
  const auto bytes = std::as_bytes(std::span{&garbage, 1});
  auto* place = reinterpret_cast<std::byte*>(ring_of(bad.second->device(), Band::Consensus, 0));
  ASSERT_TRUE(registry_->source().write(place, bytes).ok());
  for (Packet& packet : garbage.packet) {
    packet.stamp = packet_stamp(kSampleEpoch - 1, 0);
  }
  place = reinterpret_cast<std::byte*>(ring_of(stale.second->device(), Band::Consensus, 0));
  ASSERT_TRUE(registry_->source().write(place, bytes).ok());

  const auto broken = start(ProbeKind::Receive, bad.second->device(), endless(10 * kSecondNs));
  EXPECT_EQ(lanes_with(end(*broken), WaitStatus::ChannelReset), kLanes);
  EXPECT_EQ(bad.second->fault(), DropReason::CreditOverrun);

  for (const GpuChannelPair* pair : {&stale, &good}) {
    const auto receiver = start(ProbeKind::Receive, pair->second->device(), stream(10'000));
    // Found before anything is sent: the kernel has polled once its lanes spin.
    while (pair == &stale && pair->second->counts().received.stale_epoch == 0 &&
           !receiver->done()) {
      std::this_thread::yield();
    }
    const auto sender = start(ProbeKind::Send, pair->first->device(), stream(10'000));
    const ProbeSummary received = end(*receiver);
    EXPECT_EQ(received.slots, 10'000u * kLanes);
    EXPECT_EQ(received.wrong_words, 0u);
    EXPECT_EQ(end(*sender).slots, 10'000u * kLanes);
  }
  EXPECT_EQ(stale.second->counts().received.stale_epoch, 1u);
}

// What a peer says of the places that it gives back is hostile until it is judged: a cursor beyond
// what was sent, of slots or of payload bytes, and a grant of another epoch.
TEST_F(GpuDevice, GrantsOfWhatWasNeverSentStopOneChannelAtMost) {
  const auto lie = [this](const GpuChannelPair& pair, const Packet& grant) {
    const LaneWires wires = wires_of(pair.first->device(), Band::Consensus, 0);
    auto* place = reinterpret_cast<std::byte*>(wires.own_credit);
    return registry_->source().write(place, std::as_bytes(std::span{&grant, 1})).ok();
  };
  const std::uint32_t stamp = packet_stamp(kSampleEpoch, 0);
  const Packet of_slots{{1u << 20, 0, kSampleEpoch}, stamp};
  const Packet of_payloads{{0, 1u << 20, kSampleEpoch}, stamp};
  for (const Packet& grant : {of_slots, of_payloads}) {
    const GpuChannelPair bad = loopback();
    ASSERT_TRUE(lie(bad, grant));
    const auto sender = start(ProbeKind::Send, bad.first->device(), endless(10 * kSecondNs));
    EXPECT_EQ(lanes_with(end(*sender), WaitStatus::ChannelReset), kLanes);
    EXPECT_EQ(bad.first->fault(), DropReason::CreditOverrun);
    EXPECT_EQ(bad.first->counts().sent.credit_overrun, 1u);
  }
  const GpuChannelPair stale = loopback();
  ASSERT_TRUE(lie(stale, {{1u << 20, 0, kSampleEpoch - 1}, packet_stamp(kSampleEpoch - 1, 0)}));
  const auto receiver = start(ProbeKind::Receive, stale.second->device(), stream(10'000));
  const auto sender = start(ProbeKind::Send, stale.first->device(), stream(10'000));
  EXPECT_EQ(end(*receiver).slots, 10'000u * kLanes);
  EXPECT_EQ(end(*sender).slots, 10'000u * kLanes);
  expect_healthy();
}

TEST_F(GpuDevice, AKernelEchoesThroughAProxyWithAHostThreadAtTheOtherEnd) {
  GpuChannelOptions options;
  options.layout = sample_layout(1, 128);
  options.epoch = 2;
  options.region_kind = MemoryKind::Pinned;
  const auto device_end = GpuChannel::create(*registry_, options);
  options.private_kind = MemoryKind::Pinned;
  const auto host_end = GpuChannel::create(*registry_, options);
  ASSERT_TRUE(device_end.ok() && host_end.ok());
  device_end.value()->attach(host_end.value()->region(), false);
  host_end.value()->attach(device_end.value()->region(), false);
  const auto ping = start(ProbeKind::Ping, device_end.value()->device(), stream(2'000), 1);
  const ProbeResult pong = probe_pong(host_end.value()->device(), 0, stream(2'000));
  EXPECT_EQ(pong.slots, 2'000u);
  const ProbeSummary pinged = end(*ping);
  EXPECT_EQ(pinged.slots, 2'000u);
  EXPECT_EQ(pinged.wrong_words, 0u);
  const auto sender = start(ProbeKind::Send, device_end.value()->device(), stream(50'000, 256), 1);
  const ProbeResult received = probe_receive(host_end.value()->device(), 0, stream(50'000, 256));
  EXPECT_EQ(received.slots, 50'000u);
  EXPECT_EQ(received.wrong_words, 0u);
  EXPECT_EQ(end(*sender).slots, 50'000u);
}

}  // namespace
}  // namespace gcoord::netcore
