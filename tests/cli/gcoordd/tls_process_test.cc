// TLS of a node's ports as an operator meets it: modes by SIGHUP, files that are renewed under open
// connections, and what other programs see of the ports.
#include "tests/cli/line_fifo.h"
#include "tests/cli/programs.h"
#include "tests/security/tls_pair.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

namespace gcoord::cli {
namespace {

using security::TlsSession;
using security::TlsSide;
using testing::HasSubstr;
using testing::Not;

// A connection by TLS to "127.0.0.1:PORT".
class TlsConnection {
 public:
  TlsConnection(const std::string& address, const security::TlsFiles& files)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        session_(security::loaded(TlsSide::Client, files), "127.0.0.1") {
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    while (!session_.open() && turn()) {
    }
  }

  ~TlsConnection() { ::close(socket_); }

  TlsConnection(const TlsConnection&) = delete;
  TlsConnection& operator=(const TlsConnection&) = delete;

  // An HTTP request on it, and what comes until the answer has this text.
  std::string get(const std::string& path, const std::string& until) {
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
    EXPECT_TRUE(session_.send(security::bytes_of(request)).ok());
    std::string text;
    while (text.find(until) == std::string::npos && turn()) {
      text += security::read_all(session_);
    }
    return text;
  }

  std::string serial() const { return session_.peer() == nullptr ? "" : session_.peer()->serial; }

  const TlsSession& session() const { return session_; }

 private:
  // Sends what there is and takes one read; false at the end.
  bool turn() {
    std::vector<std::byte> wire;
    session_.take_output(wire);
    if (!wire.empty()) {
      EXPECT_EQ(::send(socket_, wire.data(), wire.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(wire.size()));
    }
    if (session_.ended()) {
      return false;
    }
    std::array<std::byte, 16'384> piece;
    const ssize_t count = ::recv(socket_, piece.data(), piece.size(), 0);
    if (count <= 0) {
      return false;
    }
    static_cast<void>(session_.receive(std::span{piece}.first(static_cast<std::size_t>(count))));
    return true;
  }

  int socket_;
  TlsSession session_;
};

class TlsProcessTest : public testing::Test {
 protected:
  // A configuration with these lines beside those of the files.
  std::string config(const std::string& lines) const {
    const std::string file = files_.path("node.toml");
    std::ofstream(file, std::ios::trunc)
        << "tls_cert = \"" << files_.path("server.crt") << "\"\ntls_key = \""
        << files_.path("server.key") << "\"\ntls_ca = \"" << files_.path("ca.crt") << "\"\n"
        << lines;
    return file;
  }

  std::vector<std::string> arguments(const std::string& lines) const {
    return {"--config",
            config(lines),
            "--listen-metrics",
            "127.0.0.1:0",
            "--log-file",
            files_.path("log"),
            "--log-level",
            "info"};
  }

  security::TlsFiles trusting() const { return {.authority = files_.path("ca.crt")}; }

  // What `openssl s_client` says of a port.
  std::string openssl(const std::string& address, std::vector<std::string> more) const {
    std::string line = "openssl s_client -connect " + address + " -CAfile " +
                       files_.path("ca.crt") + " -verify_return_error";
    for (const std::string& each : more) {
      line += " " + each;
    }
    ChildOptions options;
    options.arguments = {"/bin/sh", "-c", line + " </dev/null 2>&1; echo status $?"};
    options.capture_output = true;
    auto child = ChildProcess::start(options);
    EXPECT_TRUE(child.ok());
    std::string text;
    while (const auto read = child.value().read_line(kPatience)) {
      text += *read + "\n";
    }
    return text;
  }

  security::TlsTestFiles files_;
};

TEST_F(TlsProcessTest, ModesChangeBySighupAndPlainTextIsRefusedOnlyWhereTlsIsRequired) {
  LineFifo log(files_.path("log"));
  DevNode node(arguments("client_tls = \"off\"\nhttp_tls = \"off\"\n"));
  EXPECT_EQ(node.ctl()({"status"}).code, 0);
  config("client_tls = \"permissive\"\nhttp_tls = \"permissive\"\n");
  node.child().signal(SIGHUP);
  log.line_with("changed: --client-tls, --http-tls");
  log.line_with("client port permissive, HTTP ports permissive");
  EXPECT_EQ(node.ctl()({"status"}).code, 0);
  EXPECT_TRUE(TlsConnection(node.endpoint(), trusting()).session().open());
  config("");
  node.child().signal(SIGHUP);
  log.line_with("client port required, HTTP ports required");
  EXPECT_NE(node.ctl()({"status"}).code, 0);
  TlsConnection pages(node.metrics(), trusting());
  const std::string page = pages.get("/metrics", "gcoord_server_tls_loads_total{result=\"ok\"}");
  EXPECT_THAT(page,
              HasSubstr("gcoord_server_client_plaintext_connections_total{from=\"loopback\"}"));
  node.child().signal(SIGTERM);
  EXPECT_EQ(node.child().wait_for(kPatience), 0);
}

TEST_F(TlsProcessTest, ARenewedCertificateIsForNewConnectionsAndTheOpenOneGoesOn) {
  LineFifo log(files_.path("log"));
  DevNode node(arguments(""));
  TlsConnection old(node.metrics(), trusting());
  EXPECT_THAT(old.get("/livez", "ok"), HasSubstr("200"));
  write_certificate(files_.folder(), "server", files_.authority.issue());
  log.line_with("TLS: the files have changed and are in use");
  const TlsConnection next(node.endpoint(), trusting());
  EXPECT_TRUE(next.session().open());
  EXPECT_NE(next.serial(), old.serial());
  EXPECT_THAT(old.get("/livez", "ok"), HasSubstr("200"));
}

TEST_F(TlsProcessTest, OtherProgramsSeeTls13AndNothingElse) {
  DevNode node(arguments("client_certificates = \"none\"\n"));
  for (const std::string& address : {node.endpoint(), node.metrics()}) {
    const std::string seen = openssl(address, {"-tls1_3"});
    EXPECT_THAT(seen, HasSubstr("Verify return code: 0 (ok)"));
    EXPECT_THAT(seen, HasSubstr("status 0"));
    EXPECT_THAT(openssl(address, {"-tls1_2"}), Not(HasSubstr("status 0")));
  }
}

TEST_F(TlsProcessTest, ANodeWhoseFilesCannotBeUsedDoesNotStartAndSaysWhy) {
  ASSERT_EQ(::chmod(files_.path("server.key").c_str(), 0644), 0);
  const Finished refused =
      run("gcoordd", {"dev", "--config", config(""), "--listen-client", "127.0.0.1:0"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("GC1233"));
}

}  // namespace
}  // namespace gcoord::cli
