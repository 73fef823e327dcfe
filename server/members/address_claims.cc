#include "server/members/address_claims.h"

#include "server/platform/endpoint_name.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

namespace {

using protocol::Member;

// "0.0.0.0:7400" names no node: each that listens everywhere may say it to its clients.
bool names_a_node(const std::string& address) {
  const auto endpoint = parse_endpoint(address);
  return !address.empty() && !(endpoint.ok() && is_everywhere(endpoint.value()));
}

}  // namespace

std::string clash_text(const AddressClash& clash) {
  return "node " + std::to_string(clash.node.value) + " says " + clash.said + ", which node " +
         std::to_string(clash.holder.value) + " has; the view keeps " +
         (clash.kept.empty() ? "none" : clash.kept) + " for it";
}

NodeId AddressClaims::holder_of(const Member& claimant, std::string Member::*address) const {
  const auto holder = std::ranges::find_if(said_, [&](const Member& each) {
    return each.id != claimant.id && each.*address == claimant.*address;
  });
  return holder == said_.end() ? NodeId{} : holder->id;
}

Member AddressClaims::granted(const Member& known,
                              Member said,
                              std::vector<AddressClash>& clashes) const {
  for (std::string Member::*const address : {&Member::peer_address, &Member::client_address}) {
    if (said.*address == known.*address || !names_a_node(said.*address)) {
      continue;
    }
    if (const NodeId holder = holder_of(said, address); holder.value != 0) {
      clashes.push_back(
          {known.id, holder, std::exchange(said.*address, known.*address), known.*address});
    }
  }
  return said;
}

}  // namespace gcoord::server
