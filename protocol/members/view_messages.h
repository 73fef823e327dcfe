// Payloads of requests about the cluster view: ViewGet and MemberUpdate.
//
// Decoding is bounded. Pure functions; thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/members/cluster_view.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::protocol {

inline constexpr std::size_t kMemberWhoBytesMax = 128;
// Lists of voters in an answer; more than a view's ids can make one after another.
inline constexpr std::uint32_t kViewListsMax = 256;
// Labels that one change sets or takes away.
inline constexpr std::uint32_t kMemberLabelChangesMax = 16;
// A node keeps a request that waits for a view so long at most.
inline constexpr std::uint32_t kViewWaitMsMax = 30'000;

// Which view is wanted. Payload: mode 1, members 1, reserved 2, wait 4, after 8.
struct ViewQuery {
  enum class Mode : std::uint8_t {
    Newest = 0,
    Next = 1,  // That with epoch after + 1.
  };

  Mode mode = Mode::Newest;
  std::uint64_t after = 0;
  // For so long the answer may wait for that view, at most kViewWaitMsMax; then it is the newest
  // one, whose epoch is not above `after`.
  std::uint32_t wait_ms = 0;
  // Whether the asker has Feature::Members. Others get the view as plain_view makes it.
  bool members = true;
};

std::vector<std::byte> encode_view_query(const ViewQuery& query);
Result<ViewQuery> decode_view_query(std::span<const std::byte> payload);

// What the answering node knows of one node of the view, by its own detector.
struct MemberSight {
  NodeId node;
  bool alive = false;
  std::optional<std::uint32_t> phi_milli;  // 1000 times how much it is suspected; none: not known.
  std::optional<std::uint32_t> heard_ms;   // Milliseconds since it was heard; none: never.
  std::uint64_t epoch = 0;                 // Of the view that it said to have; 0: it has said none.
};

// How the answering node's failure detector holds one of the other nodes. Words are numbers of
// membership/detector/opinion.h; later releases may have more of them.
struct MemberVerdict {
  NodeId node;
  std::uint8_t verdict = 0;
  std::uint8_t cause = 0;
  std::uint8_t level = 0;
  std::uint32_t phi_milli = 0;
  // Milliseconds since the verdict stands, and since the node was heard itself and through another
  // one; none: never.
  std::uint32_t since_ms = 0;
  std::optional<std::uint32_t> direct_ms;
  std::optional<std::uint32_t> indirect_ms;

  friend bool operator==(const MemberVerdict& a, const MemberVerdict& b) = default;
};

struct ViewAnswer {
  ClusterView view;
  std::uint64_t newest = 0;         // Epoch of the answering node's newest view.
  std::vector<MemberSight> sights;  // At most kViewNodesMax.
  // The lowest epoch that a majority of its voters may still go by, as far as the answering node
  // knows; 0: it does not say. Behind the rest, where earlier releases do not look.
  std::uint64_t settled = 0;
  // Of such views before `newest` the voters, ascending, each list once and none the newest view's;
  // at most kViewListsMax.
  std::vector<std::vector<NodeId>> earlier_voters{};
  // At most kViewNodesMax; empty: the node does not say. Behind the rest.
  std::vector<MemberVerdict> verdicts{};
};

std::vector<std::byte> encode_view_answer(const ViewAnswer& answer);
Result<ViewAnswer> decode_view_answer(std::span<const std::byte> payload);

// A change of what an operator says of a node, if the view has this epoch.
struct MemberChange {
  NodeId node;
  std::uint64_t expected = 0;
  std::uint64_t number = 0;         // Drawn by who asks: the same change twice is one.
  std::optional<std::string> name;  // None: stays.
  std::vector<MemberLabel> labels;  // Set; one with an empty value is taken away. By rising key.
  std::string who;                  // A principal, for the ledger. Nothing proves it.

  friend bool operator==(const MemberChange& a, const MemberChange& b) = default;
};

void write_change(ByteWriter& writer, const MemberChange& change);
// Nothing for lengths beyond the bounds, or keys that do not rise; whether names and labels are
// right is judged when it is applied.
std::optional<MemberChange> read_change(ByteReader& reader);

// Payload of MemberUpdate: dry run 1, then the change.
struct MemberOrder {
  bool dry_run = false;  // Say what would be, and change nothing.
  MemberChange change;
};

std::vector<std::byte> encode_member_order(const MemberOrder& order);
Result<MemberOrder> decode_member_order(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
