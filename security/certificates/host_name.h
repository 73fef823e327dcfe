// Names of hosts: an address, a DNS name, or neither. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>

namespace gcoord::certificates {

enum class HostKind : std::uint8_t { Address, Name, Neither };

// Addresses are of IPv4 or IPv6, without brackets, zone and port. A name has labels of letters,
// digits, '-' and '_' (RFC 1123, section 2.1), 253 bytes at most; its first label may be "*".
HostKind kind_of_host(const std::string& text);

}  // namespace gcoord::certificates
