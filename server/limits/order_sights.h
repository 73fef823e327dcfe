// Times at which this node first saw each order to prune the ledger, kept over its restarts.
//
// One file in the data directory, `prune-orders`: magic u64, then per order log u8, shard u32,
// below u64, entries u64, bytes u64, age u64, ordered u64, seen u64 (Unix milliseconds; the first
// by the clock of the leader that took the order, the second by this node's), bytes of the name
// u16, name; CRC32C u32 at the end. Little-endian, never to be renumbered. It is replaced as a
// whole and not synced: whoever loses it waits anew, which only makes a wait longer. For the same
// reason a damaged one counts as none, and a failure to write it is none of the node's. One thread.
#pragma once

#include "ledger/disk/disk.h"
#include "security/limits/limit_table.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord::server {

struct OrderSight {
  security::PruneBounds bounds;
  std::string who;
  std::uint64_t ordered_ms = 0;
  std::uint64_t seen_ms = 0;

  bool is_of(const security::PruneBounds& of, const security::PruneOrder& order) const {
    return bounds == of && who == order.who && ordered_ms == order.ordered_ms;
  }

  friend bool operator==(const OrderSight& a, const OrderSight& b) = default;
};

// Those of now, and as many that a node has not come to again since it started.
inline constexpr std::size_t kOrderSightsMax = 2 * security::kPruneOrdersMax;

std::vector<std::byte> encode_order_sights(std::span<const OrderSight> sights);

// Nothing if they are no bytes of the above.
std::optional<std::vector<OrderSight>> decode_order_sights(std::span<const std::byte> bytes);

class OrderSights {
 public:
  // An empty directory, or one that cannot be opened: nothing is kept.
  explicit OrderSights(const std::string& data_dir);

  OrderSights(const OrderSights&) = delete;
  OrderSights& operator=(const OrderSights&) = delete;

  // When an earlier life of this node first saw the order; nothing: none did.
  std::optional<std::uint64_t> seen_ms(const security::PruneBounds& bounds,
                                       const security::PruneOrder& order) const;

  // Keeps these, and those of before that hold at `now_ms`: the node may not have come to their
  // orders in its log yet.
  void keep(std::vector<OrderSight> sights, std::uint64_t now_ms);

 private:
  std::unique_ptr<ledger::Disk> disk_;
  std::vector<OrderSight> earlier_;  // As the file had them at the start.
  std::vector<std::byte> written_;
};

}  // namespace gcoord::server
