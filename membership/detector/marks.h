// Marks of suspicion in the view, as the leader of shard 0 decides about them: which nodes it
// proposes to mark, and which marks to take away.
//
// A node is marked once the leader's own detector suspects it and the others do not disagree. A
// mark goes once the node was not suspect for a while, which doubles with each mark of the last ten
// minutes, so that a node that comes and goes does not fill the log. The leader's own mark goes
// without that wait. A proposal is repeated until the view has it.
//
// Nodes that fail together are marked together: a change waits until none came for kQuietMs and no
// other node is on its way to one, kGatherMs at most, and all that have come by then are proposed
// at once. Deaths of k nodes within that time so make one view and not k, and none is seen later by
// more than kGatherMs (docs/adr/0116). Times are milliseconds of one clock. Pure; one thread.
#pragma once

#include "common/ids.h"
#include "membership/detector/detector.h"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace gcoord::membership {

// A node in the view, or what its mark should be.
struct Mark {
  NodeId node;
  bool suspect = false;

  friend bool operator==(const Mark& a, const Mark& b) = default;
};

class Marks {
 public:
  static constexpr std::uint64_t kClearMs = 1000;
  static constexpr std::uint64_t kClearMsMax = 60'000;
  static constexpr std::uint64_t kRepeatMs = 500;
  // Processes that are killed by one command end within some milliseconds.
  static constexpr std::uint64_t kQuietMs = 25;
  // A round of probes of a node that is doubted.
  static constexpr std::uint64_t kGatherMs = 100;

  // What is to be proposed now, in one view, by rising id; nothing while changes are gathered.
  // `view`: the marks as the newest view has them, by rising id; none but those nodes are marked.
  std::vector<Mark> decide(std::span<const Mark> view,
                           const Detector& detector,
                           std::uint64_t now_ms);

  // This node does not lead shard 0 any more, or not yet.
  void rest() {
    proposals_.clear();
    gathered_ = {};
  }

  // When decide() is to be called at the latest; ~0: no change waits.
  std::uint64_t next_deadline_ms() const { return gathered_.next_ms; }

 private:
  struct Proposal {
    std::uint64_t next_ms = 0;  // Not again before.
    std::uint64_t clear_ms = kClearMs;
    std::uint64_t marked_ms = 0;  // When a mark was proposed first, of the last one; 0: never.
    bool under_way = false;       // The view did not have that mark yet.
  };

  // Changes that wait for others.
  struct Gathered {
    std::vector<Mark> marks;
    std::uint64_t since_ms = 0;  // When the first one came.
    std::uint64_t newest_ms = 0;
    std::uint64_t next_ms = ~std::uint64_t{0};
  };

  // Changes that are due, and whether more may follow soon.
  struct Due {
    std::vector<Mark> marks;
    bool more = false;
  };

  Due due(std::span<const Mark> view, const Detector& detector, std::uint64_t now_ms);
  bool has_gathered(const Due& due, std::uint64_t now_ms);
  void note_proposed(const Mark& mark, std::uint64_t now_ms);

  std::map<NodeId, Proposal> proposals_;
  Gathered gathered_;
};

}  // namespace gcoord::membership
