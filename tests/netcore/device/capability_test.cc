#include "netcore/device/capability.h"

#include "netcore/device/gpu_device.h"
#include "netcore/device/node_facts.h"

#include <gtest/gtest.h>

namespace gcoord::netcore {
namespace {

GpuLinkFacts all_good() {
  GpuLinkFacts facts;
  facts.same_host = true;
  facts.peer_has_gpu = true;
  facts.peer_visible = true;
  facts.peer_access = true;
  facts.shares_by_fd = true;
  return facts;
}

TEST(GpuCapability, TakesTheFastestWayThatExistsAndSaysWhy) {
  EXPECT_EQ(choose_gpu_link(all_good()).to_text(),
            "nvlink: both devices are on this host and reach each other");
  GpuLinkFacts facts = all_good();
  facts.same_process = true;
  EXPECT_EQ(choose_gpu_link(facts).kind, GpuLinkKind::Loopback);
}

TEST(GpuCapability, NamesTheFirstObstacle) {
  GpuLinkFacts facts = all_good();
  facts.shares_by_fd = false;
  EXPECT_EQ(choose_gpu_link(facts).to_text(),
            "proxy: a device cannot export memory as a file descriptor");
  facts.peer_access = false;
  EXPECT_EQ(choose_gpu_link(facts).to_text(), "proxy: the devices have no peer access");
  facts.same_host = false;
  EXPECT_EQ(choose_gpu_link(facts).to_text(), "proxy: the peer is on another host");
  facts.peer_has_gpu = false;
  EXPECT_EQ(choose_gpu_link(facts).to_text(), "proxy: the peer has no GPU");
}

TEST(GpuCapability, NodesWithoutAGpuMeetThroughTheProxy) {
  const auto own = own_gpu_node_facts({});
  ASSERT_TRUE(own.ok());
  GpuNodeFacts peer = own.value();
  peer.process_id += 1;
  const GpuLinkFacts facts = facts_between(own.value(), peer);
  EXPECT_TRUE(facts.same_host);
  EXPECT_FALSE(facts.same_process);
  EXPECT_EQ(choose_gpu_link(facts).to_text(), "proxy: the peer has no GPU");
  peer.boot_id[0] ^= 1;
  EXPECT_FALSE(facts_between(own.value(), peer).same_host);
}

TEST(GpuCapability, ADeviceHasOneSpelling) {
  EXPECT_EQ(parse_gpu_name("cuda:3").value(), 3u);
  for (const char* wrong : {"", "cuda", "cuda:", "cuda:x", "cuda:1 ", "gpu:0", "cuda:-1"}) {
    EXPECT_EQ(parse_gpu_name(wrong).status().code(), StatusCode::InvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace gcoord::netcore
