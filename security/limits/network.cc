#include "security/limits/network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace gcoord::security {

namespace {

constexpr unsigned kMappedBits = 96;
constexpr AddressBits kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
constexpr std::size_t kTextBytesMax = 64;

bool is_mapped(const AddressBits& bits) {
  return std::equal(kMapped.begin(), kMapped.begin() + 12, bits.begin());
}

// The bits of `address` up to `count`, zero behind them.
AddressBits head_of(const AddressBits& address, unsigned count) {
  AddressBits head{};
  for (unsigned k = 0; k < head.size() && k * 8 < count; ++k) {
    const unsigned kept = std::min(count - k * 8, 8u);
    head[k] = static_cast<unsigned char>(address[k] & (0xff00u >> kept));
  }
  return head;
}

struct Address {
  AddressBits bits{};
  unsigned offset = 0;  // Bits before the text's own ones.
};

std::optional<Address> parse_address(const std::string& text) {
  Address address{kMapped, kMappedBits};
  if (inet_pton(AF_INET, text.c_str(), address.bits.data() + 12) == 1) {
    return address;
  }
  address.offset = 0;
  if (inet_pton(AF_INET6, text.c_str(), address.bits.data()) == 1) {
    return address;
  }
  return std::nullopt;
}

std::string address_text(const AddressBits& bits) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool four = is_mapped(bits);
  inet_ntop(four ? AF_INET : AF_INET6, bits.data() + (four ? 12 : 0), text.data(), text.size());
  return text.data();
}

}  // namespace

bool Network::contains(const AddressBits& address) const {
  return head_of(address, prefix_bits) == bits;
}

bool Network::has_loopback() const {
  AddressBits six{};
  six.back() = 1;
  AddressBits four = kMapped;
  four[12] = 127;
  const Network loop{head_of(four, kMappedBits + 8), kMappedBits + 8};
  return contains(six) || contains(four) || loop.contains(bits);
}

std::optional<Network> parse_network(std::string_view text) {
  if (text.size() > kTextBytesMax || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t slash = text.find('/');
  const auto address = parse_address(std::string(text.substr(0, slash)));
  if (!address) {
    return std::nullopt;
  }
  unsigned length = 128 - address->offset;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    unsigned given = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), given);
    if (read.ec != std::errc{} || read.ptr != digits.data() + digits.size() || given > length) {
      return std::nullopt;
    }
    length = given;
  }
  const Network network{address->bits, length + address->offset};
  return network.contains(network.bits) ? std::optional(network) : std::nullopt;
}

std::string to_string(const Network& network) {
  const bool four = is_mapped(network.bits) && network.prefix_bits >= kMappedBits;
  const std::string address = address_text(network.bits);
  if (network.prefix_bits == 128) {
    return address;
  }
  return address + "/" + std::to_string(network.prefix_bits - (four ? kMappedBits : 0));
}

}  // namespace gcoord::security
