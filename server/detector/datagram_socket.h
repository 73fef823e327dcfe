// Socket for datagrams of failure detection, which also says whose host refused one.
//
// A host without a socket at a port answers a datagram with "port unreachable"; Linux keeps these
// answers beside the socket, with the address that the datagram was for (IP_RECVERR, ip(7)). Never
// blocks. One thread.
#pragma once

#include "common/status.h"
#include "netcore/transport/tcp_socket.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace gcoord::server {

class DatagramSocket {
 public:
  // Datagrams that one receive() takes at most; more wake the loop again.
  static constexpr int kBatch = 256;
  // Ports after the first one that open() tries.
  static constexpr std::uint16_t kPortsMax = 8;

  // Binds the port or, where it is taken, one of the next. Unavailable: none of them, or the host
  // is none of this machine.
  static Result<std::unique_ptr<DatagramSocket>> open(const std::string& host, std::uint16_t port);

  // Readable when there is something to receive.
  int fd() const { return socket_.get(); }

  std::uint16_t port() const { return port_; }

  // False: the system did not take it. That is a lost datagram.
  bool send(const netcore::SocketAddress& to, std::span<const std::byte> bytes);

  using OnDatagram =
      std::function<void(const netcore::SocketAddress& from, std::span<const std::byte> bytes)>;
  using OnRefused = std::function<void(const netcore::SocketAddress& to)>;

  // Takes what is there. A datagram that is longer than `bytes_max` comes with one byte more than
  // that. Returns how many came, refusals too.
  int receive(std::size_t bytes_max, const OnDatagram& on_datagram, const OnRefused& on_refused);

  // The address as this socket sends to it: IPv4 in IPv6 where the socket is of IPv6.
  netcore::SocketAddress mapped(const netcore::SocketAddress& address) const;

 private:
  DatagramSocket(netcore::FileDescriptor socket, int family, std::uint16_t port)
      : socket_(std::move(socket)), family_(family), port_(port) {}

  int receive_refusals(const OnRefused& on_refused);

  netcore::FileDescriptor socket_;
  int family_;
  std::uint16_t port_;
};

}  // namespace gcoord::server
