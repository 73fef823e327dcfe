// The client library over TLS, against a front with a real TLS server.
#include "gcoord/client.h"
#include "gcoord/gcoord.h"
#include "protocol/identities/authenticate_messages.h"
#include "protocol/lock_messages.h"
#include "tests/client/fake_cluster.h"
#include "tests/client/net/tls_front.h"
#include "tests/own_address.h"
#include "tests/scratch_folder.h"
#include "tests/security/certificates.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcoord::client {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{60};  // Only an end for a test that fails.

class ClientTlsTest : public testing::Test {
 protected:
  ClientTlsTest() {
    write_private(path("ca.crt"), authority_.certificate());
    write_private(path("other-ca.crt"), other_.certificate());
    issue("server", authority_, {.common_name = "node-1", .names = {"IP:127.0.0.1"}});
    issue("alice", authority_, {.common_name = "alice", .names = {"URI:gcoord://1/user/alice"}});
    cluster_.answer_with(&friendly_reply);
  }

  std::string path(const std::string& name) const { return scratch_.path(name); }

  void issue(const std::string& name, TestAuthority& authority, const CertificateWish& wish) {
    write_certificate(scratch_.path().string(), name, authority.issue(wish));
  }

  TlsFront& front(const security::TlsPolicy& policy = {},
                  const std::string& name = "server",
                  const std::string& host = "127.0.0.1") {
    front_ = std::make_unique<TlsFront>(security::TlsFiles{.certificate = path(name + ".crt"),
                                                           .key = path(name + ".key"),
                                                           .authority = path("ca.crt"),
                                                           .revoked = {}},
                                        policy,
                                        TlsFront::Ends{cluster_.endpoints().front(), host});
    return *front_;
  }

  TlsOptions of_ca() const { return {.cacert = path("ca.crt")}; }

  TlsOptions of_alice() const {
    return {.cacert = path("ca.crt"), .cert = path("alice.crt"), .key = path("alice.key")};
  }

  static Result<Client> connect(const std::string& endpoint, const TlsOptions& tls) {
    return Client::connect({.endpoints = {endpoint},
                            .tls = tls,
                            .connect_timeout = kPatience,
                            .backoff_max = std::chrono::milliseconds{10},
                            .seed = 1});
  }

  // The number of the failure to connect.
  static std::uint32_t refusal(const std::string& endpoint, const TlsOptions& tls) {
    const auto client = connect(endpoint, tls);
    EXPECT_FALSE(client.ok());
    message_ = client.status().message();
    return client.status().detail();
  }

  // Lets connections that were lost come back, until there are so many handshakes.
  void wait_for_guests(std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (front_->guests().size() < count && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    ASSERT_GE(front_->guests().size(), count);
  }

  static std::string message_;
  ScratchFolder scratch_;
  TestAuthority authority_;
  TestAuthority other_{"another authority"};
  FakeCluster cluster_{1};
  std::unique_ptr<TlsFront> front_;
};

std::string ClientTlsTest::message_;

TEST_F(ClientTlsTest, RequestsGoThroughTls) {
  auto client = connect(front().endpoint(), of_ca());
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  auto session = client.value().open_session({});
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_EQ(session.value().id(), 41u);
  ASSERT_EQ(front_->guests().size(), 1u);
  EXPECT_EQ(front_->guests().front().common_name, "");
}

TEST_F(ClientTlsTest, ACertificateSaysWhoTheClientIs) {
  auto client = connect(front({.demand_certificate = true}).endpoint(), of_alice());
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  EXPECT_EQ(front_->guests().front().common_name, "alice");
}

TEST_F(ClientTlsTest, ANodeOfAnotherCaIsNotBelieved) {
  EXPECT_EQ(refusal(front().endpoint(), {.cacert = path("other-ca.crt")}), 3103u);
  EXPECT_THAT(message_, HasSubstr(front_->endpoint()));
}

TEST_F(ClientTlsTest, ACertificateIsForTheHostOfTheEndpoint) {
  EXPECT_EQ(refusal(front().endpoint("localhost"), of_ca()), 3106u);
  TlsOptions named = of_ca();
  named.server_name = "127.0.0.1";
  EXPECT_TRUE(connect(front_->endpoint("localhost"), named).ok());
  named.server_name = "db1.example.org";
  EXPECT_EQ(refusal(front_->endpoint(), named), 3106u);
}

TEST_F(ClientTlsTest, AnExpiredCertificateIsRefused) {
  issue("old", authority_, {.names = {"IP:127.0.0.1"}, .begins_in_s = -7200, .ends_in_s = -60});
  EXPECT_EQ(refusal(front({}, "old").endpoint(), of_ca()), 3104u);
}

TEST_F(ClientTlsTest, ADemandedCertificateIsNamedAsSuch) {
  EXPECT_EQ(refusal(front({.demand_certificate = true}).endpoint(), of_ca()), 3114u);
  EXPECT_THAT(message_, HasSubstr("--cert"));
}

TEST_F(ClientTlsTest, ACertificateOfAnotherCaIsRefusedByTheNode) {
  issue("mallory", other_, {.common_name = "mallory", .names = {"URI:gcoord://1/user/mallory"}});
  EXPECT_EQ(
      refusal(front({.demand_certificate = true}).endpoint(),
              {.cacert = path("ca.crt"), .cert = path("mallory.crt"), .key = path("mallory.key")}),
      6737u);
}

// Takes connections one after the other, reads once, says these bytes and closes.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer) : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), bytes), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    endpoint_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this, answer = std::move(answer)] {
      for (int taken = 0; (taken = ::accept(listener_, nullptr, nullptr)) >= 0;) {
        char bytes_read[4096];
        static_cast<void>(::recv(taken, bytes_read, sizeof bytes_read, 0));
        static_cast<void>(::send(taken, answer.data(), answer.size(), MSG_NOSIGNAL));
        ::close(taken);
      }
    });
  }

  ~OneAnswer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;

  const std::string& endpoint() const { return endpoint_; }

 private:
  int listener_;
  std::string endpoint_;
  std::thread thread_;
};

TEST_F(ClientTlsTest, ANodeWithoutTlsIsRecognised) {
  const OneAnswer closes{""};
  EXPECT_EQ(refusal(closes.endpoint(), of_ca()), 3109u);
  const OneAnswer talks{"HTTP/1.1 400 Bad Request\r\n\r\n"};
  EXPECT_EQ(refusal(talks.endpoint(), of_ca()), 3109u);
}

TEST_F(ClientTlsTest, APlainClientLearnsThatTheServerSpeaksTls) {
  const OneAnswer alerts{{0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x46}};
  EXPECT_EQ(refusal(alerts.endpoint(), {}), 3113u);
  EXPECT_THAT(message_, HasSubstr("--cacert"));
}

TEST_F(ClientTlsTest, FilesThatCannotBeUsedHaveTheirNumbers) {
  front();
  EXPECT_EQ(refusal(front_->endpoint(), {.cacert = path("absent.crt")}), 1230u);
  EXPECT_EQ(refusal(front_->endpoint(), {.cacert = path("alice.key")}), 1231u);
  EXPECT_EQ(refusal(front_->endpoint(), {.cacert = path("ca.crt"), .cert = path("alice.crt")}),
            1002u);
  EXPECT_EQ(
      refusal(front_->endpoint(),
              {.cacert = path("ca.crt"), .cert = path("alice.crt"), .key = path("server.key")}),
      1232u);
  std::filesystem::permissions(path("alice.key"), std::filesystem::perms{0640});
  EXPECT_EQ(refusal(front_->endpoint(), of_alice()), 1233u);
}

TEST_F(ClientTlsTest, ALostConnectionComesBackByATicket) {
  auto client = connect(front().endpoint(), of_ca());
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  for (int k = 0; k < 16; ++k) {  // The ticket of a connection that lasts comes before the last.
    ASSERT_TRUE(client.value().open_session({}).ok());
  }
  front_->hang_up();
  wait_for_guests(2);
  EXPECT_TRUE(front_->guests()[1].resumed);
  EXPECT_TRUE(client.value().open_session({}).ok());
}

TEST_F(ClientTlsTest, ARenewedCertificateIsShownByTheNextConnection) {
  auto client = connect(front({.demand_certificate = true}).endpoint(), of_alice());
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  issue("alice", authority_, {.common_name = "alice-2", .names = {"URI:gcoord://1/user/alice"}});
  front_->hang_up();
  wait_for_guests(2);
  EXPECT_EQ(front_->guests().back().common_name, "alice-2");
}

TEST_F(ClientTlsTest, CTakesTheSameFiles) {
  const std::string endpoint = front({.demand_certificate = true}).endpoint();
  const std::string cacert = path("ca.crt");
  const std::string cert = path("alice.crt");
  const std::string key = path("alice.key");
  gcoord_client_options options;
  gcoord_client_options_init(&options);
  options.endpoints = endpoint.c_str();
  options.cacert = cacert.c_str();
  gcoord_client* client = nullptr;
  gcoord_error error;
  EXPECT_NE(gcoord_client_connect(&options, &client, &error), GCOORD_OK);
  EXPECT_EQ(error.number, 3114u);
  options.cert = cert.c_str();
  options.key = key.c_str();
  ASSERT_EQ(gcoord_client_connect(&options, &client, &error), GCOORD_OK) << error.message;
  EXPECT_EQ(gcoord_client_free(client), GCOORD_OK);
}

// What is encrypted may go anywhere.
TEST_F(ClientTlsTest, APasswordGoesBeyondLoopback) {
  const auto beyond = own_address_beyond_loopback();
  if (!beyond) {
    GTEST_SKIP() << "this machine has no address beyond loopback";
  }
  cluster_.answer_with([](const FakeRequest& request) -> std::optional<FakeReply> {
    FakeReply reply = friendly_reply(request);
    if (request.slot.kind == protocol::RequestKind::Authenticate) {
      reply.payload = protocol::text_of(protocol::encode_authenticated(
          {.principal = {security::PrincipalKind::User, "bob"}, .life_s = 3600, .token = "t"}));
    }
    return reply;
  });
  TlsOptions tls = of_ca();
  tls.server_name = "127.0.0.1";
  auto client = Client::connect({.endpoints = {front({}, "server", *beyond).endpoint()},
                                 .tls = tls,
                                 .credentials = {.user = "bob", .password = "a password of bob's"},
                                 .connect_timeout = kPatience,
                                 .seed = 1});
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  EXPECT_EQ(client.value().identity().name, "bob");
}

}  // namespace
}  // namespace gcoord::client
