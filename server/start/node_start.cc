#include "server/start/node_start.h"

#include "ledger/base/error_details.h"
#include "ledger/directory/damaged_directory.h"
#include "ledger/directory/identity_file.h"
#include "ledger/disk/posix_disk.h"
#include "protocol/error_codes.h"
#include "server/interfaces/cluster_members.h"
#include "server/options/option_table.h"
#include "server/start/joining_directory.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

namespace gcoord::server {
namespace {

using protocol::ClusterView;
using protocol::Member;
using protocol::ViewSettings;

struct SettingOption {
  std::uint32_t ViewSettings::*member;
  std::string_view name;  // Of the option.
};

// The options that the view has an opinion of.
constexpr std::array kSettings = {
    SettingOption{&ViewSettings::shards, "shards"},
    SettingOption{&ViewSettings::tick_ms, "tick-ms"},
    SettingOption{&ViewSettings::election_ms, "election-ms"},
    SettingOption{&ViewSettings::heartbeat_ms, "heartbeat-ms"},
    SettingOption{&ViewSettings::durability, "durability"},
    SettingOption{&ViewSettings::turn, "turn"},
    SettingOption{&ViewSettings::stripes, "turn-stripes"},
};

std::string option_text(const SettingOption& setting, const ViewSettings& settings) {
  const std::uint32_t value = settings.*setting.member;
  if (setting.member == &ViewSettings::durability) {
    return value == 0 ? "durable" : "memory";
  }
  if (setting.member == &ViewSettings::turn) {
    return value == 0 ? "host" : "resident";
  }
  return std::to_string(value);
}

// The directory's word for an option that no source gave.
Status take(GivenOption option, Invocation& invocation) {
  if (is_given(invocation, option.name)) {
    return Status{};
  }
  const OptionRow* const row = find_option(option.name);
  GCOORD_ASSERT(row != nullptr);
  GCOORD_TRY_STATUS(apply_option(*row, option.text, invocation.options));
  invocation.given.push_back(std::move(option));
  return Status{};
}

Status take_identity(const ledger::NodeIdentity& identity, Invocation& invocation) {
  const std::string source = invocation.options.data_dir + "/identity";
  if (!is_given(invocation, "node-id")) {
    GCOORD_TRY_STATUS(take({"node-id", std::to_string(identity.node.value), source}, invocation));
    GCOORD_TRY_STATUS(name_node(identity.node, invocation));
  }
  if (is_given(invocation, "cluster-name") || is_given(invocation, "cluster-id")) {
    return Status{};
  }
  if (cluster_id_of(invocation.options.cluster_name) != identity.cluster) {
    // Only the number is known; in texts it stands for the name.
    invocation.options.cluster_name = std::to_string(identity.cluster.value);
  }
  return take({"cluster-id", std::to_string(identity.cluster.value), source}, invocation);
}

struct AdvertisedAddress {
  Endpoint& address;
  std::vector<std::string>& notes;
};

// A node that listens everywhere and says nothing else stays where the view has it. Whether another
// port leads there, or the node has moved to one, only the operator knows: `option` would say it.
void keep_address(const std::string& known, std::string_view option, AdvertisedAddress kept) {
  const auto parsed = parse_endpoint(known);
  if (!is_everywhere(kept.address) || !parsed.ok()) {
    return;
  }
  const Endpoint listens = std::exchange(kept.address, parsed.value());
  if (listens.port != 0 && listens.port != kept.address.port) {
    kept.notes.push_back("this node listens on " + to_string(listens) + " and is found at " +
                         known + ", where the view has it; if it has moved, " + "give " +
                         std::string(option));
  }
}

// The client address that --peer gives of a node counts for what clients are sent.
Endpoint client_address(const Member& member, const std::vector<PeerOption>& listed) {
  const auto hint = std::ranges::find(listed, member.id, &PeerOption::id);
  if (hint != listed.end() && !hint->client.empty()) {
    return hint->client;
  }
  const auto parsed = parse_endpoint(member.client_address);
  return parsed.ok() ? parsed.value() : Endpoint{};
}

std::vector<PeerOption> peers_of(const NodeStart& start) {
  const NodeOptions& options = start.options();
  std::vector<PeerOption> peers;
  for (const NodeId node : nodes_of(start.kept.view())) {
    const Member& member = *protocol::find_member(start.kept.view(), node);
    if (node == options.node) {
      continue;
    }
    // Port 0 of an address that nobody knows: the other node calls.
    const auto parsed = parse_endpoint(start.hints.address_of(member));
    peers.push_back(
        {node, parsed.ok() ? parsed.value() : Endpoint{}, client_address(member, options.peers)});
  }
  return peers;
}

Status check_present(const NodeStart& start) {
  const bool left = has_left(start.kept.view(), start.options().node);
  return start.kept.removed || left ? removed_error(start.kept.view(), start.options().node)
                                    : Status{};
}

Status unfinished(const std::string& directory) {
  return Status{StatusCode::FailedPrecondition,
                "a join into the data directory " + directory +
                    " has begun and is not finished; start the node with the same --join and "
                    "--join-token again, or empty the directory",
                ledger::kDirectoryNode};
}

// What a directory has, if it is one; what else is wrong with it is found when it is opened.
struct Found {
  KeptMembers kept;
  ledger::NodeIdentity identity;  // Where there are members, or a former cluster.
  std::optional<ledger::FormerCluster> former = {};
  bool joining = false;
};

Result<Found> look_into(const std::string& directory) {
  Found found;
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error)) {
    return found;
  }
  GCOORD_TRY(const auto disk, ledger::PosixDisk::open_directory(directory));
  GCOORD_TRY(found.kept, read_kept_members(*disk));
  GCOORD_TRY(found.former, ledger::read_former(*disk));
  if (found.kept.view().epoch == 0 && !found.former) {
    GCOORD_TRY(found.joining, is_joining(*disk));
    return found;
  }
  GCOORD_TRY(const auto identity, ledger::IdentityFile::read(*disk));
  found.identity = identity->identity();
  return found;
}

// A directory that took over another cluster's data before there was a view says this much itself.
Status take_shape(const ledger::NodeIdentity& identity, Invocation& invocation) {
  const std::string source = invocation.options.data_dir + "/identity";
  GCOORD_TRY_STATUS(take_identity(identity, invocation));
  GCOORD_TRY_STATUS(take({"shards", std::to_string(identity.shard_count), source}, invocation));
  return take({"durability", identity.keeps_log ? "durable" : "memory", source}, invocation);
}

// Whoever still names the old cluster learns what has become of it.
Status check_former(const NodeStart& start, const ledger::NodeIdentity& identity) {
  if (!start.former || start.options().cluster != start.former->cluster) {
    return Status{};
  }
  const std::string now = std::to_string(identity.cluster.value);
  return Status{StatusCode::FailedPrecondition,
                "the data directory " + start.options().data_dir + " belongs to cluster " + now +
                    ", which took the place of cluster " +
                    std::to_string(start.former->cluster.value) +
                    " (gcoordd --force-new-cluster); give --cluster-id " + now +
                    " in place of the old id or name",
                ledger::kDirectoryCluster};
}

std::vector<PeerHint> hints_in(const NodeOptions& options) {
  std::vector<PeerHint> hints;
  for (const PeerOption& peer : options.peers) {
    hints.push_back({peer.id, to_string(peer.peer)});
  }
  return hints;
}

Status take_view(NodeStart& start) {
  const ClusterView& view = start.kept.view();
  GCOORD_TRY(start.invocation, with_settings(std::move(start.invocation), view));
  NodeOptions& options = start.invocation.options;
  start.given = hints_in(options);  // Once the node's own id is known.
  start.hints = AddressHints(start.given, start.kept.hints, view);
  start.notes = start.hints.differences(view);
  options.peers = peers_of(start);
  if (const Member* const self = protocol::find_member(view, options.node)) {
    options.witness = self->role == protocol::MemberRole::Witness;
    keep_address(self->peer_address, "--advertise-peer", {options.advertise_peer, start.notes});
    keep_address(
        self->client_address, "--advertise-client", {options.advertise_client, start.notes});
  }
  return check_present(start);
}

}  // namespace

Status removed_error(const ClusterView& view, NodeId node) {
  const Member* const self = protocol::find_member(view, node);
  return protocol::make_error(protocol::ErrorCode::NodeRemoved,
                              "node " + std::to_string(node.value) +
                                  (self == nullptr ? "" : " \"" + self->name + "\"") + ", view " +
                                  std::to_string(view.epoch));
}

ViewSettings settings_of(const NodeOptions& options) {
  return {.shards = options.shards,
          .tick_ms = options.tick_ms,
          .election_ms = options.election_ms,
          .heartbeat_ms = options.heartbeat_ms,
          .durability = options.durability == Durability::Durable ? 0u : 1u,
          .turn = options.turn == TurnOption::Host ? 0u : 1u,
          .stripes = options.turn_stripes};
}

std::string contradiction(const Invocation& invocation, const ClusterView& view) {
  const ViewSettings own = settings_of(invocation.options);
  for (const SettingOption& setting : kSettings) {
    if (is_given(invocation, setting.name) &&
        own.*setting.member != view.settings.*setting.member) {
      return "--" + std::string(setting.name);
    }
  }
  return {};
}

Result<Invocation> with_settings(Invocation invocation, const ClusterView& view) {
  const ViewSettings own = settings_of(invocation.options);
  for (const SettingOption& setting : kSettings) {
    if (own.*setting.member != view.settings.*setting.member) {
      GCOORD_TRY_STATUS(take({std::string(setting.name),
                              option_text(setting, view.settings),
                              "cluster view " + std::to_string(view.epoch)},
                             invocation));
    }
  }
  GCOORD_TRY_STATUS(check_times(invocation.options));
  return invocation;
}

Result<NodeStart> node_start(Invocation invocation) {
  NodeStart start{.invocation = std::move(invocation),
                  .kept = {},
                  .carried = false,
                  .former = {},
                  .given = {},
                  .hints = {},
                  .notes = {}};
  start.given = hints_in(start.options());
  GCOORD_TRY(auto found, look_into(start.options().data_dir));
  if (found.joining) {
    return unfinished(start.options().data_dir);
  }
  if (found.kept.view().epoch == 0 && start.options().rejoin) {
    auto before = look_into(ledger::damaged_path(start.options().data_dir));
    start.carried = before.ok() && before.value().kept.view().epoch != 0;
    found = start.carried ? std::move(before).value() : std::move(found);
  }
  if (found.kept.view().epoch != 0) {
    start.kept = std::move(found.kept);
    GCOORD_TRY_STATUS(take_identity(found.identity, start.invocation));
  } else if (found.former) {
    GCOORD_TRY_STATUS(take_shape(found.identity, start.invocation));
  }
  start.former = found.former;
  GCOORD_TRY_STATUS(check_former(start, found.identity));
  if (start.kept.view().epoch != 0) {
    GCOORD_TRY_STATUS(take_view(start));
  }
  return start;
}

}  // namespace gcoord::server
