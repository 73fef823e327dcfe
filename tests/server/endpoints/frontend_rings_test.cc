// What clients by shared memory take of a node before they have said anything.
#include "common/host/descriptor.h"
#include "common/host/unix_socket.h"
#include "netcore/client_ring/byte_ring.h"
#include "netcore/client_ring/handshake.h"
#include "netcore/client_ring/mapping.h"
#include "tests/scratch_folder.h"
#include "tests/server/endpoints/frontend_bench.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

class FrontEndRingsTest : public FrontEndTest {
 protected:
  using Client = std::unique_ptr<OwnedDescriptor>;

  void start(const AccountLimits& limits) {
    FrontEndOptions options;
    options.limits = limits;
    options.local.rings = path_;
    FrontEndTest::start(options);
  }

  Client connect() const {
    auto client = std::make_unique<OwnedDescriptor>(::socket(AF_UNIX, SOCK_STREAM, 0));
    const auto address = UnixAddress::of(path_);
    EXPECT_TRUE(address.ok());
    EXPECT_EQ(::connect(client->get(), address.value().get(), address.value().length()), 0);
    return client;
  }

  // What the node answers; an error also if it answers nothing.
  Result<netcore::ReceivedOffer> offer(const Client& client) {
    Result<netcore::ReceivedOffer> offer = Status{StatusCode::Internal, "none"};
    EXPECT_TRUE(pump_until([&] {
      offer = netcore::receive_offer(client->get());
      return offer.ok() || offer.status().detail() != 0;
    }));
    return offer;
  }

  std::size_t held(HeldBytes kind) const { return frontend_->account().held(kind); }

  bool connections_are(std::size_t count) {
    return pump_until([&] { return frontend_->connection_count() == count; });
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.path("shm");
};

// Of four MiB a source gets 768 KiB for requests: six clients take half of them.
TEST_P(FrontEndRingsTest, RingsCountBeforeTheyAreAskedForAndManyOfAUserAreSmall) {
  start({.bytes_max = std::size_t{4} << 20});
  std::vector<Client> clients;
  for (int k = 0; k < 8; ++k) {
    clients.push_back(connect());
  }
  ASSERT_TRUE(connections_are(8));
  EXPECT_EQ(held(HeldBytes::In), 6u * netcore::kRingBytesMax + 2u * netcore::kRingBytesMin);
  EXPECT_EQ(held(HeldBytes::Out), held(HeldBytes::In));
  ASSERT_TRUE(netcore::send_request(clients[7]->get(), {}));
  const auto small = offer(clients[7]);
  ASSERT_TRUE(small.ok()) << small.status().to_string();
  EXPECT_EQ(small.value().offer.shape,
            (netcore::ClientRingShape{netcore::kRingBytesMin, netcore::kRingBytesMin}));
  ASSERT_TRUE(netcore::send_request(clients[0]->get(), {}));
  const auto full = offer(clients[0]);
  ASSERT_TRUE(full.ok()) << full.status().to_string();
  EXPECT_EQ(full.value().offer.shape, netcore::ClientRingShape{});
  clients.clear();
  EXPECT_TRUE(connections_are(0));
  EXPECT_EQ(held(HeldBytes::In) + held(HeldBytes::Out), 0u);
}

// A newcomer without a place costs no descriptor for longer than a pass, though it says nothing.
TEST_P(FrontEndRingsTest, AClientBeyondTheCapIsRefusedBeforeItAsks) {
  start({.connections_max = 8, .source_connections_max = 1});
  const Client first = connect();
  ASSERT_TRUE(netcore::send_request(first->get(), {}));
  const auto received = offer(first);
  ASSERT_TRUE(received.ok()) << received.status().to_string();
  auto memory =
      netcore::RingMapping::adopt(received.value().memory->get(), received.value().offer.shape);
  ASSERT_TRUE(memory.ok());
  protocol::FrameBuilder builder(protocol::FrameDirection::Requests);
  const std::vector<std::byte> hello = hello_frame(builder);
  netcore::RingWriter writer{memory.value().request()};
  netcore::RingReader reader{memory.value().reply()};
  ASSERT_EQ(writer.write(hello.data(), hello.size()), hello.size());
  writer.publish();
  netcore::ring_bell(first->get());
  ASSERT_TRUE(pump_until([&] { return reader.has_input(); }));  // Its welcome: it keeps its place.
  const Client second = connect();
  EXPECT_EQ(offer(second).status().detail(), netcore::kShmNoPlace);
  EXPECT_TRUE(connections_are(1));
  EXPECT_EQ(netcore::take_bells(second->get()), netcore::Bells::Gone);
  EXPECT_EQ(closed_count("full"), 1u);
  EXPECT_NE(netcore::take_bells(first->get()), netcore::Bells::Gone);
}

// The loop serves rings itself, whoever serves other sockets.
INSTANTIATE_TEST_SUITE_P(Io, FrontEndRingsTest, testing::Values(ClientIoOptions{}), io_name);

}  // namespace
}  // namespace gcoord::server
