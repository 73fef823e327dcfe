// The nodes of a cluster as the cluster itself has decided them: the cluster view.
//
// Every change makes the next view, with an epoch one higher, and all nodes have the same sequence
// of views. Client::view reads one or waits for the next; Client::update_member changes what is
// said of a node, if the view is still the one that the caller has seen. Plain values; no thread
// rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::client {

// What a node does in the cluster.
enum class MemberRole : std::uint8_t {
  Voter = 1,
  Observer = 2,  // Has the log and the state, and no vote.
  Witness = 3,   // Votes and has the log, and no state.
};

// How far a node has come.
enum class MemberState : std::uint8_t {
  Joining = 1,
  Active = 2,
  Draining = 3,
  Removed = 4,  // It has left, and its id is never used again.
  Leaving = 5,  // On its way out: shard after shard goes on without it.
};

// A word of an operator about where a node is: "zone" and "a".
struct MemberLabel {
  std::string key;
  std::string value;
};

// A node of the view.
struct MemberDescription {
  std::uint32_t node_id = 0;
  std::uint32_t incarnation = 0;  // The life in which it described itself last.
  MemberRole role = MemberRole::Voter;
  MemberState state = MemberState::Active;
  std::uint32_t weight = 1;
  std::string name;
  // "host:port" for other nodes and for clients; empty while it is not known.
  std::string peer_address;
  std::string client_address;
  std::vector<MemberLabel> labels;  // By rising key.
};

// What the node that answered knows of another, by its own failure detector.
struct MemberSighting {
  std::uint32_t node_id = 0;
  bool alive = false;
  // 1000 times how much it is suspected, as phi accrual counts it; empty: not known.
  std::optional<std::uint32_t> phi_milli;
  // Since it was heard last; empty: never in the life of the node that answered.
  std::optional<std::chrono::milliseconds> heard;
  std::uint64_t epoch = 0;  // Of the view that it says it has; 0: it has said none.
};

// One view of the cluster, and what the node that answered sees of its nodes now.
struct MembershipView {
  std::uint64_t epoch = 0;
  std::uint64_t newest_epoch = 0;          // Of the newest view that the node has.
  std::vector<MemberDescription> members;  // By rising id; those that have left, too.
  std::vector<MemberSighting> sightings;
};

// Argument of Client::view.
struct ViewOptions {
  std::uint32_t node_id = 0;           // The node to ask; 0: any.
  std::optional<std::uint64_t> after;  // The view with the next epoch; empty: the newest view.
  // How long to wait for that view. When it does not come, the answer is the newest one, whose
  // epoch is not above `after`. 0: do not wait.
  std::chrono::milliseconds wait{0};
};

// Argument of Client::update_member: what an operator says of a node.
struct MemberUpdate {
  std::uint32_t node_id = 0;
  std::uint64_t view = 0;           // The epoch that the change is for.
  std::optional<std::string> name;  // Empty: stays.
  std::vector<MemberLabel> labels;  // To set; with an empty value: to take away.
  bool dry_run = false;             // Say what the view would be, and change nothing.
  std::string who;                  // For the ledger; nothing proves it. At most 128 bytes.
};

}  // namespace gcoord::client
