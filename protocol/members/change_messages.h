// Payloads of MemberChange and MemberProgress: the nodes of a cluster changed while it works.
//
// Every change is for one view or for whichever is the newest, and has a number that its asker
// drew: a repetition is answered with the view that it made. Decoding is bounded. Pure functions;
// thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/members/cluster_view.h"
#include "protocol/members/join_messages.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

// Votes of one node at most.
inline constexpr std::uint32_t kMemberWeightMax = 255;
// A token lasts so long at most, and at least a second.
inline constexpr std::uint64_t kJoinTokenMsMax = std::uint64_t{7} * 24 * 3600 * 1000;

// What is to be done with a node. Never renumber.
enum class MemberAction : std::uint8_t {
  Add = 1,          // Invite a node that is not there yet; the answer has its token.
  Promote = 2,      // A joining node becomes active; what it replaces leaves in the same view.
  Remove = 3,       // It leaves, shard after shard; one that is only invited at once.
  Drain = 4,        // It goes on voting and leads nothing.
  Undrain = 5,      // Back from that.
  Reweigh = 6,      // Other votes.
  MoveLeaders = 7,  // The node that is asked hands over what it leads, once. No new view.
};

// "add" and the like; "unknown" for a number outside the enum.
std::string_view member_action_name(MemberAction action);

// Payload of MemberChange. Fields that an action does not name are 0 or empty.
struct MemberActionOrder {
  MemberAction action = MemberAction::Add;
  bool dry_run = false;        // Say what would be, and change nothing.
  bool force = false;          // Also where a quorum of live nodes is lost, or a node lags.
  std::uint64_t expected = 0;  // The epoch that it is for; 0: the newest, whichever that is.
  std::uint64_t number = 0;    // Drawn by who asks: the same order twice is one. Not 0.
  NodeId node;                 // All but Add.
  NodeId replaces;             // Add, Promote: whose place it takes; 0: nobody's, or as added.
  std::uint32_t weight = 0;    // Add, Reweigh.
  MemberRole role = MemberRole::Voter;  // Add.
  bool auto_promote = false;            // Add.
  std::uint64_t token_ms = 0;           // Add: how long the token lasts; 1 s to kJoinTokenMsMax.
  std::string name;                     // Add; empty: "node-N".
  std::vector<MemberLabel> labels;      // Add; by rising key.
  std::string who;                      // A principal, for the ledger. Nothing proves it.

  friend bool operator==(const MemberActionOrder& a, const MemberActionOrder& b) = default;
};

std::vector<std::byte> encode_member_action(const MemberActionOrder& order);
Result<MemberActionOrder> decode_member_action(std::span<const std::byte> payload);

// How many votes may fail. Those of voters that leave do not count.
struct MemberTolerance {
  std::uint32_t votes = 0;
  std::uint32_t alive = 0;   // Of them, as the answering node sees their nodes.
  std::uint32_t needed = 0;  // For a majority.

  friend bool operator==(const MemberTolerance& a, const MemberTolerance& b) = default;
};

// How far the shards of the cluster have come with the newest view, as the leader of shard 0 has
// heard it of the others.
struct MemberMoves {
  std::uint64_t epoch = 0;    // Of the newest view that all counts are for; 0: not all are heard.
  std::uint32_t shards = 0;   // Of the cluster.
  std::uint32_t led = 0;      // That somebody leads,
  std::uint32_t settled = 0;  // of them with the configuration that the view wants,
  std::uint32_t ready = 0;    // and of them where every joining node has the log.

  friend bool operator==(const MemberMoves& a, const MemberMoves& b) = default;
};

// Answer to MemberChange.
struct MemberActionAnswer {
  ClusterView view;                // That it made, or would make; for MoveLeaders the newest.
  NodeId node;                     // That it is about; of Add the new one.
  std::optional<JoinToken> token;  // Of Add, if the answering node drew it; once is enough.
  std::uint64_t deadline_ms = 0;   // Unix milliseconds: until when the token lasts.
  MemberTolerance before;
  MemberTolerance after;
  MemberMoves moves;
  std::uint32_t handed_over =
      0;  // Of MoveLeaders: shards whose leadership another one was offered.

  friend bool operator==(const MemberActionAnswer& a, const MemberActionAnswer& b) = default;
};

// A later release may say more behind it.
std::vector<std::byte> encode_member_action_answer(const MemberActionAnswer& answer);
Result<MemberActionAnswer> decode_member_action_answer(std::span<const std::byte> payload);

// Answer to MemberProgress, whose own payload is empty.
std::vector<std::byte> encode_member_moves(const MemberMoves& moves);
Result<MemberMoves> decode_member_moves(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
