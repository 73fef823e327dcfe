// Serves snapshots of this node to clients that save them (protocol/ledger/snapshot_messages.h).
//
//   open -> a checkpoint of all that is applied now -> its store is read by a thread -> pieces
//
// The client asks for one piece at a time, so it sets the pace and at most three pieces per save
// are held here (snapshot_stream.h). A read that comes before its piece waits, for half a second at
// most: then it is answered with nothing, so that a client can tell a slow node from a dead one.
// A turn never waits for any of this.
//
// What a save holds: every shard at an index decided and applied, and all that this node had
// applied when the save was opened. A node that follows may be a message behind its leader.
//
// While a save is open the node's history keeps what it needs: a shard's frontier is read when the
// shard is its turn, long after it was saved. Where that is denied, a save goes on as long as what
// it needs is there, and ends with kLedgerPruned where it is not.
//
// Bounds: kSavesMax at once; one that nobody reads for a while gives way; history is kept for
// kSavePinsMs at most, and not on a disk that is low. One thread, the loop's.
#pragma once

#include "ledger/snapshot/format.h"
#include "protocol/reply_sink.h"
#include "protocol/request.h"
#include "server/interfaces/replicated_log.h"
#include "server/snapshots/stream.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::server {

// Saves at once: a piece of each in the making, one ready, one on its way make 6 MiB.
inline constexpr std::size_t kSavesMax = 4;

// A save that was not read for so long may be given up for another, and one for longer is.
inline constexpr std::uint64_t kSaveYieldsMs = 5'000;
inline constexpr std::uint64_t kSaveEndsMs = 60'000;

// For how long the history that a save needs is kept for it.
inline constexpr std::uint64_t kSavePinsMs = 1'800'000;

// How long a read waits for its piece.
inline constexpr std::uint64_t kReadPatienceMs = 500;

class SnapshotDownloads {
 public:
  // What the saves say of this node, when they begin.
  using MakeHeader = std::function<ledger::SnapshotHeader()>;

  // All outlive it. `wake` is called from other threads: advance() has something to do.
  struct Environment {
    ReplicatedLog& engine;
    protocol::ReplySink& replies;
    MakeHeader make_header;
    std::function<void()> wake;
    FrontierAt frontier_at{};  // Empty where the node keeps no trees.
    // Keeps the history that a save which begins now needs, while what is returned lives; empty
    // where there is none.
    std::function<std::shared_ptr<const void>()> pin{};
    std::function<bool()> disk_is_low{};  // Empty: never.
  };

  explicit SnapshotDownloads(Environment parts) : environment_(std::move(parts)) {}

  // SnapshotOpen, SnapshotRead. Answered now or in a later advance().
  void on_request(protocol::ConnectionId connection,
                  const protocol::RequestSlot& request,
                  std::span<const std::byte> payload);

  // After each turn of the engine. Time only grows.
  void advance(std::uint64_t now_ms);

  std::size_t save_count() const { return saves_.size(); }

 private:
  struct Waiting {
    protocol::ConnectionId connection;
    protocol::RequestSlot request;
    std::uint64_t since_ms = 0;
  };

  struct Save {
    std::uint64_t number = 0;
    std::uint64_t checkpoint = 0;  // Of the engine, that it waits for.
    std::uint64_t opened_ms = 0;
    std::shared_ptr<const void> pin;  // Of the history that it still needs.
    std::uint64_t read_at_ms = 0;
    std::unique_ptr<SnapshotStream> stream;  // Once the checkpoint has ended.
    std::uint64_t offset = 0;                // Of `piece` in the file, or of the one to come.
    std::optional<SnapshotPiece> piece;
    Status failure;
    std::optional<Waiting> waiting;
  };

  void on_open(protocol::ConnectionId connection, const protocol::RequestSlot& request);
  void on_read(protocol::ConnectionId connection,
               const protocol::RequestSlot& request,
               std::span<const std::byte> payload);
  bool make_room();
  bool may_pin() const;
  void advance(Save& save);
  void answer(Save& save);
  void refuse(protocol::ConnectionId connection,
              const protocol::RequestSlot& request,
              const Status& status);
  Save* find(std::uint64_t number);

  Environment environment_;
  std::uint64_t now_ms_ = 0;
  std::uint64_t newest_ = 0;
  std::vector<Save> saves_;
};

}  // namespace gcoord::server
