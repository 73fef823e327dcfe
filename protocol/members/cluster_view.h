// The cluster view: which nodes a cluster has, by one number that only grows.
//
// A view is a value. Each change makes the next one, whose epoch is one higher; epoch 0 is no view.
// A node's id is never given to another node: one that has left stays as a tombstone. Encoding is
// the same everywhere, in shard 0's state, in snapshots and in answers to clients; decoding is
// bounded and refuses whatever no node writes. Pure functions; thread-safe.
#pragma once

#include "common/bytes.h"
#include "common/ids.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

inline constexpr std::size_t kMemberNameBytesMax = 64;
inline constexpr std::size_t kMemberAddressBytesMax = 255;
inline constexpr std::size_t kMemberLabelsMax = 8;
inline constexpr std::size_t kMemberLabelBytesMax = 64;  // Of key, '=' and value together.
inline constexpr std::uint32_t kViewNodesMax = 64;       // Tombstones too.
inline constexpr std::uint32_t kMemberIdMax = 65535;     // Between nodes ids travel in 16 bits.

// What a node does in the cluster. Never renumber.
enum class MemberRole : std::uint8_t {
  Voter = 1,
  Observer = 2,  // Has the log and the services' state, and no vote.
  Witness = 3,   // Votes and has the log, and no services' state.
};

// How far a node has come. Never renumber.
enum class MemberState : std::uint8_t {
  Joining = 1,
  Active = 2,
  Draining = 3,
  Removed = 4,  // A tombstone: it has left, and its id is not used again.
  Leaving = 5,  // On its way out: shard after shard goes on without it; then it is Removed.
};

// What an operator says of where a node is: "zone" and "a". Keys are lower-case letters, digits,
// '.', '_' and '-'; values are not empty and have no space and no comma.
struct MemberLabel {
  std::string key;
  std::string value;

  friend bool operator==(const MemberLabel& a, const MemberLabel& b) = default;
};

// Leave to join once, for whoever has the token; the view has only what the token hashes to.
struct Invitation {
  std::array<std::byte, 32> token_hash{};  // join_token_hash.
  std::uint64_t deadline_ms = 0;           // Unix milliseconds; afterwards nobody joins with it.

  friend bool operator==(const Invitation& a, const Invitation& b) = default;
};

struct Member {
  NodeId id;
  // The life in which it described itself last; while its number waits for another directory
  // (is_renewed), the one before the first life of that.
  Incarnation incarnation;
  MemberRole role = MemberRole::Voter;
  MemberState state = MemberState::Active;
  std::uint32_t weight = 1;
  bool described = false;           // It has said its name, addresses and labels itself.
  std::string name;                 // No other node that has not left has it.
  std::string peer_address;         // "host:port"; empty: not known.
  std::string client_address;       // The same.
  std::vector<MemberLabel> labels;  // By rising key.

  // From here on: with Feature::Members only.
  std::optional<Invitation> invitation;  // Joining: no process has come yet.
  std::uint64_t directory = 0;           // Id of the data directory that it joined with; 0: none.
  bool auto_promote = false;             // Joining: becomes active once it has caught up.
  NodeId replaces;                       // Joining: takes this one's place; 0: nobody's.
  bool suspect = false;                  // The cluster holds it for failed.
  std::uint64_t suspect_since_ms = 0;    // Unix milliseconds, by the node that proposed it.

  friend bool operator==(const Member& a, const Member& b) = default;
};

// What all nodes of the cluster were started with.
struct ViewSettings {
  std::uint32_t shards = 0;
  std::uint32_t tick_ms = 0;
  std::uint32_t election_ms = 0;
  std::uint32_t heartbeat_ms = 0;
  std::uint32_t durability = 0;  // 0: durable, 1: memory.
  std::uint32_t turn = 0;        // 0: host, 1: resident.
  std::uint32_t stripes = 0;     // Of a resident turn; 0: by the number of shards.

  friend bool operator==(const ViewSettings& a, const ViewSettings& b) = default;
};

struct ClusterView {
  std::uint64_t epoch = 0;  // 0: there is none, and nodes is empty.
  ViewSettings settings;
  std::vector<Member> nodes;  // By rising id.

  friend bool operator==(const ClusterView& a, const ClusterView& b) = default;
};

// The node of this id, a tombstone too; nullptr: the view never had it.
const Member* find_member(const ClusterView& view, NodeId id);

// 1 to 64 letters, digits, '.', '_' or '-'. "node-N" is a name for node N only.
bool is_member_name(std::string_view name, NodeId id);

// "node-N".
std::string default_member_name(NodeId id);

// Printable, at most kMemberAddressBytesMax; empty is one.
bool is_member_address(std::string_view address);

bool is_member_label(const MemberLabel& label);

// "zone=a"; nothing for what is no label.
std::optional<MemberLabel> parse_member_label(std::string_view text);

// At most kMemberLabelsMax of them, each one, by rising key.
bool are_member_labels(std::span<const MemberLabel> labels);

// "zone=a,rack=7".
std::string member_labels_text(std::span<const MemberLabel> labels);

// "voter" and the like; "unknown" for a number outside the enum.
std::string_view member_role_name(MemberRole role);
std::string_view member_state_name(MemberState state);

// What a client without Feature::Members can read of the view: one that leaves is draining there,
// and what is said with that feature only is left out.
ClusterView plain_view(const ClusterView& view);

// In version 1 where that can say all of it, else in version 2. Equal views give equal bytes.
std::vector<std::byte> encode_view(const ClusterView& view);

// Nothing for bytes that no node writes: a view that breaks a rule above, or trailing bytes.
std::optional<ClusterView> decode_view(std::span<const std::byte> bytes);

// The same, for encodings that have more around them. A reader whose bytes are wrong fails.
void write_member(ByteWriter& writer, const Member& member);
void write_settings(ByteWriter& writer, const ViewSettings& settings);
void write_labels(ByteWriter& writer, std::span<const MemberLabel> labels);
std::optional<Member> read_member(ByteReader& reader);
ViewSettings read_settings(ByteReader& reader);
// Whether they are labels is the caller's to say; at most `count_max`.
std::optional<std::vector<MemberLabel>> read_labels(ByteReader& reader, std::uint32_t count_max);

}  // namespace gcoord::protocol
