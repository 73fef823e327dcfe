// Commands of the cluster view, as they stand in shard 0's log behind a record header.
//
// Each one names the epoch that it changes, so that of two at once one is refused. Bytes are never
// renumbered: kind 1, version 1, expected 8, then by kind. Pure functions; thread-safe.
#pragma once

#include "membership/view/member_step.h"
#include "membership/view/table.h"
#include "protocol/members/view_messages.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::membership {

using protocol::MemberChange;

struct ViewCommand {
  ViewCommandKind kind = ViewCommandKind::Found;
  std::uint64_t expected = 0;  // The epoch of the view that it changes.
  ViewSettings settings;       // Found, Retune.
  std::vector<Member> nodes;   // Found: by rising id; Describe: the one node.
  MemberChange change;         // Update; its `expected` is the command's.
  MemberStep step;             // From Add on.

  friend bool operator==(const ViewCommand& a, const ViewCommand& b) = default;
};

// The longest encoding. A Found that would be longer leaves texts to later Describes
// (founding_command).
inline constexpr std::size_t kViewCommandBytesMax = 2040;

std::vector<std::byte> encode_view_command(const ViewCommand& command);

// Nothing for bytes that no node writes.
std::optional<ViewCommand> decode_view_command(std::span<const std::byte> bytes);

// The first view of these nodes, which are by rising id: names that two have or that are none
// become "node-N", and where it would be too long, nodes describe themselves later.
ViewCommand founding_command(const ViewSettings& settings, std::vector<Member> nodes);

// For the ledger's audit: "kind" first, integers decimal.
std::vector<std::pair<std::string, std::string>> view_command_facts(const ViewCommand& command);

}  // namespace gcoord::membership
