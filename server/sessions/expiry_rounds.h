// Questions of a leader to the other nodes that may still be answered: a round for each message.
//
// A round is what one message asks about, so an answer needs no search: it repeats the round's
// number and its cases in their order. Numbers rise over restarts of the process too, being made of
// the time, so that no answer to an earlier life is taken for one of this. One thread.
#pragma once

#include "common/ids.h"
#include "sessions/columns.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace gcoord::server {

struct ExpiryRound {
  struct Case {
    sessions::ExpiryProposal due;
    std::uint64_t silent_mask = 0;  // Nodes that were silent for the TTL before the question.
    bool closed = false;            // Proposed, or not this registration any more.
  };

  std::uint64_t number = 0;
  Tick asked;
  std::vector<Case> cases;
  std::size_t open_count = 0;  // Cases that are not closed.
  bool answered = false;       // By somebody.

  void close(Case& each) {
    open_count -= each.closed ? 0 : 1;
    each.closed = true;
  }
};

class ExpiryRounds {
 public:
  // The round's number; all of its cases are open.
  std::uint64_t add(Tick now, std::vector<ExpiryRound::Case> cases);

  // None: it was forgotten, or never was.
  ExpiryRound* find(std::uint64_t number);

  // Forgets rounds that are closed as a whole, or were asked before `asked`.
  void forget(Tick asked);

  // All of them: what was answered says nothing any more.
  void clear() { rounds_.clear(); }

  // Cases of rounds that were asked at `asked` or later and answered by nobody.
  std::size_t unanswered(Tick asked) const;

 private:
  std::deque<ExpiryRound> rounds_;  // By rising number.
  std::uint64_t number_last_ = 0;
};

}  // namespace gcoord::server
