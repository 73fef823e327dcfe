// Gate of a node's votes: its rows vote once promises of earlier incarnations no longer bind.
//
// Promises from before a restart bind for one election timeout more
// (docs/internals/architecture.md). A directory that not every node has admitted yet may stand for
// one that is lost: its rows wait until it is established. So do those of one of which a voter says
// that it is an old copy, until that voter admits it: a single word may be a lie, which must not
// end a node, or be true (docs/adr/0120). One thread.
#pragma once

#include "common/ids.h"
#include "ledger/directory/identity_file.h"

#include <cstdint>
#include <utility>

namespace gcoord::server {

class VoteGate {
 public:
  // What the directory has behind it at this start.
  struct Past {
    bool first_boot = true;  // The node promised nothing before this incarnation,
    bool first_life = true;  // or nothing that anybody counts.
  };

  // `identity` outlives it.
  VoteGate(const ledger::IdentityFile& identity, Past past, std::uint32_t election_ticks)
      : identity_(identity), past_(past), election_ticks_(election_ticks) {}

  // The time from which on the wait counts, at the start.
  void begin(Tick now) {
    vote_after_ = identity_.established() ? silent_until(now) : kTickVoteNever;
  }

  // True: the directory came to be established, so the rows are to be woken.
  bool open_when_established(Tick now) {
    if (vote_after_ != kTickVoteNever || !identity_.established()) {
      return false;
    }
    vote_after_ = silent_until(now);
    return true;
  }

  // Whether a voter says that this directory has forgotten promises, which is not enough to end the
  // node: its rows wait. True: they do so no longer, and are to be woken.
  bool doubt(bool doubted) { return std::exchange(doubted_, doubted) && !doubted; }

  // Before this tick the rows neither vote nor campaign.
  Tick vote_after() const { return doubted_ ? kTickVoteNever : vote_after_; }

  // No earlier incarnation of this directory made a promise that counts.
  bool first_life() const { return past_.first_life; }

 private:
  // Before a directory is established (engine_admission.h). Far, but arithmetic stays possible.
  static constexpr Tick kTickVoteNever{std::uint64_t{1} << 62};

  // A directory that never promised anything need not wait; the one that it replaces may have.
  Tick silent_until(Tick now) const {
    const bool fresh = past_.first_boot && !identity_.rejoining();
    return fresh ? Tick{0} : now + election_ticks_;
  }

  const ledger::IdentityFile& identity_;
  Past past_;
  std::uint32_t election_ticks_;
  Tick vote_after_;
  bool doubted_ = false;
};

}  // namespace gcoord::server
