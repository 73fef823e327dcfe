// Entries of one row, decided by a whole group: window by window.
//
// A row's commands have an order, and one member that applies them one after another waits for
// memory all the time. A window (window.h) reads the next commands at once, plans them (plan.h) and
// settles what they leave (settle.h): same codes, tokens, lists and state hashes as apply() gives
// one after another. What a window cannot hold is left to the caller, who has apply(). Contract: as
// window.h; other groups may be writers of the same tables beside it (writer.h). Host and device.
#pragma once

#include "common/device/warp_device.h"
#include "common/hd.h"
#include "locks/commands/entry.h"
#include "locks/parallel/plan.h"
#include "locks/parallel/read.h"
#include "locks/parallel/settle.h"
#include "locks/parallel/window.h"

#include <cstdint>

namespace gcoord::locks {

// How far a window came.
struct WindowOutcome {
  WindowEntries read;
  std::uint32_t entries = 0;   // So many are done with, from the first on,
  std::uint32_t commands = 0;  // and so many commands among them: LockWindow::code and chain.
  bool cut = false;            // The next entry is for apply().

  // The shard's state hash after an entry that is done with.
  GCOORD_HD std::uint64_t hash_after(const WindowWork& work, std::uint32_t entry) const {
    const std::uint32_t through = read.through(entry);
    return through == 0 ? work.shard.state_hash : work.window.chain[through - 1];
  }
};

// Applies some of the row's next decided entries. claim(demand) gives the window's writer the rows
// that it takes; false: they are not there, and nothing is applied. log(index): the row's entry, of
// those that are kept.
template <typename Log, typename Claim>
GCOORD_HD WindowOutcome apply_window(const WindowWork& work, const Log& log, const Claim& claim) {
  WindowOutcome outcome;
  outcome.read = read_window(work, log);
  const WindowEntries& read = outcome.read;
  outcome.entries = read.count;
  if (read.places == 0) {
    return outcome;
  }
  const WindowPlan plan = plan_window(work, read.places, read.count < work.decided_count);
  outcome.cut = plan.count == 0;
  if (plan.count != 0) {
    const PlannedWindow planned = effects_of(work, plan);
    outcome.cut = !claim(planned.demand);
    if (!outcome.cut) {
      settle_window(planned, [&](std::uint32_t place, EntryName& name) {
        const LogIndex index = work.index_of(place);
        const bool whole = gather_name(log, index, log(index), name);
        GCOORD_ASSERT(whole);  // place_command() looked at all of it.
      });
      outcome.cut = plan.cut;
      outcome.commands = plan.count;
    }
  }
  if (outcome.commands < read.places) {
    outcome.entries = work.window.entry[outcome.commands];
  }
  return outcome;
}

}  // namespace gcoord::locks
