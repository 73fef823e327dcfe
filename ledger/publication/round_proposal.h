// Proposal of a round that a majority has agreed on: the entries it is cut into, and how many of
// them are ordered.
//
// An entry has a bounded number of heads (publication_entry.h), so a large round is many of them.
// The root of the cluster log after each entry tells this round's entries from another publisher's.
// A bounded number of entries is undecided at a time; entries of which nothing is heard are
// proposed again. Where lost entries shrink (PublicationOptions), the rest of a round is cut into
// smaller ones after a loss, down to one head, and the next round begins with larger ones. One
// thread.
#pragma once

#include "common/status.h"
#include "ledger/heads/round.h"
#include "ledger/merkle/hash.h"
#include "ledger/publication/publication_base.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gcoord::server {

class RoundProposal {
 public:
  // The base outlives it.
  explicit RoundProposal(PublicationBase& base)
      : base_(base), entry_heads_(base.options.entry_heads_max) {}

  // No round is planned any more.
  void clear();

  // Whether a round is planned.
  bool planned() const { return !roots_.empty(); }

  // Cuts an agreed round into entries.
  Status plan(const PublicationRound& round);

  // Whether the ordered log is a part of this round, and something of the round is left. Of a round
  // that is not planned yet: whether the ordered log is still the one that it began with.
  bool follow(const PublicationRound& round);

  // Whether the last entry of the planned round is ordered, and nothing behind it.
  bool ordered() const;

  // Proposes entries of the planned round. Failures: of the port's reads, final.
  Status propose(const PublicationRound& round);

  // An entry that was proposed will not be applied: what is not ordered is proposed again, a little
  // later.
  void on_lost();

 private:
  Status cut(const PublicationRound& round);
  Status shrink(const PublicationRound& round);

  PublicationBase& base_;
  std::size_t entry_heads_;  // Of each entry of the round but for its last one, which has the rest.
  bool shrinks_ = false;     // Before the next entry is proposed.
  // Roots after each entry, and before the first one; empty until a majority has agreed.
  std::vector<ledger::MerkleHash> roots_;
  std::size_t ordered_ = 0;   // Of the entries.
  std::size_t proposed_ = 0;  // Of which nothing was heard yet, and those ordered.
  std::uint64_t proposed_ms_ = 0;
  std::uint64_t propose_ms_ = 0;  // Nothing is proposed before.
};

}  // namespace gcoord::server
