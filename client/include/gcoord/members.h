// The nodes of a cluster as the cluster itself has decided them: the cluster view.
//
// Every change makes the next view, with an epoch one higher, and all nodes have the same sequence
// of views. Client::view reads one or waits for the next; Client::update_member changes what is
// said of a node, if the view is still the one that the caller has seen. Client::add_member invites
// a node, and Client::change_member leads it on its way through the cluster. Times of day are those
// of the nodes' clocks. Plain values; no thread rules.
//
//  auto view = client.view();
//  ...  // Wait for the next one, or for the same one after 60 seconds.
//  view = client.view({.after = view.value().epoch, .wait = 60s});
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcoord::client {

// The role of a node in the cluster. Never renumber: it is in requests.
enum class MemberRole : std::uint8_t {
  Voter = 1,     // Has the log and the state, votes, and may lead.
  Observer = 2,  // Has the log and the state, and no vote.
  Witness = 3,   // Votes and has the log, and no state.
};

// How far a node has come: Joining, Active, and back out by Leaving to Removed; Draining ends
// with MemberAction::Undrain. Its votes count from Active on until it is Removed. Never renumber:
// it is in answers.
enum class MemberState : std::uint8_t {
  Joining = 1,  // Invited, or there and about to catch up; it has no vote yet.
  Active = 2,
  Draining = 3,  // It votes, and leads nothing (MemberAction::Drain).
  Removed = 4,   // It has left, and its id is never used again.
  Leaving = 5,   // On its way out: shard after shard goes on without it.
};

// A word of an operator about where a node is: "zone" and "a". Keys and values have at most 64
// bytes, and a node at most 8 labels (GC6615).
struct MemberLabel {
  std::string key;
  std::string value;
};

// A node of the view. Its addresses are what it said of itself in the life `incarnation`, so they
// follow it when it is started elsewhere.
struct MemberDescription {
  std::uint32_t node_id = 0;
  std::uint32_t incarnation = 0;  // The life in which it described itself last.
  MemberRole role = MemberRole::Voter;
  MemberState state = MemberState::Active;
  std::uint32_t weight = 1;  // Votes; an observer has none, whatever stands here.
  std::string name;          // No other node of the cluster has it.
  // "host:port" for other nodes and for clients; empty while it is not known.
  std::string peer_address;
  std::string client_address;
  std::vector<MemberLabel> labels;  // By rising key.
  // Joining: nobody has come with the token yet, and until when somebody may. An invitation that
  // runs out stays in the view until the node is removed.
  bool invited = false;
  std::chrono::system_clock::time_point invited_until;
  bool auto_promote = false;   // Joining: becomes active once it has caught up.
  std::uint32_t replaces = 0;  // Joining: whose place it takes; 0: nobody's.
  bool suspect = false;        // The cluster holds it for failed,
  std::chrono::system_clock::time_point suspect_since;  // since then.
};

// How a node holds another one, by its failure detector. Nodes may differ about a third one;
// MemberDescription::suspect is what the cluster has decided.
enum class MemberVerdict : std::uint8_t {
  Alive = 0,
  Doubted = 1,  // It is late, or something speaks against it; it is being probed.
  Suspect = 2,  // Probes through others failed, too.
};

// The strongest reason of a verdict; None of Alive. Reasons say what was seen, not what is so: a
// node that nobody hears may be at work.
enum class SuspicionCause : std::uint8_t {
  None = 0,
  Silent = 1,   // Nothing is heard of it.
  Refused = 2,  // Its host says that nobody listens there: the process is gone.
  Device = 3,   // It says itself that its GPU does not work any more.
  Link = 4,     // Others hear it, this node does not.
};

// Where a failure is, as far as one can tell from outside: of the node as a whole, of its GPU, of
// its process while the host answers, or of the host and all that is on it.
enum class FailureLevel : std::uint8_t { Node = 0, Device = 1, Process = 2, Host = 3 };

// The verdict of the failure detector of the node that answered on another one. phi_milli is 1000
// times how much its silence surprises, by how it was heard before: 8000 is about one false alarm
// in 10^8.
struct MemberSuspicion {
  MemberVerdict verdict = MemberVerdict::Alive;
  SuspicionCause cause = SuspicionCause::None;
  FailureLevel level = FailureLevel::Node;
  std::uint32_t phi_milli = 0;         // As MemberSighting has it, of datagrams, too.
  std::chrono::milliseconds since{0};  // For so long the verdict stands.
  // Since it was heard itself, and through another node; empty: never. One that is heard indirectly
  // alone has a broken link to the node that answered (SuspicionCause::Link).
  std::optional<std::chrono::milliseconds> direct;
  std::optional<std::chrono::milliseconds> indirect;
};

// The knowledge of the node that answered about another. It says nothing of a majority: two
// sightings of different nodes may contradict each other.
struct MemberSighting {
  std::uint32_t node_id = 0;
  bool alive = false;
  // 1000 times how much it is suspected, as phi accrual counts it: 1000 when one silence in ten
  // would be as long, 2000 when one in a hundred would; empty: not known.
  std::optional<std::uint32_t> phi_milli;
  // Since it was heard last; empty: never in the life of the node that answered.
  std::optional<std::chrono::milliseconds> heard;
  // Of the view that it says it has, which it goes by; 0: it has said none. Votes of an earlier
  // view may count until all nodes go by the newest.
  std::uint64_t epoch = 0;
  // By the failure detector; empty: of the answering node itself, or of an earlier release.
  std::optional<MemberSuspicion> suspicion;
};

// One view of the cluster, equal at every node that has this epoch, and what the node that answered
// sees of its nodes now.
struct MembershipView {
  std::uint64_t epoch = 0;
  // Of the newest view that the node has. Above `epoch`, there are later views to read one by one
  // with ViewOptions::after.
  std::uint64_t newest_epoch = 0;
  std::vector<MemberDescription> members;  // By rising id; those that have left, too.
  std::vector<MemberSighting> sightings;
};

// Argument of Client::view: which view, of which node, and how long to wait for it.
struct ViewOptions {
  // The node to ask, for what that one sees; 0: any.
  std::uint32_t node_id = 0;
  std::optional<std::uint64_t> after;  // The view with the next epoch; empty: the newest view.
  // How long to wait for that view. When it does not come, the answer is the newest one, whose
  // epoch is not above `after`. 0: do not wait.
  std::chrono::milliseconds wait{0};
};

// Argument of Client::update_member: what an operator says of a node. The update is made of the
// view with epoch `view` or not at all (GC6602).
struct MemberUpdate {
  std::uint32_t node_id = 0;
  std::uint64_t view = 0;           // The epoch that the change is for.
  std::optional<std::string> name;  // Empty: stays.
  std::vector<MemberLabel> labels;  // To set; with an empty value: to take away.
  bool dry_run = false;             // Say what the view would be, and change nothing.
  std::string who;                  // For the ledger; nothing proves it. At most 128 bytes.
};

// Argument of Client::add_member: a node that is to come. The cluster gives it an id, and a machine
// that is started with gcoordd --join and --join-token becomes that node, with an empty data
// directory of its own. The token of the answer is a secret: whoever has it within token_ttl can
// join as that node.
struct MemberAddition {
  MemberRole role = MemberRole::Voter;
  std::uint32_t weight = 1;    // Votes, 1 to 255; an observer has none, whatever stands here.
  bool auto_promote = true;    // Becomes active once it has caught up.
  std::uint32_t replaces = 0;  // Takes this node's place in one change; 0: nobody's.
  std::string name;            // Empty: "node-N".
  std::vector<MemberLabel> labels;
  // How long somebody may join with the token: 1 s to 7 days.
  std::chrono::milliseconds token_ttl = std::chrono::hours{1};
  std::uint64_t view = 0;  // The epoch that the change is for; 0: the newest.
  bool dry_run = false;    // Say what the view would be, and change nothing.
  bool force = false;      // Although a quorum of live nodes is lost.
  std::string who;         // For the ledger; nothing proves it. At most 128 bytes.
};

// What Client::change_member does with a node. A change returns when the view has it, not when the
// shards have: Client::member_progress says how far they are. Never renumber: it is in requests.
enum class MemberAction : std::uint8_t {
  Promote = 2,      // A joining one becomes active; the one that it replaces leaves.
  Remove = 3,       // It leaves, shard after shard, and its id is never used again.
  Drain = 4,        // It goes on voting and leads nothing.
  Undrain = 5,      // Back from that.
  Reweigh = 6,      // Other votes.
  MoveLeaders = 7,  // It hands over what it leads, once; the view stays.
};

// Argument of Client::change_member: one step of one node, made of the view with epoch `view` or
// not at all (GC6602). A cluster with --turn resident keeps the number of nodes that it began
// with, and one vote for each (GC6640).
struct MemberChange {
  MemberAction action = MemberAction::Drain;
  std::uint32_t node_id = 0;
  std::uint32_t replaces = 0;  // Promote: takes this node's place; 0: as it was added.
  std::uint32_t weight = 0;    // Reweigh.
  std::uint64_t view = 0;      // The epoch that the change is for; 0: the newest.
  bool dry_run = false;        // Say what the view would be, and change nothing.
  // Although a quorum of live nodes is lost, or the node lags (GC6624, GC6625). With more votes
  // gone than a majority leaves, nothing is decided any more until nodes come back.
  bool force = false;
  std::string who;  // For the ledger; nothing proves it. At most 128 bytes.
};

// How many votes may fail: `alive` less `needed` of those that live now. With fewer alive than
// needed nothing can be decided.
struct MemberTolerance {
  std::uint32_t votes = 0;
  std::uint32_t alive = 0;   // Of them, as the leader of shard 0 sees their nodes.
  std::uint32_t needed = 0;  // For a majority.
};

// How far the shards have come with a view, as the leader of shard 0 has heard it. A change is
// whole when led and settled are equal to shards, for the epoch of the view that it made.
struct MemberProgress {
  std::uint64_t epoch = 0;    // Of the view.
  std::uint32_t shards = 0;   // Of the cluster,
  std::uint32_t led = 0;      // of them those that somebody leads and has spoken of,
  std::uint32_t settled = 0;  // of those with the nodes that the view wants,
  std::uint32_t ready = 0;    // and of those where every joining node has the log.
};

// The result of a change: the view that it made, and how the cluster stands with it.
//
//  auto added = client.add_member({.replaces = 2});
//  if (added.ok()) { start_machine(added.value().node_id, added.value().token); }
//  ...  // Until the shards have followed the view:
//  auto progress = client.member_progress();
struct ChangedMember {
  MembershipView view;        // That it made, or would make; without sightings.
  std::uint32_t node_id = 0;  // That it is about; of an addition the new one.
  // Of an addition: what the new node joins with, 32 hexadecimal digits, and until when. Empty for
  // a dry run, or when the node that drew it died before it was answered: remove the new node then.
  std::string token;
  std::chrono::system_clock::time_point token_deadline;
  // How many votes may fail before the change and after it, once all shards have followed the view.
  MemberTolerance before;
  MemberTolerance after;
  // How far the shards were when this was answered; mostly not far yet.
  MemberProgress progress;
  std::uint32_t handed_over = 0;  // Of MoveLeaders: shards that were offered to others.
};

// A condition of the cluster that lasts for too long. Never renumber: it is in answers.
enum class AlarmKind : std::uint8_t {
  NotConverged = 1,    // A node is joining or leaving for longer than --converge-after.
  SuspectForLong = 2,  // The cluster holds a node for failed for longer than --replace-after.
};

// An alarm that a node has raised; each node has its own, and others may not see what this one saw.
// It goes by itself once its condition is over.
struct ClusterAlarm {
  AlarmKind kind = AlarmKind::NotConverged;  // A later release may send others.
  std::uint32_t node_id = 0;                 // That it is about.
  std::chrono::system_clock::time_point since;
  bool armed = true;  // False: an operator has seen it, and it counts no more until it comes anew.
  std::string text;   // The finding, and what may be done.
};

// Argument of Client::alarms: what to do with the alarms of the node.
struct AlarmChange {
  bool disarm = false;            // Those that match; false: only say which there are.
  std::optional<AlarmKind> kind;  // Of this kind; empty: of all.
  std::uint32_t about = 0;        // About this node; 0: about any.
  std::string who;                // For the node's log; nothing proves it. At most 128 bytes.
};

}  // namespace gcoord::client
