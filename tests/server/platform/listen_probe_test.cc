#include "server/platform/listen_probe.h"

#include "protocol/error_codes.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gcoord::server {
namespace {

// A socket that listens on a port of loopback that was free.
class Listener {
 public:
  Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_, 1), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
  }

  ~Listener() { ::close(socket_); }

  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port = 0;

 private:
  int socket_;
};

TEST(ListenProbe, FindsAPortThatAnotherHasAndLeavesAFreeOneFree) {
  Endpoint address{"127.0.0.1", 0};
  EXPECT_TRUE(probe_listen("listen-peer", address).ok());
  EXPECT_TRUE(probe_listen("listen-peer", Endpoint{}).ok());
  {
    const Listener other;
    address.port = other.port;
    const Status taken = probe_listen("listen-peer", address);
    EXPECT_EQ(taken.detail(), static_cast<std::uint32_t>(protocol::ErrorCode::ListenFailed));
    EXPECT_NE(taken.message().find("--listen-peer 127.0.0.1:" + std::to_string(address.port)),
              std::string::npos);
  }
  EXPECT_TRUE(probe_listen("listen-peer", address).ok());
  EXPECT_TRUE(probe_listen("listen-peer", address).ok()) << "a probe must not take the port itself";
}

}  // namespace
}  // namespace gcoord::server
