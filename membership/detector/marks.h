// Marks of suspicion in the view, as the leader of shard 0 decides about them: which nodes it
// proposes to mark, and which marks to take away.
//
// A node is marked once the leader's own detector suspects it and the others do not disagree. A
// mark goes once the node was not suspect for a while, which doubles with each mark of the last ten
// minutes, so that a node that comes and goes does not fill the log. The leader's own mark goes at
// once. A proposal is repeated until the view has it. Times are milliseconds of one clock. Pure;
// one thread.
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

  // `view`: the marks as the newest view has them; none but those nodes are marked.
  std::vector<Mark> decide(std::span<const Mark> view,
                           const Detector& detector,
                           std::uint64_t now_ms);

  // This node does not lead shard 0 any more, or not yet.
  void rest() { proposals_.clear(); }

 private:
  struct Proposal {
    std::uint64_t next_ms = 0;  // Not again before.
    std::uint64_t clear_ms = kClearMs;
    std::uint64_t marked_ms = 0;  // When a mark was proposed first, of the last one; 0: never.
    bool under_way = false;       // The view did not have that mark yet.
  };

  std::map<NodeId, Proposal> proposals_;
};

}  // namespace gcoord::membership
