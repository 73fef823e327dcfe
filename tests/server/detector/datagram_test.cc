// Sockets and addresses of failure detection, on this machine's loopback.
#include "server/detector/datagram_socket.h"
#include "server/detector/endpoints.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace gcoord::server {
namespace {

using netcore::SocketAddress;

SocketAddress at(std::uint16_t port, const std::string& host = "127.0.0.1") {
  SocketAddress address;
  EXPECT_TRUE(netcore::parse_numeric_address(host, port, address));
  return address;
}

std::unique_ptr<DatagramSocket> opened(std::uint16_t port = 0,
                                       const std::string& host = "127.0.0.1") {
  auto socket = DatagramSocket::open(host, port);
  EXPECT_TRUE(socket.ok()) << socket.status().message();
  return socket.ok() ? std::move(socket).value() : nullptr;
}

bool readable(const DatagramSocket& socket) {
  pollfd wait{socket.fd(), POLLIN, 0};
  return ::poll(&wait, 1, 5000) == 1;
}

const std::array kBytes{std::byte{1}, std::byte{2}, std::byte{3}};

TEST(DatagramSocket, CarriesDatagramsWithTheirSender) {
  const auto a = opened();
  const auto b = opened();
  ASSERT_TRUE(a->send(at(b->port()), kBytes));
  ASSERT_TRUE(readable(*b));
  int count = 0;
  b->receive(
      100,
      [&](const SocketAddress& from, std::span<const std::byte> bytes) {
        ++count;
        EXPECT_EQ(netcore::to_string(from), "127.0.0.1:" + std::to_string(a->port()));
        EXPECT_TRUE(std::ranges::equal(bytes, kBytes));
      },
      [](const SocketAddress&) { ADD_FAILURE() << "nothing was refused"; });
  EXPECT_EQ(count, 1);
}

TEST(DatagramSocket, SaysWhoseHostRefused) {
  for (const std::string host : {"127.0.0.1", "::1"}) {
    const auto a = opened(0, host);
    auto gone = opened(0, host);
    const auto lives = opened(0, host);
    const std::uint16_t port = gone->port();
    gone.reset();
    a->send(a->mapped(at(port, host)), kBytes);
    // An error that waits does not cost the next datagram.
    EXPECT_TRUE(a->send(a->mapped(at(lives->port(), host)), kBytes)) << host;
    ASSERT_TRUE(readable(*a)) << host;
    std::vector<std::string> refused;
    a->receive(
        100,
        [](const SocketAddress&, std::span<const std::byte>) { ADD_FAILURE(); },
        [&](const SocketAddress& to) { refused.push_back(netcore::to_string(to)); });
    EXPECT_EQ(refused, std::vector<std::string>{netcore::to_string(at(port, host))});
    EXPECT_TRUE(readable(*lives)) << host;
  }
}

TEST(DatagramSocket, TakesTheNextPortWhereOneIsTaken) {
  const auto first = opened();
  const auto second = opened(first->port());
  EXPECT_NE(second->port(), first->port());
  EXPECT_GT(second->port(), first->port());
}

TEST(DatagramSocket, RefusesAHostThatIsNoneOfThisMachine) {
  EXPECT_FALSE(DatagramSocket::open("203.0.113.7", 7500).ok());
}

TEST(DatagramSocket, ADatagramThatIsTooLongIsSeenToBe) {
  const auto a = opened();
  const auto b = opened();
  ASSERT_TRUE(a->send(at(b->port()), std::vector<std::byte>(1000)));
  ASSERT_TRUE(readable(*b));
  b->receive(
      100,
      [](const SocketAddress&, std::span<const std::byte> bytes) { EXPECT_EQ(bytes.size(), 101u); },
      [](const SocketAddress&) {});
}

TEST(DatagramEndpoints, KnowNumericAddressesAtOnceAndNamesLater) {
  DatagramEndpoints endpoints;
  endpoints.set({{NodeId{2}, "10.0.0.2:7500"}, {NodeId{3}, "localhost:7501"}, {NodeId{4}, ""}});
  ASSERT_NE(endpoints.find(NodeId{2}), nullptr);
  EXPECT_EQ(netcore::to_string(*endpoints.find(NodeId{2})), "10.0.0.2:7500");
  EXPECT_EQ(endpoints.find(NodeId{3}), nullptr);
  EXPECT_EQ(endpoints.find(NodeId{4}), nullptr);
  EXPECT_EQ(endpoints.find(NodeId{5}), nullptr);
  for (std::uint64_t now_ms = 1; now_ms < 5000 && endpoints.find(NodeId{3}) == nullptr; ++now_ms) {
    endpoints.advance(now_ms);
    ::poll(nullptr, 0, 1);
  }
  ASSERT_NE(endpoints.find(NodeId{3}), nullptr) << "localhost has an address";
  EXPECT_EQ(endpoints.host_of(NodeId{3}), "localhost");
}

TEST(DatagramEndpoints, LearnWhereANodeIsOnlyFromAnAnswerOfIt) {
  DatagramEndpoints endpoints;
  const auto listed = [&] { endpoints.set({{NodeId{2}, "10.0.0.2:7500"}}); };
  listed();
  endpoints.ask(NodeId{2}, 41);
  for (const SocketAddress& from :
       {at(7500, "10.0.0.9"), at(7499, "10.0.0.2"), at(7509, "10.0.0.2")}) {
    EXPECT_FALSE(endpoints.hear(NodeId{2}, from));
    endpoints.learn(NodeId{2}, from, 41);
  }
  EXPECT_FALSE(endpoints.hear(NodeId{3}, at(7500, "10.0.0.2"))) << "no node";
  EXPECT_EQ(endpoints.find_other(NodeId{2}), nullptr);
  // What says that it comes from there may come from anywhere: it is asked, and goes on counting
  // where it was.
  EXPECT_TRUE(endpoints.hear(NodeId{2}, at(7503, "10.0.0.2")));
  endpoints.learn(NodeId{2}, at(7503, "10.0.0.2"), 42);
  EXPECT_EQ(netcore::to_string(*endpoints.find(NodeId{2})), "10.0.0.2:7500");
  EXPECT_EQ(netcore::to_string(*endpoints.find_other(NodeId{2})), "10.0.0.2:7503");
  EXPECT_EQ(endpoints.node_at(at(7500, "10.0.0.2")), NodeId{2});
  EXPECT_EQ(endpoints.node_at(at(7503, "10.0.0.2")), NodeId{});
  endpoints.learn(NodeId{2}, at(7503, "::ffff:10.0.0.2"), 41);  // IPv4 in IPv6.
  EXPECT_EQ(endpoints.find_other(NodeId{2}), nullptr);
  EXPECT_TRUE(endpoints.hear(NodeId{2}, at(7503, "10.0.0.2")));
  EXPECT_EQ(endpoints.find_other(NodeId{2}), nullptr);
  EXPECT_EQ(endpoints.node_at(at(7500, "10.0.0.2")), NodeId{}) << "it has gone from there";
  EXPECT_EQ(endpoints.node_at(at(7503, "10.0.0.2")), NodeId{}) << "nor does a refusal count here";
  listed();
  EXPECT_EQ(
      ntohs(reinterpret_cast<const sockaddr_in6&>(endpoints.find(NodeId{2})->storage).sin6_port),
      7503)
      << "what was learned stays";
  // It restarts and has its port again.
  EXPECT_TRUE(endpoints.hear(NodeId{2}, at(7500, "10.0.0.2")));
  endpoints.ask(NodeId{2}, 43);
  endpoints.learn(NodeId{2}, at(7500, "10.0.0.2"), 43);
  EXPECT_EQ(endpoints.node_at(at(7500, "10.0.0.2")), NodeId{2});
}

TEST(DatagramEndpoints, OldQuestionsAndNamesThatAreNotKnownYetShowNothing) {
  DatagramEndpoints endpoints;
  endpoints.set({{NodeId{2}, "10.0.0.2:7500"}, {NodeId{3}, "localhost:7501"}, {NodeId{4}, ""}});
  for (std::uint32_t sequence = 1; sequence <= 17; ++sequence) {
    endpoints.ask(NodeId{2}, sequence);
    endpoints.ask(NodeId{3}, sequence);
  }
  endpoints.learn(NodeId{2}, at(7501, "10.0.0.2"), 1);
  EXPECT_EQ(netcore::to_string(*endpoints.find(NodeId{2})), "10.0.0.2:7500");
  endpoints.learn(NodeId{2}, at(7501, "10.0.0.2"), 2);
  EXPECT_EQ(netcore::to_string(*endpoints.find(NodeId{2})), "10.0.0.2:7501");
  for (const std::uint32_t node : {3u, 4u}) {
    EXPECT_FALSE(endpoints.hear(NodeId{node}, at(7501)));
    endpoints.learn(NodeId{node}, at(7501), 17);
    EXPECT_EQ(endpoints.find(NodeId{node}), nullptr);
  }
}

}  // namespace
}  // namespace gcoord::server
