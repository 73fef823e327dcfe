// Audit of the ordered heads: every leaf of the cluster log is compared with this node's own trees
// before this node signs.
//
// Leaves are compared in their order, a bounded number per call. Leaves that this node's trees had
// before they were ordered (head_review.h, or a round of its own) count as compared; they are noted
// as ranges, as they may lie behind leaves that are not compared yet. A head that differs makes the
// shard suspected (history_quarantine.h). One thread.
#pragma once

#include "ledger/notes/shard_head.h"
#include "ledger/publication/history_quarantine.h"
#include "ledger/publication/publication_base.h"

#include <cstdint>
#include <map>

namespace gcoord::server {

class HeadAudit {
 public:
  // Leaves below what was signed that are compared again at start: what has changed on the disk
  // since is found where it is likely to be asked for.
  static constexpr std::uint64_t kComparedAgain = 4096;

  // Both outlive it.
  HeadAudit(PublicationBase& base, HistoryQuarantine& quarantine)
      : base_(base), quarantine_(quarantine) {}

  // Once, before anything else.
  void start();

  // Leaves that this node's own trees were compared with.
  std::uint64_t compared() const { return compared_; }

  // This node's own trees had these leaves before they were ordered.
  void note_agreed(std::uint64_t begin, std::uint64_t end);

  // Compares leaves below `trusted`. True: there is more that need not be waited for.
  bool advance(std::uint64_t trusted);

  // Leaves below `first` were pruned, compared or not.
  void let_go_below(std::uint64_t first);

  // The cluster log begins anew at `first`, as other nodes have it.
  void begin_at(std::uint64_t first);

 private:
  std::uint64_t skip_agreed();
  bool compare(const ledger::ShardHead& head);

  PublicationBase& base_;
  HistoryQuarantine& quarantine_;
  std::map<std::uint64_t, std::uint64_t> agreed_;  // Leaves behind compared_: begin and end.
  std::uint64_t compared_ = 0;
};

}  // namespace gcoord::server
