// A plain step as its callers take it: what a turn tries before it gives a row a whole step.
//
// What: says again what is known of row and inbox (plain_step.h), and steps. Contract: the row is
// plain (is_plain) and has this role, the inbox is plain (plain_inbox). One thread; pure but for
// messages that a step writes before it finds out that it is not plain, and which a whole step
// writes again. `kVoters`: of the row's configuration; each number is code of its own. Host and
// device.
#pragma once

#include "common/hd.h"
#include "consensus/step/plain_step.h"
#include "consensus/step/step.h"

namespace gcoord::consensus {

// Whether a step stayed plain. `compacts`: with the code for an inbox that wishes to forget
// entries; without it, there is none such.
template <Role role, bool compacts, std::uint32_t kVoters = kPlainSlots, typename Messages>
GCOORD_HD_FLAT bool step_plain(ShardRef row,
                               InboxHead& in,
                               const Messages& messages,
                               OutboxHead& out,
                               const StepArrays& arrays,
                               const StepInput& input) {
  restate_plain<kVoters>(row, role, input);
  restate_plain_inbox(in);
  if constexpr (!compacts) {
    GCOORD_ASSERT(in.compact_to.value == 0);
    in.compact_to = LogIndex{};
  }
  step_with<StepScope::Plain, kVoters>(row, in, messages, out, arrays, input);
  return out.beyond_plain == 0;
}

// The same of a row that replicates and whose progress lies where it can be indexed: shorter, and
// leaves more often. What wishes to forget entries may.
template <Role role, std::uint32_t kVoters = kPlainSlots, typename Messages>
GCOORD_HD_FLAT bool step_steady(ShardRef row,
                                InboxHead& in,
                                const Messages& messages,
                                OutboxHead& out,
                                const StepArrays& arrays,
                                const StepInput& input) {
  restate_plain_row<kVoters>(row, role, input);
  restate_plain_inbox(in);
  step_with<StepScope::Steady, kVoters>(row, in, messages, out, arrays, input);
  return out.beyond_plain == 0;
}

}  // namespace gcoord::consensus
