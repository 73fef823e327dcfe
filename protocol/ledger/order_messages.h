// Payloads of LedgerOrders: orders to prune the ledger, which need two persons or a delay while
// rights are checked.
//
// An order is known by its bounds. One person makes it, and another one confirms it, or its delay
// passes; then LedgerPrune with these bounds is served by every node until the order ends. Pure
// functions; thread-safe.
#pragma once

#include "common/status.h"
#include "protocol/ledger/prune_messages.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gcoord::protocol {

// Never renumber.
enum class PruneOrderAction : std::uint8_t {
  List = 0,  // Changes nothing.
  Order = 1,
  Confirm = 2,  // By another principal than the one that ordered it.
  Cancel = 3,
};

// Payload: action 1, number 8; but for List then the bounds as a LedgerPrune.
struct PruneOrdersQuery {
  PruneOrderAction action = PruneOrderAction::List;
  std::uint64_t number = 0;  // Drawn by who asks: the same change twice is one.
  LedgerPrune bounds;        // Not of List.
};

struct PruneOrderRow {
  LedgerPrune bounds;
  std::string who;
  std::uint64_t ordered_ms = 0;  // Unix times.
  std::string confirmed_by;      // Empty: nobody yet.
  std::uint64_t confirmed_ms = 0;
  std::uint64_t until_ms = 0;  // Its end.
};

// All orders that have not ended. Payload: epoch 8, delay_ms 8, rows 4 and rows (bounds as a
// LedgerPrune, who, ordered 8, confirmed by, confirmed 8, until 8).
struct PruneOrdersAnswer {
  std::uint64_t epoch = 0;
  std::uint64_t delay_ms = 0;  // Of the node that answers; each goes by its own.
  std::vector<PruneOrderRow> orders;
};

// An answer has no more rows.
inline constexpr std::size_t kPruneOrderRowsMax = 64;

std::vector<std::byte> encode_prune_orders_query(const PruneOrdersQuery& query);
// As decode_ledger_prune.
Result<PruneOrdersQuery> decode_prune_orders_query(std::span<const std::byte> payload);

std::vector<std::byte> encode_prune_orders_answer(const PruneOrdersAnswer& answer);
// A later release may say more behind it.
Result<PruneOrdersAnswer> decode_prune_orders_answer(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
