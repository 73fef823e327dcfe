// A snapshot of what a checkpoint store holds, as the bytes of its file, made on a thread of its
// own.
//
// The store is read as it is at one moment, whatever is written to it meanwhile: every shard at an
// index that was decided, applied and is durable here. Nothing but two pieces of the file and the
// shard under way is held; the thread waits while nobody takes them. Undecided entries, votes and
// what else only this replica knows stay behind. A resident node's store gives the same file: what
// its device needs beside the states (server/resident/stored/state.h) stays behind, too.
//
// take() is for one thread; the store outlives the stream.
#pragma once

#include "common/status.h"
#include "ledger/checkpoint/checkpoint_store.h"
#include "ledger/snapshot/encoder.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace gcoord::server {

struct SnapshotPiece {
  std::vector<std::byte> bytes;
  bool last = false;  // The file ends with it.
};

// The frontier of a shard's Merkle tree at a size that it has had. For any thread.
using FrontierAt =
    std::function<Result<ledger::SnapshotFrontier>(ShardId shard, std::uint64_t size)>;

class SnapshotStream final : private ledger::CheckpointVisitor {
 public:
  // frontier_at: of the node's trees; empty where it keeps none. on_piece is called on the stream's
  // thread whenever take() may have something new.
  SnapshotStream(const ledger::CheckpointStore& store,
                 ledger::SnapshotHeader header,
                 FrontierAt frontier_at,
                 std::function<void()> on_piece);

  // Gives up what is not taken yet; waits for the shard under way at most.
  ~SnapshotStream() override;
  SnapshotStream(const SnapshotStream&) = delete;
  SnapshotStream& operator=(const SnapshotStream&) = delete;

  // The next piece in order, or why there is none any more: DataLoss of the store. Nothing when
  // none is ready, and after the last one.
  std::optional<Result<SnapshotPiece>> take();

 private:
  void on_shard(ShardId shard,
                std::span<const std::byte> hard,
                std::span<const std::byte> service) override;
  bool wants_more() override;
  Status write_shard(ShardId shard,
                     std::span<const std::byte> hard,
                     std::span<const std::byte> service);
  void run();
  void add(std::span<const std::byte> bytes);
  void hand_over(bool last);
  void fail(const Status& status);

  struct ShardParts;
  Result<ShardParts> parts_of(ShardId shard,
                              std::span<const std::byte> hard,
                              std::span<const std::byte> service) const;

  const ledger::CheckpointStore& store_;
  const ledger::SnapshotHeader header_;
  const FrontierAt frontier_at_;
  const std::function<void()> on_piece_;
  ledger::SnapshotEncoder* encoder_ = nullptr;  // While run() lives. The thread's.
  bool resident_ = false;                       // The store is a resident node's. The thread's.
  std::vector<std::byte> filling_;              // The thread's.

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable taken_;
  std::deque<SnapshotPiece> ready_;
  Status failure_;
  bool given_up_ = false;

  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace gcoord::server
