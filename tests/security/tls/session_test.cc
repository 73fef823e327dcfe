#include "security/tls/session.h"

#include "security/tls/errors.h"
#include "tests/security/tls_pair.h"

#include <gtest/gtest.h>

namespace gcoord::security {
namespace {

class TlsSessionOf : public testing::Test {
 protected:
  TlsTestFiles files_;
};

TEST_F(TlsSessionOf, BothEndsReadWhatTheOtherSends) {
  TlsPair pair(loaded(TlsSide::Server, files_.server_files()),
               loaded(TlsSide::Client, {.authority = files_.path("ca.crt")}));
  pair.settle();
  ASSERT_TRUE(pair.server.open());
  ASSERT_TRUE(pair.client.open());
  ASSERT_TRUE(pair.client.send(bytes_of("a question")).ok());
  ASSERT_TRUE(pair.server.send(bytes_of("an answer")).ok());
  pair.settle();
  EXPECT_EQ(read_all(pair.server), "a question");
  EXPECT_EQ(read_all(pair.client), "an answer");
  EXPECT_EQ(pair.server.peer(), nullptr);
  ASSERT_NE(pair.client.peer(), nullptr);
  EXPECT_EQ(pair.client.peer()->dns, std::vector<std::string>{"localhost"});
}

TEST_F(TlsSessionOf, PiecesOfTheWireMayHaveAnySize) {
  for (const std::size_t piece : {1, 2, 5, 7, 1000}) {
    TlsPair pair(loaded(TlsSide::Server, files_.server_files(), {.demand_certificate = true}),
                 loaded(TlsSide::Client, files_.client_files()));
    const std::string sent(40'000, 'x');
    ASSERT_TRUE(pair.client.send(bytes_of(sent)).ok());  // Before the handshake is done.
    pair.settle(piece);
    EXPECT_EQ(read_all(pair.server), sent) << piece;
    ASSERT_NE(pair.server.peer(), nullptr);
    EXPECT_EQ(pair.server.peer()->uris, std::vector<std::string>{"gcoord://c1/user/alice"});
  }
}

TEST_F(TlsSessionOf, PlainTextGoesStraightToTheCaller) {
  TlsPair pair(loaded(TlsSide::Server, files_.server_files()),
               loaded(TlsSide::Client, {.authority = files_.path("ca.crt")}));
  pair.settle();
  ASSERT_TRUE(pair.client.send(bytes_of("first")).ok());
  ASSERT_TRUE(pair.client.send(bytes_of("second")).ok());
  std::vector<std::byte> wire;
  pair.client.take_output(wire);
  std::vector<std::byte> plain;
  ASSERT_TRUE(pair.server.receive(wire, plain).ok());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(plain.data()), plain.size()), "firstsecond");
  EXPECT_EQ(read_all(pair.server), "");
}

TEST_F(TlsSessionOf, ManyFramesLeaveInAsFewRecordsAsThereCanBe) {
  TlsPair pair(loaded(TlsSide::Server, files_.server_files()),
               loaded(TlsSide::Client, {.authority = files_.path("ca.crt")}));
  pair.settle();
  const std::string batch(32'768, 'b');
  ASSERT_TRUE(pair.server.send(bytes_of(batch)).ok());
  std::vector<std::byte> wire;
  pair.server.take_output(wire);
  EXPECT_EQ(wire.size(), batch.size() + 2 * (5 + 1 + 16));  // RFC 8446 5.2: two full records.
}

TEST_F(TlsSessionOf, AShutIsAnEndInOrder) {
  TlsPair pair(loaded(TlsSide::Server, files_.server_files()),
               loaded(TlsSide::Client, {.authority = files_.path("ca.crt")}));
  pair.settle();
  ASSERT_TRUE(pair.client.send(bytes_of("last")).ok());
  pair.client.shut();
  pair.settle();
  EXPECT_EQ(read_all(pair.server), "last");
  EXPECT_TRUE(pair.server.ended());
  EXPECT_TRUE(pair.server.failure().ok());
  EXPECT_EQ(pair.client.send(bytes_of("more")).detail(), kTlsEnded);
  EXPECT_EQ(pair.server.receive(bytes_of("more")).detail(), kTlsEnded);
}

TEST_F(TlsSessionOf, TheSecondConnectionResumesByATicketAndKnowsThePeer) {
  const auto server = loaded(TlsSide::Server, files_.server_files(), {.demand_certificate = true});
  const auto client = loaded(TlsSide::Client, files_.client_files());
  TlsPair first(server, client);
  first.settle();
  EXPECT_FALSE(first.server.resumed());
  TlsPair too_early(server, client);
  too_early.settle();
  EXPECT_FALSE(too_early.server.resumed());  // A connection that did little has got no ticket.
  first.work();
  TlsPair second(server, client);
  second.settle();
  ASSERT_TRUE(second.server.open());
  EXPECT_TRUE(second.server.resumed());
  ASSERT_NE(second.server.peer(), nullptr);
  EXPECT_EQ(*second.server.peer(), *first.server.peer());
  TlsPair other_name(server, client, "127.0.0.1");
  other_name.settle();
  EXPECT_TRUE(other_name.client.open());
  EXPECT_FALSE(other_name.client.resumed());
}

// A context is made anew when files change, so nothing outlives a revocation.
TEST_F(TlsSessionOf, ATicketOfAnotherContextResumesNothing) {
  const auto client = loaded(TlsSide::Client, files_.client_files());
  TlsPair first(loaded(TlsSide::Server, files_.server_files()), client);
  first.settle();
  first.work();
  write_private(files_.path("crl.pem"), files_.authority.revoke({files_.client.serial}));
  TlsFiles files = files_.server_files();
  files.revoked = files_.path("crl.pem");
  TlsPair second(loaded(TlsSide::Server, files), client);
  second.settle();
  EXPECT_FALSE(second.server.open());
  EXPECT_EQ(second.server_failure.detail(), kTlsRevoked);
}

TEST_F(TlsSessionOf, WhatWaitsForTheHandshakeIsBounded) {
  TlsSession client(loaded(TlsSide::Client, files_.client_files()), "localhost");
  const std::string half(TlsSession::kEarlyBytesMax / 2, 'x');
  EXPECT_TRUE(client.send(bytes_of(half)).ok());
  EXPECT_TRUE(client.send(bytes_of(half)).ok());
  EXPECT_EQ(client.send(bytes_of("x")).detail(), kTlsTooMuch);
  EXPECT_TRUE(client.ended());
}

}  // namespace
}  // namespace gcoord::security
