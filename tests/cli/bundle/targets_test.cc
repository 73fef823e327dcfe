// Where the pages of a node are, and which nodes there are.
#include "cli/bundle/targets.h"

#include "common/json/text.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string url(const std::string& endpoint, const std::string& report) {
  const auto address = http_address_of(endpoint, parse_json(report));
  return address.ok() ? url_of(address.value()) : address.status().message();
}

client::NodeView node(std::uint32_t id, const std::string& address) {
  client::NodeView view;
  view.node_id = id;
  view.address = address;
  return view;
}

TEST(BundleTargets, ANodeTellsWhereItsPagesAre) {
  EXPECT_EQ(url("10.0.0.1:7400", R"({"metrics":"10.9.0.1:9000"})"), "http://10.9.0.1:9000");
  EXPECT_EQ(url("10.0.0.1:7400", R"({"metrics":"[fe80::1]:9000"})"), "http://[fe80::1]:9000");
}

TEST(BundleTargets, LoopbackAndEverywhereAreTheHostOfTheClientPort) {
  for (const char* host : {"127.0.0.1", "localhost", "[::1]", "0.0.0.0", "[::]"}) {
    EXPECT_EQ(url("node-1.example:7400", R"({"metrics":")" + std::string{host} + R"(:9000"})"),
              "http://node-1.example:9000")
        << host;
  }
}

TEST(BundleTargets, WithoutAWordTheyAre200AboveTheClientPort) {
  EXPECT_EQ(url("10.0.0.1:7400", "{}"), "http://10.0.0.1:7600");
  EXPECT_EQ(url("[::1]:7420", ""), "http://[::1]:7620");
  EXPECT_THAT(url("10.0.0.1:65400", "{}"), HasSubstr("give --metrics"));
}

TEST(BundleTargets, WhatIsNoAddressCountsAsNotTold) {
  for (const char* told : {"7", "[]", R"("nonsense")", R"("a b:1")", R"("h:0")", R"("h:70000")"}) {
    EXPECT_EQ(url("10.0.0.1:7400", R"({"metrics":)" + std::string{told} + "}"),
              "http://10.0.0.1:7600")
        << told;
  }
}

TEST(BundleTargets, PagesThatAreOffAreNotLookedFor) {
  EXPECT_THAT(url("10.0.0.1:7400", R"({"metrics":""})"), HasSubstr("--listen-metrics"));
}

TEST(BundleTargets, AUserGivesAnAddressOrAUrl) {
  const auto read = [](const std::string& text) {
    const auto address = parse_metrics_address(text);
    return address.ok() ? url_of(address.value()) : "no: " + address.status().message();
  };
  EXPECT_EQ(read("10.0.0.1:7600"), "http://10.0.0.1:7600");
  EXPECT_EQ(read("http://[::1]:7600"), "http://[::1]:7600");
  EXPECT_EQ(read("http://proxy:80/node-1/"), "http://proxy:80/node-1");
  for (const char* wrong : {"", "host", "https://h:1", "ftp://h:1", "http://h", "h:0", "h:x"}) {
    EXPECT_THAT(read(wrong), testing::StartsWith("no: ")) << wrong;
  }
}

TEST(BundleTargets, NodesComeByTheirIdsAndTheUnknownLast) {
  std::vector<BundleTarget> targets =
      targets_of({node(0, "x:1"), node(3, "c:1"), node(1, "a:1"), node(0, "y:1")}, {"a:1"});
  give_address(targets, 3, {"m", "1", ""});
  give_address(targets, 9, {"n", "1", ""});
  give_address(targets, 0, {"o", "1", ""});
  EXPECT_THAT(folders_of(targets),
              ElementsAre("node-1", "node-3", "address-1", "address-2", "node-9", "address-3"));
  EXPECT_FALSE(targets[0].http.has_value());
  EXPECT_EQ(targets[1].http->host, "m");
}

TEST(BundleTargets, WithoutAViewTheEndpointsOfTheUserAreLeft) {
  const auto targets = targets_of({}, {"a:1", "srv:_gcoord._tcp.example.org", "b:1"});
  ASSERT_EQ(targets.size(), 2u);
  EXPECT_EQ(targets[1].view.address, "b:1");
}

}  // namespace
}  // namespace gcoord::cli
