// The front end with TLS, against clients that speak it, that do not, and that speak it badly; the
// loop and the I/O threads of both backends have the same tests.
#include "server/endpoints/frontend.h"
#include "tests/security/tls_pair.h"
#include "tests/server/endpoints/frontend_bench.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using security::loaded;
using security::TlsSide;
using security::TlsTestFiles;

class FrontEndTlsTest : public FrontEndTest {
 protected:
  FrontEndTlsTest() { port_tls_ = &port_; }

  void set_mode(TlsMode mode, bool demand_certificate = false) {
    port_.set(
        {mode,
         loaded(
             TlsSide::Server, files_.server_files(), {.demand_certificate = demand_certificate})});
  }

  RawClient connect_tls(const security::TlsFiles& files) {
    RawClient client = connect();
    client.speak_tls(loaded(TlsSide::Client, files), "127.0.0.1");
    return client;
  }

  RawClient connect_tls() { return connect_tls({.authority = files_.path("ca.crt")}); }

  // Sends requests of such a size and waits for their answers.
  bool echo(RawClient& client, std::size_t request_count, std::size_t payload_bytes) {
    client.replies.clear();
    client.payloads.clear();
    for (std::uint64_t id = 1; id <= request_count; ++id) {
      builder_.add(request(id), std::vector<std::byte>(payload_bytes, std::byte{7}));
    }
    client.send(frame_of(builder_));
    return pump_until([&] {
      client.send({});
      return client.receive() && client.replies.size() == request_count;
    });
  }

  std::uint64_t counted(const std::string& name, const std::string& label, const char* value) {
    return metrics_.counter({"gcoord_server_client_" + name, "", label, value}).value();
  }

  // Open now without TLS.
  std::int64_t plaintext() {
    return metrics_.gauge({"gcoord_server_client_plaintext_connections", "", "from", "loopback"})
        .value();
  }

  TlsTestFiles files_;
  PortTls port_;
  protocol::FrameBuilder builder_{protocol::FrameDirection::Requests};
};

TEST_P(FrontEndTlsTest, WelcomesAClientThatSpeaksTlsAndServesIt) {
  set_mode(TlsMode::Required);
  RawClient client = connect_tls();
  ASSERT_TRUE(welcome(client, builder_));
  EXPECT_TRUE(echo(client, 1, 3));
  EXPECT_TRUE(echo(client, 500, 10));
  EXPECT_EQ(client.payloads.back().size(), 10u);
  EXPECT_EQ(counted("tls_handshakes_total", "result", "full"), 1u);
}

// Both ways far beyond a record, a read and what a socket takes at once.
TEST_P(FrontEndTlsTest, CarriesMegabytes) {
  set_mode(TlsMode::Required);
  RawClient client = connect_tls();
  ASSERT_TRUE(welcome(client, builder_));
  for (int round = 0; round < 8; ++round) {
    ASSERT_TRUE(echo(client, 12, 60'000)) << round;
    EXPECT_EQ(client.payloads.back(), std::vector<std::byte>(60'000, std::byte{7}));
  }
}

TEST_P(FrontEndTlsTest, KnowsWhoShowedACertificate) {
  set_mode(TlsMode::Required, true);
  RawClient client = connect_tls(files_.client_files());
  std::string seen;
  answer_ = [&](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    const security::TlsPeer* peer = frontend_->peer(connection);
    seen = peer == nullptr ? "nobody" : peer->uris.front();
    frontend_->reply(connection, protocol::reply_to(slot), {});
  };
  ASSERT_TRUE(welcome(client, builder_));
  ASSERT_TRUE(echo(client, 1, 0));
  EXPECT_EQ(seen, "gcoord://c1/user/alice");
}

TEST_P(FrontEndTlsTest, ClosesWhomANewRevocationListHasAndNobodyElse) {
  set_mode(TlsMode::Permissive);
  RawClient revoked = connect_tls(files_.client_files());
  write_certificate(files_.folder(), "client", files_.authority.issue());
  RawClient good = connect_tls(files_.client_files());
  RawClient without = connect_tls();
  protocol::FrameBuilder of_good(protocol::FrameDirection::Requests);
  protocol::FrameBuilder of_without(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(revoked, builder_));
  ASSERT_TRUE(welcome(good, of_good));
  ASSERT_TRUE(welcome(without, of_without));
  security::TlsFiles files = files_.server_files();
  files.revoked = files_.path("list.pem");
  write_private(files.revoked, files_.authority.revoke({files_.client.serial}));
  port_.set({TlsMode::Permissive, loaded(TlsSide::Server, files)});
  frontend_->cut_revoked([&](const security::TlsPeer& peer) { return port_.revokes(peer); });
  EXPECT_TRUE(closed(revoked));
  EXPECT_EQ(closed_count("certificate_revoked"), 1u);
  EXPECT_EQ(metrics_.counter({"gcoord_server_client_tls_revoked_total", "", "", ""}).value(), 1u);
  EXPECT_EQ(frontend_->connection_count(), 2u);
}

// A certificate of the authority for another cluster: its client is nobody, and that is counted.
TEST_P(FrontEndTlsTest, CountsCertificatesThatNameNobodyHere) {
  set_mode(TlsMode::Required);
  RawClient client = connect_tls(files_.client_files());
  const protocol::AccessSelf nobody{};
  protocol::AccessSelf seen = nobody;
  answer_ = [&](protocol::ConnectionId connection, const protocol::RequestSlot& slot, auto) {
    seen = self_of(*frontend_, connection);
    frontend_->reply(connection, protocol::reply_to(slot), {});
  };
  ASSERT_TRUE(welcome(client, builder_));
  ASSERT_TRUE(echo(client, 1, 0));
  EXPECT_EQ(seen.principal.kind, security::PrincipalKind::Anonymous);
  EXPECT_EQ(seen.proof, protocol::ProofKind::Certificate);
  EXPECT_GT(seen.until_ms, 0u);
  EXPECT_EQ(
      metrics_.counter({"gcoord_server_client_foreign_certificates_total", "", "", ""}).value(),
      1u);
  RawClient without = connect_tls();
  protocol::FrameBuilder other(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(without, other));
  EXPECT_EQ(
      metrics_.counter({"gcoord_server_client_foreign_certificates_total", "", "", ""}).value(),
      1u);
}

TEST_P(FrontEndTlsTest, RefusesAClientWithoutACertificateWhereOneIsDemanded) {
  set_mode(TlsMode::Required, true);
  RawClient client = connect_tls();
  client.send(hello_frame(builder_));
  EXPECT_TRUE(closed(client));
  EXPECT_TRUE(client.replies.empty());
  EXPECT_EQ(client.tls->failure().detail(), 3108u);  // The alert came before the end.
  EXPECT_EQ(closed_count("tls"), 1u);
  EXPECT_EQ(counted("tls_handshakes_total", "result", "failed"), 1u);
}

TEST_P(FrontEndTlsTest, PermissivePortServesBoth) {
  set_mode(TlsMode::Permissive);
  RawClient plain = connect();
  RawClient secured = connect_tls();
  protocol::FrameBuilder other(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(plain, other));
  ASSERT_TRUE(welcome(secured, builder_));
  EXPECT_TRUE(echo(secured, 10, 10));
  plain.replies.clear();
  other.add(request(5));
  plain.send(frame_of(other));
  EXPECT_TRUE(pump_until([&] { return plain.receive() && plain.replies.size() == 1; }));
  EXPECT_EQ(counted("plaintext_connections_total", "from", "loopback"), 1u);
}

// The answer is one that clients without TLS understand.
TEST_P(FrontEndTlsTest, RequiredPortSaysSoInPlainTextAndServesNothing) {
  set_mode(TlsMode::Required);
  RawClient plain = connect();
  plain.send(hello_frame(builder_));
  EXPECT_TRUE(closed(plain));
  ASSERT_EQ(plain.replies.size(), 1u);
  EXPECT_EQ(plain.replies[0].detail, static_cast<std::uint32_t>(protocol::ErrorCode::TlsPlaintext));
  EXPECT_EQ(requests_, 0u);
  EXPECT_EQ(closed_count("tls"), 1u);
  EXPECT_EQ(counted("plaintext_connections_total", "from", "loopback"), 1u);
}

// Also one that began while TLS was off: it is there until it ends.
TEST_P(FrontEndTlsTest, WhoIsOpenInPlainTextCountsUntilItEnds) {
  set_mode(TlsMode::Off);
  protocol::FrameBuilder of_first(protocol::FrameDirection::Requests);
  {
    RawClient first = connect();
    ASSERT_TRUE(welcome(first, of_first));
    set_mode(TlsMode::Permissive);
    protocol::FrameBuilder of_second(protocol::FrameDirection::Requests);
    RawClient second = connect();
    ASSERT_TRUE(welcome(second, of_second));
    RawClient secured = connect_tls();
    ASSERT_TRUE(welcome(secured, builder_));
    EXPECT_EQ(plaintext(), 2);
  }
  EXPECT_TRUE(pump_until([&] { return frontend_->connection_count() == 0; }));
  EXPECT_EQ(plaintext(), 0);
}

TEST_P(FrontEndTlsTest, AnotherModeHoldsForConnectionsThatBeginThen) {
  set_mode(TlsMode::Off);
  RawClient first = connect();
  protocol::FrameBuilder of_first(protocol::FrameDirection::Requests);
  ASSERT_TRUE(welcome(first, of_first));
  set_mode(TlsMode::Required);
  RawClient second = connect_tls();
  ASSERT_TRUE(welcome(second, builder_));
  first.replies.clear();
  of_first.add(request(1));
  first.send(frame_of(of_first));
  EXPECT_TRUE(pump_until([&] { return first.receive() && first.replies.size() == 1; }));
}

TEST_P(FrontEndTlsTest, GarbageInAHandshakeEndsItWithAnAlert) {
  set_mode(TlsMode::Permissive);
  RawClient client = connect();
  client.send_raw(security::bytes_of("\x16\x03\x01\xff\xff and nothing of that length"));
  EXPECT_TRUE(closed(client));
  EXPECT_EQ(closed_count("tls"), 1u);
}

TEST_P(FrontEndTlsTest, AChangedRecordEndsTheConnection) {
  set_mode(TlsMode::Required);
  RawClient client = connect_tls();
  ASSERT_TRUE(welcome(client, builder_));
  builder_.add(request(1));
  ASSERT_TRUE(client.tls->send(frame_of(builder_)).ok());
  std::vector<std::byte> wire;
  client.tls->take_output(wire);
  wire[wire.size() / 2] ^= std::byte{1};
  client.send_raw(wire);
  EXPECT_TRUE(closed(client));
  EXPECT_EQ(requests_, 0u);
  EXPECT_EQ(closed_count("tls"), 1u);
}

TEST_P(FrontEndTlsTest, AHandshakeThatDoesNotEndIsClosedAsAHelloThatDoesNotCome) {
  set_mode(TlsMode::Required);
  RawClient client = connect();
  security::TlsSession session(loaded(TlsSide::Client, {.authority = files_.path("ca.crt")}));
  std::vector<std::byte> wire;
  session.take_output(wire);
  client.send_raw(std::span{wire}.first(20));
  ASSERT_TRUE(pump_until([&] { return frontend_->connection_count() == 1; }));
  frontend_->sweep(1'000);
  frontend_->sweep(20'000);
  EXPECT_TRUE(closed(client));
  EXPECT_EQ(closed_count("idle"), 1u);
}

TEST_P(FrontEndTlsTest, AStoppingNodeEndsTheSessionInOrder) {
  set_mode(TlsMode::Required);
  RawClient client = connect_tls();
  ASSERT_TRUE(welcome(client, builder_));
  ASSERT_TRUE(echo(client, 1, 0));
  frontend_->stop();
  EXPECT_TRUE(closed(client));
  EXPECT_TRUE(client.tls->ended());
  EXPECT_TRUE(client.tls->failure().ok()) << client.tls->failure().to_string();
}

// Rights are checked, and root is an operator.
class RootOperates final : public ReplyFilter {
 public:
  explicit RootOperates(const FrontEnd& frontend) : frontend_(frontend) {}

  std::optional<std::vector<std::byte>> masked(protocol::ConnectionId,
                                               const protocol::ReplySlot&,
                                               std::span<const std::byte>) override {
    return std::nullopt;
  }

  bool lists(protocol::ConnectionId, std::string_view) override { return true; }

  bool proven_only() const override { return true; }

  bool is_operator(protocol::ConnectionId connection) override {
    return frontend_.principal(connection).name == "root";
  }

 private:
  const FrontEnd& frontend_;
};

// There is one such place at a time, so the second operator gets it because the first has settled.
TEST_P(FrontEndTlsTest, ACertificateSettlesAPlaceThatIsKeptForOperatorsAtHello) {
  set_mode(TlsMode::Required, true);
  FrontEndOptions options;
  options.limits = {.connections_max = 64, .source_connections_max = 2};
  start(options);
  RootOperates filter{*frontend_};
  frontend_->set_filter(filter);
  const auto connect_as = [this](const std::string& user) {
    write_certificate(
        files_.folder(),
        "client",
        files_.authority.issue({.common_name = user, .names = {"URI:gcoord://77/user/" + user}}));
    return connect_tls(files_.client_files());
  };
  std::vector<RawClient> clients;
  clients.reserve(5);
  for (const char* user : {"bob", "bob", "root", "root"}) {
    clients.push_back(connect_as(user));
    ASSERT_TRUE(welcome(clients.back(), builder_)) << user;
    EXPECT_EQ(clients.back().replies[0].code, StatusCode::Ok) << user;
  }
  clients.push_back(connect_as("bob"));
  ASSERT_TRUE(welcome(clients.back(), builder_));
  EXPECT_EQ(clients.back().replies[0].detail,
            static_cast<std::uint32_t>(protocol::ErrorCode::ConnectionsExhausted));
  EXPECT_TRUE(closed(clients.back()));
  EXPECT_EQ(closed_count("full"), 1u);
  frontend_->sweep(1'000);
  frontend_->sweep(7'000);
  EXPECT_EQ(frontend_->connection_count(), 4u) << "none of them has to prove anything any more";
}

INSTANTIATE_TEST_SUITE_P(FrontEndTls, FrontEndTlsTest, every_io(), io_name);

}  // namespace
}  // namespace gcoord::server
