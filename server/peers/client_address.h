// Exchange of client addresses between nodes, so that --peer need not repeat them.
//
// A node announces its address to every peer now and then (a peer message of a kind of its own); a
// Welcome then names the whole cluster to a client that knows one endpoint. Until an address was
// heard, or where --peer gives one, the option stands. One thread.
#pragma once

#include "common/ids.h"
#include "protocol/hello.h"
#include "server/interfaces/cluster_members.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::server {

// First byte of the peer message; session_expiry.cc owns 1 and 2. Never renumber.
inline constexpr std::byte kClientAddressKind{3};

std::vector<std::byte> encode_client_address(std::string_view address);

// The address if the message is an announcement at all, and a plausible one.
std::optional<std::string> decode_client_address(std::span<const std::byte> message);

// Fills in the address of `node` where the Welcome has none or an announced one before. From view 1
// on an address that the Welcome has for another node is not taken. Whether the Welcome changed.
bool learn_client_address(protocol::Welcome& welcome, NodeId node, std::string_view address);

// Makes the Welcome's nodes those of the view that there are processes of, with the epoch. An
// address that the view does not know stays as it was. The node that welcomes is at `own_address`:
// it has started there if the view differs, and the view follows. Only an address that the view has
// for another node is no address of this one, until a later view gives it up. Whether the Welcome
// changed; before view 1 it does not.
bool set_members(protocol::Welcome& welcome,
                 const ClusterMembers& members,
                 std::string_view own_address);

}  // namespace gcoord::server
