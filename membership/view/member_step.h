// Steps of a node's way through the cluster, as commands of the view carry them.
//
// One struct for all kinds; each kind writes only its own fields. Pure functions; thread-safe.
#pragma once

#include "membership/view/table.h"
#include "protocol/members/join_messages.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::membership {

// Never renumber: they are in logs.
enum class ViewCommandKind : std::uint8_t {
  Found = 1,     // The first view, from the fixed list of nodes.
  Describe = 2,  // What a node says of itself: where it is, in which life.
  Update = 3,    // What an operator says of a node.
  Retune = 4,    // The settings that all nodes were started with anew.
  // From here on: with Feature::Members only, each with a MemberStep.
  Add = 5,       // A node is invited. Its id: one more than the highest that there ever was.
  Admit = 6,     // It has come, with the token.
  Promote = 7,   // A joining node becomes active; the one that it replaces leaves.
  Leave = 8,     // A node is on its way out; one that was only invited is gone at once.
  Gone = 9,      // A node that was on its way out has left everywhere.
  Drain = 10,    // It leads nothing any more.
  Undrain = 11,  // Back from that.
  Suspect = 12,  // The cluster holds it for failed, or no longer.
  Reweigh = 13,  // Another weight.
  // With Feature::MemberMarks only.
  Marks = 14,  // As Suspect, of several nodes in one view.
  // With Feature::Renewals only.
  Renew = 15,  // A voter's number is for another data directory, which joins as Add's node does.
};

constexpr bool is_member_step(ViewCommandKind kind) {
  return kind >= ViewCommandKind::Add && kind <= ViewCommandKind::Renew;
}

// A node that is held for failed, or no longer.
struct SuspectMark {
  NodeId node;
  bool suspect = false;

  friend bool operator==(const SuspectMark& a, const SuspectMark& b) = default;
};

struct MemberStep {
  NodeId node;                      // All but Add and Marks.
  NodeId replaces;                  // Add; Promote, unless 0: in place of what Add said.
  std::uint32_t weight = 0;         // Add, Reweigh.
  MemberRole role{};                // Add.
  bool auto_promote = false;        // Add.
  bool suspect = false;             // Suspect.
  std::vector<SuspectMark> marks;   // Marks: by rising id, at least one.
  std::uint64_t time_ms = 0;        // Admit, Suspect, Marks: Unix milliseconds at the proposer.
  protocol::Invitation invitation;  // Add, Renew.
  protocol::JoinProof proof{};      // Admit: of the token, which no log has.
  std::uint64_t directory = 0;      // Admit.
  std::string name;                 // Add; Admit and Renew, unless empty.
  std::string peer_address;         // Admit.
  std::string client_address;       // Admit.
  std::vector<MemberLabel> labels;  // Add; Admit and Renew, unless empty.
  std::uint64_t number = 0;         // What an operator's order had; 0: nobody ordered it.
  std::string who;                  // Who ordered it.

  friend bool operator==(const MemberStep& a, const MemberStep& b) = default;
};

// The fields of a kind that is_member_step.
void write_step(ByteWriter& writer, ViewCommandKind kind, const MemberStep& step);
std::optional<MemberStep> read_step(ByteReader& reader, ViewCommandKind kind);

// For the ledger's audit: "kind" first, integers decimal. The proof is not in it.
std::vector<std::pair<std::string, std::string>> step_facts(ViewCommandKind kind,
                                                            const MemberStep& step);

}  // namespace gcoord::membership
