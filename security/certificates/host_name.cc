#include "security/certificates/host_name.h"

#include <arpa/inet.h>

#include <algorithm>
#include <string_view>

namespace gcoord::certificates {
namespace {

constexpr std::size_t kNameBytesMax = 253;
constexpr std::size_t kLabelBytesMax = 63;

bool is_label(std::string_view label) {
  const auto fits = [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
  };
  return !label.empty() && label.size() <= kLabelBytesMax && label.front() != '-' &&
         label.back() != '-' && std::ranges::all_of(label, fits);
}

bool is_name(std::string_view text) {
  if (text.size() > kNameBytesMax) {
    return false;
  }
  if (text.starts_with("*.")) {
    text.remove_prefix(2);
  }
  std::size_t dot = 0;
  while ((dot = text.find('.')) != text.npos) {
    if (!is_label(text.substr(0, dot))) {
      return false;
    }
    text.remove_prefix(dot + 1);
  }
  // No top level is all digits: 10.0.0.256 is a mistyped address.
  return is_label(text) && !std::ranges::all_of(text, [](char b) { return b >= '0' && b <= '9'; });
}

}  // namespace

HostKind kind_of_host(const std::string& text) {
  in6_addr address{};
  if (::inet_pton(AF_INET, text.c_str(), &address) == 1 ||
      ::inet_pton(AF_INET6, text.c_str(), &address) == 1) {
    return HostKind::Address;
  }
  return is_name(text) ? HostKind::Name : HostKind::Neither;
}

}  // namespace gcoord::certificates
