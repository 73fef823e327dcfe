// A plain step of a row that lies packed: what a turn tries before it gives a row a whole step.
//
// What: says again what is known of row and inbox (plain_step.h), steps, and packs what moved over
// what the row was unpacked from. Whoever owns the table stores it. Contract: the row is plain
// (is_plain) and has this role, the inbox is plain (plain_inbox). One thread; pure but for messages
// that a step writes before it finds out that it is not plain, and which a whole step writes again.
// Host and device.
#pragma once

#include "common/hd.h"
#include "consensus/packed_row.h"
#include "consensus/packed_words.h"
#include "consensus/plain_step.h"
#include "consensus/step.h"

#include <cstdint>

namespace gcoord::consensus {

// What became of a plain step.
enum class PlainStep : std::uint8_t {
  Left = 0,       // The row needs a whole step; nothing was done.
  Moved = 1,      // Done; the second half of the packed row is to be stored.
  Compacted = 2,  // Done; both halves are.
};

// `compacts`: with the code for an inbox that wishes to forget entries; without it, there is none
// such.
template <Role role, bool compacts, typename Messages>
GCOORD_HD_FLAT PlainStep step_plain(ShardRef row,
                                    InboxHead& in,
                                    const Messages& messages,
                                    OutboxHead& out,
                                    const StepArrays& arrays,
                                    const StepInput& input,
                                    PackedRow& packed) {
  restate_plain(row, role);
  restate_plain_inbox(in);
  if constexpr (!compacts) {
    GCOORD_ASSERT(in.compact_to.value == 0);
    in.compact_to = LogIndex{};
  }
  const LogIndex floor = row.log().floor;
  step_with<StepScope::Plain>(row, in, messages, out, arrays, input);
  const bool compacted = compacts && row.log().floor != floor;
  if (out.beyond_plain != 0 || !pack_plain(row, compacted, packed)) {
    return PlainStep::Left;
  }
  return compacted ? PlainStep::Compacted : PlainStep::Moved;
}

}  // namespace gcoord::consensus
