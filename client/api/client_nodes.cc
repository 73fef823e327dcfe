// What one node says of itself, and what it does to what it keeps: reports, snapshots, its ledger.
#include "client/api/client_impl.h"
#include "client/core/blocking.h"
#include "client/core/future_of.h"
#include "client/ledger/prune.h"
#include "client/ledger/prune_orders.h"
#include "client/ledger/save_snapshot.h"
#include "client/net/failure.h"
#include "client/reads/lookups.h"

#include <string>
#include <utility>
#include <vector>

namespace gcoord::client {

namespace {

// Connections that may be lost in a row while one piece of a snapshot is asked for.
constexpr int kLostPiecesMax = 3;
constexpr auto kDetailConnectionLost =
    static_cast<std::uint32_t>(protocol::ErrorCode::ConnectionLost);

}  // namespace

Result<std::string> Client::node_status(std::uint32_t node_id) {
  return await<Result<std::string>>(*impl_->core(), [&](auto callback) {
    report(
        *impl_->core(), {protocol::RequestKind::NodeStatus, NodeId{node_id}}, std::move(callback));
  });
}

Future<Result<std::string>> Client::node_status_async(std::uint32_t node_id) {
  return future_of<Result<std::string>>(*impl_->core(), [&](auto callback) {
    report(
        *impl_->core(), {protocol::RequestKind::NodeStatus, NodeId{node_id}}, std::move(callback));
  });
}

Result<std::string> Client::shard_list(std::uint32_t node_id,
                                       std::uint32_t first,
                                       std::uint32_t count) {
  return await<Result<std::string>>(*impl_->core(), [&](auto callback) {
    report(*impl_->core(),
           {protocol::RequestKind::ShardList, NodeId{node_id}, first, count},
           std::move(callback));
  });
}

Result<std::string> Client::shard_show(std::uint32_t node_id, std::uint32_t shard) {
  return await<Result<std::string>>(*impl_->core(), [&](auto callback) {
    report(*impl_->core(),
           {protocol::RequestKind::ShardShow, NodeId{node_id}, shard},
           std::move(callback));
  });
}

Result<std::string> Client::lock_deadlocks(std::uint32_t node_id) {
  return await<Result<std::string>>(*impl_->core(), [&](auto callback) {
    report(*impl_->core(),
           {protocol::RequestKind::LockDeadlocks, NodeId{node_id}},
           std::move(callback));
  });
}

Result<std::string> Client::log_levels(std::uint32_t node_id, const LogLevelChange& change) {
  return await<Result<std::string>>(*impl_->core(), [&](auto callback) {
    report(*impl_->core(),
           {.kind = protocol::RequestKind::LogLevels, .node = NodeId{node_id}, .order = change},
           std::move(callback));
  });
}

Result<std::vector<std::uint32_t>> Client::leader_map(std::uint32_t first, std::uint32_t count) {
  return await<Result<std::vector<std::uint32_t>>>(*impl_->core(), [&](auto callback) {
    client::leader_map(*impl_->core(), first, count, std::move(callback));
  });
}

Future<Result<std::vector<std::uint32_t>>> Client::leader_map_async(std::uint32_t first,
                                                                    std::uint32_t count) {
  return future_of<Result<std::vector<std::uint32_t>>>(*impl_->core(), [&](auto callback) {
    client::leader_map(*impl_->core(), first, count, std::move(callback));
  });
}

Status Client::read_snapshot(std::uint32_t node_id, const SnapshotSink& on_bytes) {
  Core& core = *impl_->core();
  const NodeId node{node_id};
  const auto save = await<Result<std::uint64_t>>(
      core, [&](auto callback) { open_snapshot(core, node, std::move(callback)); });
  if (!save.ok()) {
    return save.status();
  }
  protocol::SnapshotRead read{save.value(), 0};
  int lost = 0;
  for (bool last = false; !last;) {
    const auto piece = await<Result<SnapshotBytes>>(
        core, [&](auto callback) { client::read_snapshot(core, node, read, std::move(callback)); });
    // The node keeps the piece for whoever asks again.
    const bool again = piece.status().detail() == kDetailConnectionLost && ++lost <= kLostPiecesMax;
    if (!piece.ok() && again) {
      continue;
    }
    if (!piece.ok()) {
      return piece.status();
    }
    lost = 0;
    if (Status taken = on_bytes(piece.value().bytes); !taken.ok()) {
      return taken;
    }
    read.offset += piece.value().bytes.size();
    last = piece.value().last;
  }
  return {};
}

Result<PruneOrdersReport> Client::prune_orders(const PruneOrderChange& change) {
  return await<Result<PruneOrdersReport>>(*impl_->core(), [&](auto callback) {
    client::prune_orders(*impl_->core(), change, std::move(callback));
  });
}

Result<LedgerPruned> Client::prune_ledger(std::uint32_t node_id, const LedgerPruning& order) {
  return await<Result<LedgerPruned>>(*impl_->core(), [&](auto callback) {
    client::prune_ledger(*impl_->core(), NodeId{node_id}, order, std::move(callback));
  });
}

}  // namespace gcoord::client
