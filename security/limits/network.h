// Networks of IP addresses as text and as bits: "192.0.2.7", "192.0.2.0/24", "2001:db8::/32".
//
// An IPv4 address is its IPv4-mapped IPv6 address, so a network has one form. Pure; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gcoord::security {

using AddressBits = std::array<unsigned char, 16>;

struct Network {
  AddressBits bits{};  // Zero behind the prefix.
  unsigned prefix_bits = 128;

  bool contains(const AddressBits& address) const;

  // Whether an address of this host is in it.
  bool has_loopback() const;

  friend bool operator==(const Network& a, const Network& b) = default;
};

// Nothing for text that is no address and no network, or with bits behind its prefix.
std::optional<Network> parse_network(std::string_view text);

// The one text of a network: an address without its length where it is a single one.
std::string to_string(const Network& network);

}  // namespace gcoord::security
