#include "server/peers/device_links.h"

#include "consensus/device/stepper_cuda.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

constexpr NodeId kPeer{2};

TEST(DeviceLinks, ANodeOnTheCpuHasNone) {
  DeviceLinks links("cpu");
  EXPECT_TRUE(links.learn(kPeer, DeviceLinks("cpu").announcement()));
  EXPECT_EQ(links.refresh(), std::vector<NodeId>{kPeer});
  EXPECT_EQ(links.text(kPeer), "");
}

TEST(DeviceLinks, OtherMessagesAreLeftToOthers) {
  DeviceLinks links("cpu");
  std::vector<std::byte> message = links.announcement();
  EXPECT_FALSE(links.learn(kPeer, std::span(message).first(message.size() - 1)));
  EXPECT_FALSE(links.learn(kPeer, {}));
  message.push_back(std::byte{0});
  EXPECT_FALSE(links.learn(kPeer, message));
  message.pop_back();
  message.front() = std::byte{3};
  EXPECT_FALSE(links.learn(kPeer, message));
  EXPECT_TRUE(links.refresh().empty());
}

TEST(DeviceLinks, ADeviceIsAskedOncePerPeerAndChange) {
  DeviceLinks links("cpu");
  std::vector<std::byte> message = links.announcement();
  EXPECT_TRUE(links.learn(kPeer, message));
  EXPECT_EQ(links.refresh().size(), 1u);
  EXPECT_TRUE(links.learn(kPeer, message));
  EXPECT_TRUE(links.refresh().empty());
  message[1] = std::byte{'x'};  // Another boot.
  EXPECT_TRUE(links.learn(kPeer, message));
  EXPECT_TRUE(links.learn(kPeer, message));
  EXPECT_EQ(links.refresh().size(), 1u);
}

TEST(DeviceLinks, WhatIsNotInUseIsNotCalledAWay) {
  DeviceLinks links("cuda:4095");  // On no machine.
  EXPECT_TRUE(links.learn(kPeer, DeviceLinks("cpu").announcement()));
  links.refresh();
  EXPECT_EQ(links.text(kPeer).find("not in use, because the turn runs on the host"), 0u);
}

TEST(DeviceLinksOnGpu, TwoProcessesOfOneDeviceMapEachOther) {
  if (consensus::cuda_device_count() == 0) {
    GTEST_SKIP() << "skipped: no CUDA device here";
  }
  DeviceLinks links("cuda:0");
  std::vector<std::byte> message = DeviceLinks("cuda:0").announcement();
  const std::size_t process_id = 1 + offsetof(netcore::GpuNodeFacts, process_id);
  message[process_id] ^= std::byte{1};
  EXPECT_TRUE(links.learn(kPeer, message));
  EXPECT_TRUE(links.learn(NodeId{3}, DeviceLinks("cpu").announcement()));
  links.refresh();
  EXPECT_EQ(
      links.text(kPeer),
      "not in use, because the turn runs on the host; it could be nvlink: both devices are on "
      "this host and reach each other");
  EXPECT_EQ(
      links.text(NodeId{3}),
      "not in use, because the turn runs on the host; it could be proxy: the peer has no GPU");
  EXPECT_EQ(links.text(NodeId{4}), "");
}

}  // namespace
}  // namespace gcoord::server
