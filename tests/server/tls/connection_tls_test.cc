#include "server/tls/connection_tls.h"

#include "tests/security/tls_pair.h"

#include <gtest/gtest.h>

namespace gcoord::server {
namespace {

using security::bytes_of;
using security::loaded;
using security::TlsSide;

class ConnectionTlsOf : public testing::Test {
 protected:
  ConnectionTls make(TlsMode mode) {
    return ConnectionTls({mode, loaded(TlsSide::Server, files_.server_files())});
  }

  security::TlsTestFiles files_;
  std::vector<std::byte> plain_;
};

TEST_F(ConnectionTlsOf, TheFirstByteDecidesWhereBothArePermitted) {
  ConnectionTls plain = make(TlsMode::Permissive);
  plain.receive({}, plain_);
  EXPECT_EQ(plain.state(), TlsState::Begins);
  plain.receive(bytes_of("G"), plain_);
  EXPECT_EQ(plain.state(), TlsState::Plain);
  plain.receive(bytes_of("\x16xx"), plain_);  // Plain text may have any byte later.
  EXPECT_EQ(plain.state(), TlsState::Plain);
  EXPECT_EQ(plain_.size(), 4u);
  plain_.clear();
  ConnectionTls secured = make(TlsMode::Permissive);
  secured.receive(bytes_of("\x16"), plain_);
  EXPECT_EQ(secured.state(), TlsState::Begins);
  secured.receive(bytes_of("no handshake"), plain_);
  EXPECT_EQ(secured.state(), TlsState::Failed);
  EXPECT_FALSE(secured.news().failure.ok());
  EXPECT_TRUE(plain_.empty());
}

TEST_F(ConnectionTlsOf, NothingIsReadOfForbiddenPlainText) {
  ConnectionTls connection = make(TlsMode::Required);
  connection.receive(bytes_of("GCRP and more"), plain_);
  connection.receive(bytes_of("and more"), plain_);
  EXPECT_EQ(connection.state(), TlsState::Forbidden);
  EXPECT_TRUE(connection.plain_text());
  EXPECT_TRUE(plain_.empty());
  EXPECT_FALSE(connection.send(bytes_of("x")));
}

TEST_F(ConnectionTlsOf, OpensAndNamesThePeer) {
  ConnectionTls server = make(TlsMode::Required);
  security::TlsSession client(loaded(TlsSide::Client, files_.client_files()), "localhost");
  EXPECT_FALSE(server.send(bytes_of("too early")));
  std::vector<std::byte> wire;
  do {
    wire.clear();
    client.take_output(wire);
    server.receive(wire, plain_);
    wire.clear();
    server.take_output(wire);
    ASSERT_TRUE(client.receive(wire).ok());
  } while (!wire.empty());
  EXPECT_EQ(server.state(), TlsState::Open);
  const TlsNews news = server.news();
  ASSERT_TRUE(news.peer.has_value());
  EXPECT_EQ(news.peer->common_name, "alice");
  ASSERT_TRUE(server.send(bytes_of("hello")));
  server.shut();
  server.take_output(wire);
  ASSERT_TRUE(client.receive(wire).ok());
  EXPECT_EQ(security::read_all(client), "hello");
  EXPECT_TRUE(client.ended());
}

}  // namespace
}  // namespace gcoord::server
