// The members of its cluster that a node keeps in its data directory, as the content of the file
// `members` (ledger/directory/members_file.h).
//
// From view 1 on a node goes by this at every start: it knows the others, their addresses and the
// settings before it has spoken to anybody. A directory without the file is one from before view 1.
// Values and pure functions but for read and write; one thread at a time.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/disk/disk.h"
#include "protocol/members/cluster_view.h"
#include "server/interfaces/cluster_members.h"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

// An address that --peer gave, and what the view said of that node when it was given first. Once
// the view says something else than that, it is the newer one (address_hints.h).
struct KeptHint {
  NodeId node;
  std::string address;
  std::string view_address;

  friend bool operator==(const KeptHint& a, const KeptHint& b) = default;
};

// By which invitation a directory joined: SHA-256 of its token.
using TokenHash = std::array<std::byte, 32>;

struct KeptMembers {
  ClusterMembers members;              // A view of epoch 0: none is kept.
  std::vector<KeptHint> hints;         // By rising node.
  std::optional<TokenHash> joined_by;  // None: the directory belongs to a founder of its cluster.
  bool removed = false;                // This node has left the cluster, by its own view.

  const protocol::ClusterView& view() const { return members.view; }

  friend bool operator==(const KeptMembers& a, const KeptMembers& b) = default;
};

std::vector<std::byte> encode_kept_members(const KeptMembers& kept);

// Nothing for bytes that no node writes.
std::optional<KeptMembers> decode_kept_members(std::span<const std::byte> bytes);

// With epoch 0 where the directory has no such file. Failures: those of ledger::read_members.
Result<KeptMembers> read_kept_members(ledger::Disk& disk);

// Durable on return. `kept` has a view. Failures: those of ledger::write_members.
Status write_kept_members(ledger::Disk& disk, const KeptMembers& kept);

}  // namespace gcoord::server
