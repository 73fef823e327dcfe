// A port of 127.0.0.1 that stays this test's own while its servers come and go.
//
// A listener that has died leaves its port to whoever connects next: the kernel may hand it out as
// the near end of somebody else's connection, and the listener cannot come back. A socket that is
// bound and never listens keeps it from that, and lets servers with SO_REUSEADDR listen. Linux.
#pragma once

#include "netcore/transport/tcp_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

namespace gcoord::netcore {

class HeldPort {
 public:
  HeldPort() : holder_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    auto* bytes = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::setsockopt(holder_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
    EXPECT_EQ(::bind(holder_.get(), bytes, length), 0);
    EXPECT_EQ(::getsockname(holder_.get(), bytes, &length), 0);
    port_ = ntohs(address.sin_port);
  }

  std::uint16_t port() const { return port_; }

 private:
  FileDescriptor holder_;
  std::uint16_t port_ = 0;
};

}  // namespace gcoord::netcore
