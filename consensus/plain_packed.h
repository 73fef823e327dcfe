// A plain step of a row that lies packed: what a turn tries before it gives a row a whole step.
//
// What: says again what is known of row and inbox (plain_step.h) and steps; stores what moved over
// what the row was unpacked from. Contract: the row is plain
// (is_plain) and has this role, the inbox is plain (plain_inbox). One thread; pure but for messages
// that a step writes before it finds out that it is not plain, and which a whole step writes again.
// Host and device.
#pragma once

#include "common/hd.h"
#include "consensus/packed_row.h"
#include "consensus/packed_words.h"
#include "consensus/plain_step.h"
#include "consensus/step.h"

namespace gcoord::consensus {

// Whether a step stayed plain. `compacts`: with the code for an inbox that wishes to forget entries;
// without it, there is none such.
template <Role role, bool compacts, typename Messages>
GCOORD_HD_FLAT bool step_plain(ShardRef row,
                               InboxHead& in,
                               const Messages& messages,
                               OutboxHead& out,
                               const StepArrays& arrays,
                               const StepInput& input) {
  restate_plain(row, role);
  restate_plain_inbox(in);
  if constexpr (!compacts) {
    GCOORD_ASSERT(in.compact_to.value == 0);
    in.compact_to = LogIndex{};
  }
  step_with<StepScope::Plain>(row, in, messages, out, arrays, input);
  return out.beyond_plain == 0;
}

// Stores what a plain step moved of a row that was unpacked from `packed`, which lies in `to`.
// False: it does not fit, and nothing was stored.
GCOORD_HD inline bool store_plain(ShardRef row, PackedRow& packed, PackedRow& to) {
  const bool compacted = row.log().floor.value != packed.floor;
  if (!pack_plain(row, compacted, packed)) {
    return false;
  }
  if (compacted) {
    store_still(packed, to);
  }
  store_packed_moving(packed, to);
  return true;
}

}  // namespace gcoord::consensus
