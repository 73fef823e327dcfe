// Review of other nodes' heads against this node's own trees: the exchange of roots before
// publication.
//
// A publisher sends its heads in pages; each is compared with the root of this node's own tree at
// the same size. A head that this node has not reached yet is waited for, but not for long: then
// the publisher is told so and leaves the shard for the next round. One batch per sender is kept,
// the newest, and the one before while it is not ordered here, so memory is bounded by twice
// kHeadsPerRoundMax heads per node of the cluster. What is
// compared equal here needs no second look when the round is ordered. One thread.
#pragma once

#include "common/ids.h"
#include "ledger/heads/message.h"
#include "ledger/merkle/tree_reader.h"
#include "ledger/notes/shard_head.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

using TreeOf = std::function<std::shared_ptr<const ledger::TreeReader>(ShardId)>;
// PublicationPort::heads.
using HeadsOf =
    std::function<Result<std::vector<ledger::ShardHead>>(std::span<const ShardId> shards)>;
// PublicationPort::heads_at.
using HeadsAt =
    std::function<Result<std::vector<ledger::ShardHead>>(std::span<const ledger::ShardHead> named)>;

// What a node knows of its own trees; for any thread.
struct OwnTrees {
  TreeOf tree_of;
  HeadsOf heads_of;
  HeadsAt heads_at;
};

// Whether a tree that is read has the root that is known of it without reading. A tree that is not
// that large yet has no say.
Status read_back(const ledger::TreeReader& tree, const ledger::ShardHead& head);

struct HeadComparison {
  HeadVerdict verdict = HeadVerdict::Unknown;
  ledger::MerkleHash root{};  // This node's own, if it differs.
  bool damaged = false;       // Unknown, as this node's own tree cannot be read for damage.
};

// tree: nullptr if the node has none.
HeadComparison compare_head(const ledger::TreeReader* tree, const ledger::ShardHead& head);

class HeadReview {
 public:
  // How long a head may be ahead of this node before that is said: some rounds of heartbeats, and
  // short beside the second within which an entry is to be published.
  static constexpr std::uint64_t kPatienceMs = 150;
  // Heads of a page that are compared with what is read of the trees. More of them, as when many
  // shards changed at once, are compared with what is in memory, if that says what the tree was
  // at that size: to read a tree takes tens of microseconds, which a million shards have not.
  static constexpr std::size_t kReadPerPage = 16;
  // Of a page with more than that, so many are read all the same: rot is to be found in a cluster
  // in which every shard is busy, too.
  static constexpr std::size_t kReadOfMany = 2;

  HeadReview(TreeOf tree_of, HeadsAt heads_at)
      : tree_of_(std::move(tree_of)), heads_at_(std::move(heads_at)) {}

  // False: an old batch, or a page that does not fit the others.
  bool on_page(NodeId from, PageMessage page, std::uint64_t now_ms);

  struct Answer {
    NodeId to;
    VerdictMessage verdict;
  };

  // What is to be answered now.
  std::vector<Answer> advance(std::uint64_t now_ms);

  // Whether advance() waits for this node's own trees.
  bool waiting() const;

  // Whether these heads came in pages of a batch that begins the cluster log at its old size, and
  // this node's own trees said the same of each of them by now; what others in their pages are
  // behind with does not count.
  bool agreed(std::uint64_t old_size, std::span<const ledger::ShardHead> heads) const;

  // The cluster log has grown to that size: what was to come before is of no use any more.
  void forget_below(std::uint64_t size);

 private:
  struct Page {
    std::vector<ledger::ShardHead> heads;
    std::vector<HeadException> exceptions;
    std::uint64_t due_ms = 0;
    bool answered = false;
    bool asked = true;  // For an answer that has not been given.
  };

  struct Candidate {
    std::uint64_t batch = 0;
    std::uint64_t old_size = 0;
    std::vector<std::optional<Page>> pages;
  };

  void review(Page& page) const;
  void review_in_memory(Page& page) const;
  static bool any_behind(const Page& page);
  static bool agreed(const Candidate& candidate,
                     std::uint64_t first,
                     std::span<const ledger::ShardHead> heads);

  TreeOf tree_of_;
  HeadsAt heads_at_;
  std::map<NodeId, Candidate> candidates_;
  // The batch before: its last entries may be applied here after pages of the next one have come.
  std::map<NodeId, Candidate> earlier_;
};

}  // namespace gcoord::server
