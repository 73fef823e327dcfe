#include "server/detector/datagram_socket.h"

#include "netcore/transport/name_lookup.h"

#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace gcoord::server {

namespace {

using netcore::FileDescriptor;
using netcore::SocketAddress;

// Bursts of 64 nodes that ping at once; the kernel's own default would do for most.
constexpr int kReceiveBytes = 1 << 20;

sockaddr* raw(SocketAddress& address) {
  return reinterpret_cast<sockaddr*>(&address.storage);
}

const sockaddr* raw(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(&address.storage);
}

void set_port(SocketAddress& address, std::uint16_t port) {
  if (address.storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address.storage).sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in&>(address.storage).sin_port = htons(port);
  }
}

Result<FileDescriptor> made(const SocketAddress& address) {
  const int family = address.storage.ss_family;
  FileDescriptor socket{::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  const int on = 1;
  const int off = 0;
  const bool six = family == AF_INET6;
  const bool ready =
      socket.is_open() &&
      ::setsockopt(socket.get(),
                   six ? IPPROTO_IPV6 : IPPROTO_IP,
                   six ? IPV6_RECVERR : IP_RECVERR,
                   &on,
                   sizeof on) == 0 &&
      (!six || ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0);
  if (!ready) {
    return Status{StatusCode::Unavailable, std::strerror(errno)};
  }
  // Less is no failure.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof kReceiveBytes);
  return socket;
}

// Whether the queued error is "nobody listens there", from the network.
bool is_refusal(msghdr& message) {
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
       each = CMSG_NXTHDR(&message, each)) {
    const bool error = (each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_RECVERR) ||
                       (each->cmsg_level == IPPROTO_IPV6 && each->cmsg_type == IPV6_RECVERR);
    if (!error) {
      continue;
    }
    sock_extended_err said{};
    std::memcpy(&said, CMSG_DATA(each), sizeof said);
    const bool four = said.ee_origin == SO_EE_ORIGIN_ICMP && said.ee_type == ICMP_DEST_UNREACH &&
                      said.ee_code == ICMP_PORT_UNREACH;
    const bool six = said.ee_origin == SO_EE_ORIGIN_ICMP6 && said.ee_type == ICMP6_DST_UNREACH &&
                     said.ee_code == ICMP6_DST_UNREACH_NOPORT;
    if (four || six) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<DatagramSocket>> DatagramSocket::open(const std::string& host,
                                                             std::uint16_t port) {
  SocketAddress address;
  if (!netcore::parse_numeric_address(host, port, address)) {
    GCOORD_TRY(address, netcore::NameLookup(host, port, 0).wait());
  }
  std::string why;
  for (std::uint32_t next = port; next <= std::uint32_t{port} + kPortsMax && next <= 65535;
       ++next) {
    FileDescriptor socket;
    GCOORD_TRY(socket, made(address));
    set_port(address, static_cast<std::uint16_t>(next));
    if (::bind(socket.get(), raw(address), address.length) == 0) {
      SocketAddress bound;
      bound.length = sizeof bound.storage;
      ::getsockname(socket.get(), raw(bound), &bound.length);
      const bool six = bound.storage.ss_family == AF_INET6;
      const std::uint16_t got = ntohs(six ? reinterpret_cast<sockaddr_in6&>(bound.storage).sin6_port
                                          : reinterpret_cast<sockaddr_in&>(bound.storage).sin_port);
      return std::unique_ptr<DatagramSocket>(
          new DatagramSocket(std::move(socket), bound.storage.ss_family, got));
    }
    why = std::strerror(errno);
    if (errno != EADDRINUSE) {
      break;
    }
  }
  return Status{StatusCode::Unavailable, netcore::to_string(address) + ": " + why};
}

bool DatagramSocket::send(const SocketAddress& to, std::span<const std::byte> bytes) {
  // An error that waits at the socket, of an earlier datagram, ends the first call.
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (::sendto(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL, raw(to), to.length) >=
        0) {
      return true;
    }
    if (errno != ECONNREFUSED && errno != EHOSTUNREACH && errno != ENETUNREACH) {
      return false;
    }
  }
  return false;
}

int DatagramSocket::receive(std::size_t bytes_max,
                            const OnDatagram& on_datagram,
                            const OnRefused& on_refused) {
  int count = receive_refusals(on_refused);
  std::vector<std::byte> bytes(bytes_max + 1);
  while (count < kBatch) {
    SocketAddress from;
    from.length = sizeof from.storage;
    const ssize_t size =
        ::recvfrom(socket_.get(), bytes.data(), bytes.size(), 0, raw(from), &from.length);
    if (size >= 0) {
      ++count;
      on_datagram(from, std::span(bytes).first(static_cast<std::size_t>(size)));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else {
      // An error of an earlier datagram; its address is in the other queue.
      ++count;
    }
  }
  return count + receive_refusals(on_refused);
}

int DatagramSocket::receive_refusals(const OnRefused& on_refused) {
  int count = 0;
  for (; count < kBatch; ++count) {
    SocketAddress to;
    std::array<std::byte, 64> ignored{};
    alignas(cmsghdr) std::array<std::byte, 512> control{};
    iovec part{ignored.data(), ignored.size()};
    msghdr message{};
    message.msg_name = &to.storage;
    message.msg_namelen = sizeof to.storage;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    if (::recvmsg(socket_.get(), &message, MSG_ERRQUEUE) < 0) {
      break;
    }
    to.length = message.msg_namelen;
    if (is_refusal(message)) {
      on_refused(to);
    }
  }
  return count;
}

SocketAddress DatagramSocket::mapped(const SocketAddress& address) const {
  if (family_ != AF_INET6 || address.storage.ss_family != AF_INET) {
    return address;
  }
  const auto& four = reinterpret_cast<const sockaddr_in&>(address.storage);
  SocketAddress result;
  auto& six = reinterpret_cast<sockaddr_in6&>(result.storage);
  six.sin6_family = AF_INET6;
  six.sin6_port = four.sin_port;
  six.sin6_addr.s6_addr[10] = 0xff;
  six.sin6_addr.s6_addr[11] = 0xff;
  std::memcpy(&six.sin6_addr.s6_addr[12], &four.sin_addr, 4);
  result.length = sizeof six;
  return result;
}

}  // namespace gcoord::server
