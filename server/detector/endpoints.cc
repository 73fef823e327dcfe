#include "server/detector/endpoints.h"

#include "server/detector/datagram_socket.h"
#include "server/platform/endpoint_name.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gcoord::server {

namespace {

using netcore::SocketAddress;

constexpr std::uint64_t kRetryMs = 2000;

// 16 bytes of the host, IPv4 in IPv6, and the port in network order.
struct Parts {
  std::uint8_t host[16]{};
  std::uint16_t port = 0;

  bool same_host(const Parts& other) const {
    return std::memcmp(host, other.host, sizeof host) == 0;
  }

  bool operator==(const Parts& other) const { return same_host(other) && port == other.port; }
};

Parts parts_of(const SocketAddress& address) {
  Parts parts;
  if (address.storage.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(address.storage);
    std::memcpy(parts.host, &six.sin6_addr, sizeof parts.host);
    parts.port = six.sin6_port;
  } else if (address.storage.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address.storage);
    parts.host[10] = 0xff;
    parts.host[11] = 0xff;
    std::memcpy(parts.host + 12, &four.sin_addr, 4);
    parts.port = four.sin_port;
  }
  return parts;
}

}  // namespace

void DatagramEndpoints::set(const std::map<NodeId, std::string>& addresses) {
  std::map<NodeId, Known> kept;
  for (const auto& [node, text] : addresses) {
    const auto known = nodes_.find(node);
    if (known != nodes_.end() && known->second.text == text) {
      kept.emplace(node, std::move(known->second));
      continue;
    }
    Known fresh;
    fresh.text = text;
    const auto endpoint = parse_endpoint(text, PortZero::Allowed);
    SocketAddress numeric;
    if (endpoint.ok() && endpoint.value().port != 0) {
      if (netcore::parse_numeric_address(endpoint.value().host, endpoint.value().port, numeric)) {
        fresh.listed = fresh.address = numeric;
      }
    } else {
      fresh.retry_ms = ~std::uint64_t{0};
    }
    kept.emplace(node, std::move(fresh));
  }
  nodes_ = std::move(kept);
}

void DatagramEndpoints::advance(std::uint64_t now_ms) {
  for (auto& [node, known] : nodes_) {
    if (known.address) {
      continue;
    }
    if (known.lookup) {
      if (auto answer = known.lookup->poll()) {
        known.lookup.reset();
        known.retry_ms = now_ms + kRetryMs;
        if (answer->ok()) {
          known.listed = known.address = answer->value();
        }
      }
    } else if (now_ms >= known.retry_ms) {
      const auto endpoint = parse_endpoint(known.text, PortZero::Allowed);
      known.lookup.emplace(endpoint.value().host, endpoint.value().port, known.attempts++);
    }
  }
}

const SocketAddress* DatagramEndpoints::find(NodeId node) const {
  const auto known = nodes_.find(node);
  return known == nodes_.end() || !known->second.address ? nullptr : &*known->second.address;
}

const SocketAddress* DatagramEndpoints::find_other(NodeId node) const {
  const auto known = nodes_.find(node);
  return known == nodes_.end() || !known->second.other ? nullptr : &*known->second.other;
}

// Where another port was learned, it is no news of the node that nobody listens at the listed one.
NodeId DatagramEndpoints::node_at(const SocketAddress& address) const {
  const Parts wanted = parts_of(address);
  for (const auto& [node, known] : nodes_) {
    if (known.listed && parts_of(*known.listed) == wanted && parts_of(*known.address) == wanted) {
      return node;
    }
  }
  return NodeId{};
}

void DatagramEndpoints::ask(NodeId node, std::uint32_t sequence) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) {
    return;
  }
  std::deque<std::uint32_t>& asked = found->second.asked;
  asked.push_back(sequence);
  if (asked.size() > kAsked) {
    asked.pop_front();
  }
}

bool DatagramEndpoints::may_be_at(const Known& known, const SocketAddress& from) {
  if (!known.listed) {
    return false;
  }
  const Parts listed = parts_of(*known.listed);
  const Parts parts = parts_of(from);
  const std::uint32_t first = ntohs(listed.port);
  const std::uint32_t port = ntohs(parts.port);
  return parts.same_host(listed) && port >= first && port <= first + DatagramSocket::kPortsMax;
}

bool DatagramEndpoints::hear(NodeId node, const SocketAddress& from) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || !may_be_at(found->second, from)) {
    return false;
  }
  Known& known = found->second;
  if (parts_of(*known.address) != parts_of(from)) {
    known.other = from;
  }
  return true;
}

void DatagramEndpoints::learn(NodeId node, const SocketAddress& from, std::uint32_t sequence) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || !may_be_at(found->second, from)) {
    return;
  }
  Known& known = found->second;
  if (std::ranges::find(known.asked, sequence) != known.asked.end()) {
    known.address = from;
    known.other.reset();
  }
}

std::string DatagramEndpoints::host_of(NodeId node) const {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) {
    return {};
  }
  const auto endpoint = parse_endpoint(known->second.text, PortZero::Allowed);
  return endpoint.ok() ? endpoint.value().host : std::string{};
}

}  // namespace gcoord::server
