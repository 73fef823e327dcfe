// The entries of a tree one after the other, for whoever applies them again.
//
// A walk goes on where the last one ended, and may come to the end of what the tree has before it
// comes to its own: the tree grows. Thread-safe as far as what it is given is.
#pragma once

#include "common/status.h"
#include "ledger/base/error_details.h"
#include "ledger/merkle/tree_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gcoord::ledger {

// What a TreeReader gives at once.
inline constexpr std::uint64_t kWalkEntries = 256;

// Calls on_entry(std::span<const std::byte>) -> Status for the entries from `next` on, up to `end`
// or as far as the tree has come, and counts `next` up before each call. Asks go_on() before each
// read, which gives up to kWalkEntries. Fails with the first failure of a read or of on_entry;
// kLedgerPruned when `next` is gone.
template <typename GoOn, typename OnEntry>
Status walk_entries(
    const TreeReader& tree, std::uint64_t& next, std::uint64_t end, GoOn go_on, OnEntry on_entry) {
  end = std::min(end, tree.size());
  while (next < end && go_on()) {
    if (tree.first() > next) {
      return {StatusCode::OutOfRange, "the entry was pruned", kLedgerPruned};
    }
    const std::uint64_t count = std::min(kWalkEntries, end - next);
    GCOORD_TRY(const auto entries, tree.entries(next, static_cast<std::size_t>(count)));
    for (const auto& entry : entries) {
      ++next;
      GCOORD_TRY_STATUS(on_entry(std::span<const std::byte>{entry}));
    }
  }
  return {};
}

}  // namespace gcoord::ledger
