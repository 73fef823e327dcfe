#include "ledger/publication/log_keeping.h"

#include <algorithm>

namespace gcoord::server {
namespace {

constexpr std::uint64_t kKeepIntervalMs = 1000;
constexpr std::uint64_t kBytesPerLeaf = 48;  // On the disk; cluster_log.h.

// The first leaf that a policy keeps of a log that ends there.
std::uint64_t first_kept(const ledger::KeepPolicy& keep, std::uint64_t size) {
  std::uint64_t first = 0;
  for (const std::uint64_t leaves : {keep.entries, keep.bytes / kBytesPerLeaf}) {
    first = leaves != 0 && size > leaves ? std::max(first, size - leaves) : first;
  }
  return first;
}

}  // namespace

LogKeeping::LogKeeping(PublicationBase& base, HeadAudit& audit)
    : base_(base),
      audit_(audit),
      stale_(base.options.stale_window != 0 ? base.options.stale_window
                                            : StaleHeads::window_for(base.options.shard_count)) {}

void LogKeeping::advance(std::uint64_t published) {
  if (const Status status = stale_.advance(base_.log(), base_.heads, published); !status.ok()) {
    return base_.fail(status);
  }
  if (base_.options.keep.keeps_all() || base_.now_ms < keep_ms_) {
    return;
  }
  keep_ms_ = base_.now_ms + kKeepIntervalMs;
  if (const auto gone = prune({base_.options.keep, 0}, published); !gone.ok()) {
    base_.fail(gone.status());
  }
}

Result<std::uint64_t> LogKeeping::prune(const Order& order, std::uint64_t published) {
  const std::uint64_t wanted = std::max(order.below, first_kept(order.keep, base_.log().size()));
  const std::uint64_t needed = std::min(stale_.floor(), published);
  GCOORD_TRY(const std::uint64_t gone, base_.port.prune_leaves(std::min(wanted, needed)));
  audit_.let_go_below(base_.log().first());
  return gone;
}

}  // namespace gcoord::server
