// Finding the nodes, losing them, and saying why.
#include "tests/client/client_fixture.h"
#include "tests/client/discovery/dns_server.h"

#include <gmock/gmock.h>

namespace gcoord::client {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class Connect : public ClientTest {};

TEST_F(Connect, LearnsAllNodesFromOne) {
  ClientOptions one = options();
  one.endpoints.resize(1);
  auto client = Client::connect(one);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  ASSERT_TRUE(client.value().wait_for_all_nodes(1s).ok());
  const ClusterView view = client.value().cluster();
  EXPECT_EQ(view.cluster_id, 77u);
  EXPECT_EQ(view.shard_count, 16u);
  ASSERT_EQ(view.nodes.size(), 3u);
  EXPECT_EQ(view.nodes[2].node_id, 3u);
  EXPECT_TRUE(view.nodes[2].connected);
}

TEST_F(Connect, FindsTheClusterByItsNameInDns) {
  const std::string endpoint = cluster_.endpoints().front();
  const auto port =
      static_cast<std::uint16_t>(std::stoul(endpoint.substr(endpoint.rfind(':') + 1)));
  const DnsServer server([port](const std::string& query) {
    const std::string record = DnsBytes{}.record(33, srv_content({0, 0, port, "node-1"})).bytes();
    return std::vector{
        dns_answer(query, {1, record + address_record("node-1", {"\x7f\0\0\1", 4}), 1})};
  });
  ClientOptions by_name = options();
  by_name.endpoints = {"srv:_gcoord._tcp.example.org@" + server.text()};
  auto client = Client::connect(by_name);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  EXPECT_EQ(client.value().cluster().cluster_id, 77u);
}

TEST_F(Connect, LearnsAnAddressThatTheFirstNodeDoesNotKnowFromAnother) {
  cluster_.hide_from_first(NodeId{3});
  ClientOptions two = options();
  two.endpoints.resize(2);
  auto client = Client::connect(two);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  EXPECT_TRUE(client.value().wait_for_all_nodes(1s).ok());
  EXPECT_EQ(client.value().cluster().nodes.size(), 3u);
}

// Where nobody listens: the port of another cluster that is gone.
std::string dead_address() {
  return FakeCluster{1}.endpoints().front();
}

TEST_F(Connect, FindsANodeThatHasMovedOnceAnyNodeKnowsWhere) {
  cluster_.misplace_at_first(NodeId{3}, dead_address());
  ClientOptions one = options();
  one.endpoints.resize(1);
  auto client = Client::connect(one);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  ASSERT_TRUE(client.value().wait_for_all_nodes(1s).ok());
  const ClusterView view = client.value().cluster();
  ASSERT_EQ(view.nodes.size(), 3u);
  EXPECT_EQ(view.nodes[2].address, cluster_.endpoints()[2]);
}

TEST_F(Connect, AnEndpointWhereANodeUsedToBeIsNotTakenForIt) {
  const std::string old = dead_address();
  cluster_.misplace_at_first(NodeId{3}, old);
  ClientOptions options_with_old = options();
  options_with_old.endpoints = {cluster_.endpoints()[1], old};
  auto client = Client::connect(options_with_old);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  ASSERT_TRUE(client.value().wait_for_all_nodes(1s).ok());
  ASSERT_TRUE(client.value().node_status(3).ok());
  const ClusterView view = client.value().cluster();
  ASSERT_EQ(view.nodes.size(), 4u);
  EXPECT_EQ(view.nodes[0].node_id, 0u) << "the old endpoint is nobody's";
  EXPECT_EQ(view.nodes[0].address, old);
}

TEST_F(Connect, WithoutAnyNodeListsTheEvidencePerEndpoint) {
  for (const std::uint32_t node : {1u, 2u, 3u}) {
    cluster_.stop_node(NodeId{node});
  }
  const auto client = Client::connect(options());
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.status().detail(), kDetailUnreachable);
  for (const std::string& endpoint : cluster_.endpoints()) {
    EXPECT_THAT(client.status().message(), HasSubstr(endpoint + ": Connection refused"));
  }
}

TEST_F(Connect, RefusesAnAddressThatIsNone) {
  ClientOptions bad = options();
  bad.endpoints = {"127.0.0.1"};
  const auto client = Client::connect(bad);
  EXPECT_THAT(client.status().message(), HasSubstr("not of the form HOST:PORT"));
  bad.endpoints.clear();
  EXPECT_EQ(Client::connect(bad).status().code(), StatusCode::InvalidArgument);
}

TEST_F(Connect, RefusesAnotherCluster) {
  ClientOptions other = options();
  other.cluster_id = 78;
  const auto client = Client::connect(other);
  ASSERT_FALSE(client.ok());
  EXPECT_THAT(client.status().message(), HasSubstr("belongs to another cluster"));
  EXPECT_EQ(client.status().detail(), 4012u) << "trying again does not mend it";
}

TEST_F(Connect, TakesTwoEndpointsOfOneNodeForOneNode) {
  ClientOptions twice = options();
  twice.endpoints = {twice.endpoints[0], "localhost" + twice.endpoints[0].substr(9)};
  auto client = Client::connect(twice);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  ASSERT_TRUE(client.value().wait_for_all_nodes(1s).ok());
  // The alias goes as soon as its Welcome comes.
  settle_until(client.value(),
               [&](const auto&) { return client.value().cluster().nodes.size() == 3; });
}

// It allocated memory for each of 2^32 - 1 shards, whatever the time limit.
TEST_F(Connect, RefusesANodeThatNamesMoreShardsThanAClusterHas) {
  FakeCluster boundless{1, protocol::kShardsMax + 1};
  ClientOptions there = options();
  there.endpoints = boundless.endpoints();
  const auto client = Client::connect(there);
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.status().detail(), kDetailUnreachable);
  EXPECT_THAT(client.status().message(), HasSubstr("welcome"));
}

TEST_F(Connect, KeepsOnlyTheBeginningOfALongReason) {
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = error_reply(request, protocol::ErrorCode::LockBusy);
    reply.payload = std::string(protocol::kReasonBytesMax - 1, 'a') + "\xc3\xbc" +
                    std::string(std::size_t{1} << 19, 'b');
    return reply;
  });
  Client client = connect();
  EXPECT_EQ(client.check("name", 1).status().message(),
            std::string(protocol::kReasonBytesMax - 1, 'a'));
}

TEST_F(Connect, ComesBackToANodeThatWasAway) {
  Client client = connect();
  cluster_.stop_node(NodeId{2});
  settle_until(client, [](const ClientStatistics& s) { return s.reconnects == 1; });
  EXPECT_EQ(client.wait_for_all_nodes(0ms).detail(), kDetailUnreachable);
  cluster_.start_node(NodeId{2});
  advance_until(client, 100ms, [&](const auto&) { return client.cluster().nodes[1].connected; });
}

TEST_F(Connect, AsksOnlyTheNodeThatWasNamed) {
  Client client = connect();
  ASSERT_TRUE(client.node_status(2).ok());
  EXPECT_EQ(cluster_.requests(protocol::RequestKind::NodeStatus)[0].node, NodeId{2});
  cluster_.stop_node(NodeId{2});
  settle_until(client, [](const ClientStatistics& s) { return s.reconnects == 1; });
  const auto status = client.node_status(2);
  EXPECT_EQ(status.status().detail(), kDetailUnreachable);
  EXPECT_THAT(status.status().message(), HasSubstr(cluster_.endpoints()[1]));
  EXPECT_FALSE(client.node_status(9).ok());
}

TEST_F(Connect, EndsOutstandingCallsWhenTheClientGoes) {
  cluster_.answer_with([](const FakeRequest&) { return std::nullopt; });
  Collected<Status> ended;
  {
    Client client = connect();
    client.check_async("name", 1, [&](Result<Verdict> verdict) { ended.add(verdict.status()); });
    cluster_.wait_for(protocol::RequestKind::LockCheck, 1);
  }
  EXPECT_EQ(ended.wait_for(1)[0].code(), StatusCode::Cancelled);
}

TEST_F(Connect, RefusesToBlockItsOwnThread) {
  Client client = connect();
  Collected<Status> inner;
  client.check_async(
      "name", 1, [&](const Result<Verdict>&) { inner.add(client.check("name", 1).status()); });
  EXPECT_EQ(inner.wait_for(1)[0].code(), StatusCode::FailedPrecondition);
}

}  // namespace
}  // namespace gcoord::client
