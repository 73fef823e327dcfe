#include "security/credentials/principal.h"

#include "common/text/cut.h"
#include "common/text/printable.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace gcoord::security {
namespace {

constexpr std::string_view kOwnScheme = "gcoord://";
constexpr std::string_view kSpiffeScheme = "spiffe://";
constexpr std::string_view kSpiffePart = "/gcoord/";

// CLUSTER/node/ID or CLUSTER/user/NAME.
struct OwnName {
  std::string_view cluster;
  std::string_view role;
  std::string_view name;
};

std::optional<OwnName> parts_of(std::string_view text) {
  const std::size_t first = text.find('/');
  const std::size_t second = first == text.npos ? first : text.find('/', first + 1);
  if (second == text.npos) {
    return std::nullopt;
  }
  return OwnName{
      text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

// What a URI says about clusters; nothing: it says nothing.
std::optional<OwnName> own_name(std::string_view uri) {
  if (uri.starts_with(kOwnScheme)) {
    return parts_of(uri.substr(kOwnScheme.size())).value_or(OwnName{});
  }
  if (uri.starts_with(kSpiffeScheme)) {
    const std::string_view rest = uri.substr(kSpiffeScheme.size());
    const std::size_t path = rest.find('/');
    if (path != rest.npos && rest.substr(path).starts_with(kSpiffePart)) {
      return parts_of(rest.substr(path + kSpiffePart.size())).value_or(OwnName{});
    }
  }
  return std::nullopt;
}

bool is_node_id(std::string_view text) {
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  return error == std::errc{} && end == text.data() + text.size() && id != 0 && text[0] != '0';
}

bool may_be_certified(std::string_view name) {
  return principal_name_valid(name) && !name.starts_with(kLocalPrefix);
}

Principal of_own_name(const OwnName& own, std::string_view cluster) {
  if (own.cluster != cluster) {
    return {};
  }
  if (own.role == "node" && is_node_id(own.name)) {
    return {PrincipalKind::Node, std::string{own.name}};
  }
  if (own.role == "user" && may_be_certified(own.name)) {
    return {PrincipalKind::Certificate, std::string{own.name}};
  }
  return {};
}

Principal certificate_of(std::string_view name) {
  return may_be_certified(name) ? Principal{PrincipalKind::Certificate, std::string{name}}
                                : Principal{};
}

}  // namespace

std::string_view principal_kind_name(PrincipalKind kind) {
  switch (kind) {
    case PrincipalKind::Certificate:
      return "certificate";
    case PrincipalKind::User:
      return "user";
    case PrincipalKind::Node:
      return "node";
    case PrincipalKind::Local:
      return "local";
    default:
      return "anonymous";
  }
}

std::string to_string(const Principal& principal) {
  std::string text{principal_kind_name(principal.kind)};
  return principal.name.empty() ? text : text + " " + principal.name;
}

std::string author_text(const Principal& principal, std::size_t bytes_max) {
  std::string text = principal.kind == PrincipalKind::Node ? to_string(principal) : principal.name;
  cut_utf8(text, bytes_max);
  return text;
}

Principal local_principal(std::uint32_t uid) {
  return {PrincipalKind::Local, std::string{kLocalPrefix} + "uid:" + std::to_string(uid)};
}

bool principal_name_valid(std::string_view name) {
  return !name.empty() && name.size() <= kPrincipalNameBytesMax && is_printable(name);
}

Principal principal_of(const CertificateNames& names, ClusterId cluster) {
  const std::string here = std::to_string(cluster.value);
  bool names_a_cluster = false;
  for (const std::string& uri : names.uris) {
    if (const auto own = own_name(uri)) {
      names_a_cluster = true;
      if (Principal principal = of_own_name(*own, here);
          principal.kind != PrincipalKind::Anonymous) {
        return principal;
      }
    }
  }
  if (names_a_cluster) {
    return {};
  }
  for (const std::string& uri : names.uris) {
    if (uri.starts_with(kSpiffeScheme)) {
      return certificate_of(uri);
    }
  }
  const auto dns = std::ranges::find_if(
      names.dns, [](const std::string& name) { return name.find('*') == name.npos; });
  return certificate_of(dns != names.dns.end() ? std::string_view{*dns} : names.common_name);
}

}  // namespace gcoord::security
