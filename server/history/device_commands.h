// Commands of a log whose leaves are entries of a device (locks/commands/entry.h), read one after
// the other.
//
// A name or a text for which an entry has no room stands in pieces right before it. So the last
// leaves are kept, as many as one command reaches back, and put together as the device itself does:
// what it applied as nothing is nothing here, too. Leaves of both forms may stand in one log. One
// thread.
#pragma once

#include "common/ids.h"
#include "locks/commands/entry.h"

#include <array>
#include <cstddef>
#include <span>

namespace gcoord::server {

class DeviceCommands {
 public:
  // The command that the leaf at `index` is, with what stands before it, until the next call;
  // nullptr: a piece, a no-op, a record, a leaf of another form, or a command that is not whole.
  // Every leaf of the log is brought, in its order.
  const locks::LockCommand* take(LogIndex index, std::span<const std::byte> leaf);

 private:
  // More than the pieces of the longest text, as a power of two.
  static constexpr std::size_t kKept = 64;
  static_assert(locks::kMovePiecesMax < kKept && locks::kPiecesMax < kKept);

  std::array<locks::LockEntry, kKept> last_{};  // By index; empty where a leaf was none.
  locks::EntryBytes text_{};                    // What command_ points to.
  locks::LockCommand command_;
};

}  // namespace gcoord::server
