// What nodes tell each other of their clients' addresses, and what they do not believe.
#include "server/peers/client_address.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::server {
namespace {

TEST(ClientAddress, ComesBackAsItWasSent) {
  EXPECT_EQ(decode_client_address(encode_client_address("127.0.0.1:7401")), "127.0.0.1:7401");
  EXPECT_EQ(decode_client_address(encode_client_address("[::1]:7401")), "[::1]:7401");
}

TEST(ClientAddress, WhatIsNoAddressIsNotBelieved) {
  EXPECT_FALSE(decode_client_address({}).has_value());
  EXPECT_FALSE(decode_client_address(encode_client_address("")).has_value());
  EXPECT_FALSE(decode_client_address(encode_client_address("no port")).has_value());
  EXPECT_FALSE(
      decode_client_address(encode_client_address(std::string(400, 'h') + ":1")).has_value());
  std::vector<std::byte> other = encode_client_address("127.0.0.1:1");
  other.front() = std::byte{1};
  EXPECT_FALSE(decode_client_address(other).has_value());
}

TEST(ClientAddress, OnlyNodesOfTheClusterAreLearned) {
  protocol::Welcome welcome;
  welcome.nodes = {{NodeId{1}, "a:1"}, {NodeId{2}, ""}};
  EXPECT_TRUE(learn_client_address(welcome, NodeId{2}, "b:2"));
  EXPECT_FALSE(learn_client_address(welcome, NodeId{2}, "b:2"));
  EXPECT_FALSE(learn_client_address(welcome, NodeId{3}, "c:3"));
  EXPECT_EQ(welcome.nodes[1].address, "b:2");
}

TEST(ClientAddress, FromViewOneOnNobodyTakesTheAddressOfAnother) {
  protocol::Welcome welcome;
  welcome.nodes = {{NodeId{1}, "a:1"}, {NodeId{2}, "b:2"}};
  welcome.view_epoch = 1;
  EXPECT_FALSE(learn_client_address(welcome, NodeId{2}, "a:1"));
  EXPECT_TRUE(learn_client_address(welcome, NodeId{2}, "elsewhere:2"));
  EXPECT_EQ(welcome.nodes[1].address, "elsewhere:2");
}

}  // namespace
}  // namespace gcoord::server
