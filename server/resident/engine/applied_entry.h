// A decided entry of a device, as the services and the history of its host hear of it.
//
// Its leaf is the record that a turn on the host would have in its log for the same command, byte
// for byte: origin and time stand in the number of the entry's request (entry_stamp.h). What says
// nothing by itself, a piece, a barrier, or a command whose pieces are not all there, has the leaf
// of a part (RecordKind::Part), which says as little: pieces of users' passwords stand in no leaf.
// Tree size, applied index and fencing token stay one number so.
//
// An entry without a stamp is of a release before Feature::DeviceLedger, or was proposed before all
// nodes had it: its leaf is the entry as it lies in the log. Which of the two an entry is, it says
// itself, so all hosts agree. A configuration has no request; its leaf follows the entries before
// it: it is a record once the shard's log has had a stamp. One thread.
#pragma once

#include "consensus/step/configuration.h"
#include "locks/commands/command.h"
#include "locks/commands/entry_layout.h"
#include "server/interfaces/state_machine.h"
#include "server/resident/node/command_reassembler.h"
#include "server/resident/node/names.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// What the reassembler found an entry to be.
struct EntryMeaning {
  ReassembledKind kind = ReassembledKind::Nothing;
  const locks::LockCommand* command = nullptr;  // As CommandReassembler::command().
  std::span<const std::byte> encoded;           // Of a record, or of a command without the above.
};

// Whether the entry says who asked for it and when.
bool is_stamped(const locks::LockEntry& entry);

// What an entry says of who votes, with numbers. None: it is no configuration, or one that the
// device of a cluster of so many voters does not believe; such an entry is a command to storage,
// and comes back as it lay there.
std::optional<consensus::Configuration> configuration_said(const locks::LockEntry& entry,
                                                           std::uint32_t voters);

class AppliedEntryBuilder {
 public:
  explicit AppliedEntryBuilder(const ResidentNames& names) : names_(names) {}

  // Without index, term, cookie and outcome. `stamped_before`: an entry of the shard's log up to
  // this one has a stamp. Entry, meaning and this outlive it; the next call ends it.
  AppliedEntry of(const locks::LockEntry& entry, const EntryMeaning& meaning, bool stamped_before);

 private:
  void put_record(const locks::LockEntry& entry, const EntryMeaning& meaning);
  std::span<const std::byte> leaf_without_record(const locks::LockEntry& entry);

  ResidentNames names_;
  std::vector<std::byte> record_;  // Kept warm, as the next one.
  std::vector<std::byte> leaf_;
};

}  // namespace gcoord::server
