#include "server/options/option_groups.h"

#include <algorithm>
#include <array>

namespace gcoord::server {
namespace {

// A pattern is a name, or the beginning or the end of one with a '*' for the rest. The first rule
// that fits holds.
struct GroupRule {
  std::string_view pattern;
  std::string_view group;
};

constexpr std::array kRules = {
    GroupRule{"node-id", "Cluster"},
    GroupRule{"cluster-secret", "Trust"},
    GroupRule{"peer-proof", "Trust"},
    GroupRule{"peer", "Cluster"},
    GroupRule{"cluster-*", "Cluster"},
    GroupRule{"join*", "Cluster"},
    GroupRule{"member-name", "Cluster"},
    GroupRule{"label", "Cluster"},
    GroupRule{"view-after", "Cluster"},
    GroupRule{"listen-*", "Addresses"},
    GroupRule{"unix-mode", "Addresses"},
    GroupRule{"advertise-*", "Addresses"},
    GroupRule{"insecure", "Addresses"},
    GroupRule{"tls-*", "Security"},
    GroupRule{"*-tls", "Security"},
    GroupRule{"client-certificates", "Security"},
    GroupRule{"peer-transport", "Addresses"},
    GroupRule{"data-dir", "Data"},
    GroupRule{"shards", "Data"},
    GroupRule{"durability", "Data"},
    GroupRule{"rejoin", "Data"},
    GroupRule{"checkpoint-*", "Data"},
    GroupRule{"ledger-*", "Ledger"},
    GroupRule{"slow-*", "Logs"},
    GroupRule{"suspicion", "Times and elections"},
    GroupRule{"*-ms", "Times and elections"},
    GroupRule{"*-after", "Times and elections"},
    GroupRule{"*-interval", "Times and elections"},
    GroupRule{"coordinator", "Times and elections"},
    GroupRule{"session-keys", "Trust"},
    GroupRule{"session-notes", "Trust"},
    GroupRule{"token-life", "Trust"},
    GroupRule{"first-admin", "Trust"},
    GroupRule{"*-max", "Limits"},
    GroupRule{"device*", "Devices"},
    GroupRule{"turn*", "Devices"},
    GroupRule{"gpu-*", "Devices"},
    GroupRule{"resident-*", "Devices"},
    GroupRule{"io-*", "Addresses"},
    GroupRule{"trace", "Logs"},
    GroupRule{"cpu-profiles", "Logs"},
    GroupRule{"log-*", "Logs"},
};

bool fits(std::string_view name, std::string_view pattern) {
  if (pattern.ends_with('*')) {
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
  }
  return pattern.starts_with('*') ? name.ends_with(pattern.substr(1)) : name == pattern;
}

}  // namespace

std::string option_group(std::string_view name) {
  const auto* rule = std::ranges::find_if(
      kRules, [name](const GroupRule& each) { return fits(name, each.pattern); });
  return std::string{rule == kRules.end() ? "Other options" : rule->group};
}

}  // namespace gcoord::server
