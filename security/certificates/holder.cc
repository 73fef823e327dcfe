#include "security/certificates/holder.h"

#include "security/certificates/error_details.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace gcoord::certificates {
namespace {

constexpr std::string_view kScheme = "gcoord://";
constexpr std::string_view kSpiffe = "spiffe://";
constexpr std::size_t kUserBytesMax = 64;  // As X.520 bounds a common name.

bool is_letter_or_digit(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9');
}

// One text per number: no sign, no leading zero, not 0.
template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end && !text.starts_with('0') && !text.starts_with('-');
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/')) {
    parts.push_back(path.substr(0, slash));
    path.remove_prefix(slash + 1);
  }
  parts.push_back(path);
  return parts;
}

// "17/node/3" and so on.
std::optional<Holder> parse_path(std::string_view path) {
  const auto parts = parts_of(path);
  Holder holder;
  if (!parse_number(parts[0], holder.cluster)) {
    return std::nullopt;
  }
  if (parts.size() == 2 && parts[1] == "ca") {
    holder.kind = HolderKind::Authority;
    return holder;
  }
  if (parts.size() != 3) {
    return std::nullopt;
  }
  if (parts[1] == "node" && parse_number(parts[2], holder.node)) {
    holder.kind = HolderKind::Node;
    return holder;
  }
  if (parts[1] == "user" && is_user_name(parts[2])) {
    holder.kind = HolderKind::User;
    holder.user = parts[2];
    return holder;
  }
  return std::nullopt;
}

Status invalid(const std::string& why) {
  return {StatusCode::InvalidArgument, why, kHolderInvalid};
}

}  // namespace

bool is_user_name(std::string_view name) {
  constexpr std::string_view kSigns = "-._~@+";
  return !name.empty() && name.size() <= kUserBytesMax && std::ranges::all_of(name, [&](char byte) {
    return is_letter_or_digit(byte) || kSigns.find(byte) != kSigns.npos;
  });
}

Status check_holder(const Holder& holder) {
  if (holder.cluster == 0) {
    return invalid("the id of the cluster is missing; it is cluster_id of the nodes");
  }
  if (holder.kind == HolderKind::Node && holder.node == 0) {
    return invalid("node 0 is none; ids begin with 1");
  }
  if (holder.kind == HolderKind::User && !is_user_name(holder.user)) {
    return invalid("'" + holder.user + "' has not 1 to 64 letters, digits and -._~@+");
  }
  return {};
}

std::string holder_name(const Holder& holder) {
  switch (holder.kind) {
    case HolderKind::Node:
      return "node-" + std::to_string(holder.node);
    case HolderKind::User:
      return holder.user;
    case HolderKind::Authority:
      break;
  }
  return "ca";
}

std::string uri_of(const Holder& holder) {
  const std::string cluster = std::string{kScheme} + std::to_string(holder.cluster);
  switch (holder.kind) {
    case HolderKind::Node:
      return cluster + "/node/" + std::to_string(holder.node);
    case HolderKind::User:
      return cluster + "/user/" + holder.user;
    case HolderKind::Authority:
      break;
  }
  return cluster + "/ca";
}

std::optional<Holder> parse_holder(std::string_view uri) {
  if (uri.starts_with(kScheme)) {
    return parse_path(uri.substr(kScheme.size()));
  }
  if (!uri.starts_with(kSpiffe)) {
    return std::nullopt;
  }
  constexpr std::string_view kBetween = "/gcoord/";
  const std::string_view rest = uri.substr(kSpiffe.size());
  const std::size_t slash = rest.find('/');
  if (slash == 0 || slash == rest.npos || !rest.substr(slash).starts_with(kBetween)) {
    return std::nullopt;
  }
  return parse_path(rest.substr(slash + kBetween.size()));
}

}  // namespace gcoord::certificates
