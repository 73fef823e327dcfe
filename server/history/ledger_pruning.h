// Has this node let go of old entries of its ledger when an operator asks
// (protocol/ledger/prune_messages.h).
//
//   request -> the thread that keeps the log looks through it -> answer when that is durable
//
// One order at a time: an order may look through a million shards. It is not undone when its
// connection is lost; asked for again it finds nothing left to do. A turn never waits for it. One
// thread, the loop's.
#pragma once

#include "ledger/history/pruning.h"
#include "protocol/ledger/prune_messages.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <span>

namespace gcoord::server {

class LedgerPruning {
 public:
  using Ended = std::function<void()>;
  using Report = std::future<Result<ledger::PruneReport>>;

  // Each begins an order and calls `ended`, from any thread, when it is done.
  struct Environment {
    protocol::ReplySink& replies;
    std::uint32_t shard_count = 0;
    std::function<Report(const ledger::PruneOrder&, Ended)> shards;
    // Its order names no shard. Empty: this node publishes nothing, and has no cluster log.
    std::function<Report(const ledger::PruneOrder&, Ended)> cluster;
    std::function<void()> wake;  // For any thread.
    // Whether this may be pruned now; empty: all may.
    std::function<Status(const protocol::LedgerPrune&)> permits{};
  };

  explicit LedgerPruning(Environment parts) : environment_(std::move(parts)) {}

  // LedgerPrune. Answered now or in a later advance().
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);

  // After each turn.
  void advance();

 private:
  struct UnderWay {
    protocol::ConnectionId connection;
    protocol::RequestSlot request;
    Report report;
  };

  void refuse(protocol::ConnectionId connection,
              const protocol::RequestSlot& request,
              const Status& status);

  Environment environment_;
  std::optional<UnderWay> under_way_;
};

}  // namespace gcoord::server
