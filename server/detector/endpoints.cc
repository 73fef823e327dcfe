#include "server/detector/endpoints.h"

#include "server/platform/endpoint_name.h"

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
        fresh.address = numeric;
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
          known.address = answer->value();
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

NodeId DatagramEndpoints::node_at(const SocketAddress& address) const {
  const Parts wanted = parts_of(address);
  for (const auto& [node, known] : nodes_) {
    if (known.address) {
      const Parts parts = parts_of(*known.address);
      if (parts.same_host(wanted) && parts.port == wanted.port) {
        return node;
      }
    }
  }
  return NodeId{};
}

bool DatagramEndpoints::learn(NodeId node, const SocketAddress& from) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) {
    return false;
  }
  Known& known = found->second;
  if (known.address && !parts_of(*known.address).same_host(parts_of(from))) {
    return false;
  }
  known.address = from;
  return true;
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
