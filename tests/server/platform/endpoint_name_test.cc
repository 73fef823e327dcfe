#include "server/platform/endpoint_name.h"

#include <gtest/gtest.h>

#include <string>

namespace gcoord::server {
namespace {

TEST(EndpointTest, RoundTrips) {
  for (const std::string text : {"127.0.0.1:7400", "[::1]:1", "node-2.example_x:65535"}) {
    const auto parsed = parse_endpoint(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
    EXPECT_EQ(to_string(parsed.value()), text);
  }
}

TEST(EndpointTest, LoopbackIsJudgedBySpelling) {
  EXPECT_TRUE(is_loopback({"127.1.2.3", 1}));
  EXPECT_TRUE(is_loopback({"localhost", 1}));
  EXPECT_TRUE(is_loopback({"::1", 1}));
  EXPECT_FALSE(is_loopback({"127.example.org", 1}));
  EXPECT_FALSE(is_loopback({"0.0.0.0", 1}));
  EXPECT_FALSE(is_loopback({"128.0.0.1", 1}));
}

}  // namespace
}  // namespace gcoord::server
