// An address of this machine beyond loopback, for tests of what depends on that.
#pragma once

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>

namespace gcoord {

// Of IPv4; nothing where the machine has no other network than loopback.
inline std::optional<std::string> own_address_beyond_loopback() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    return std::nullopt;
  }
  std::optional<std::string> found;
  for (const ifaddrs* each = first; each != nullptr && !found; each = each->ifa_next) {
    const bool suits = each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET &&
                       (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0;
    if (suits) {
      sockaddr_in address{};
      std::memcpy(&address, each->ifa_addr, sizeof address);
      std::array<char, INET_ADDRSTRLEN> text{};
      ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
      found = text.data();
    }
  }
  ::freeifaddrs(first);
  return found;
}

}  // namespace gcoord
