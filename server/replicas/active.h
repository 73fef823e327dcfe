// The rows that want a step, and what their next step is to be given.
//
// Only these rows cost anything: an idle row is four bytes here. Work gathers between turns and
// during one; begin_turn() fixes the list of the turn, and what is touched after it waits for the
// next. A row keeps its work while something of it still waits (reads, messages), else it goes back
// to the pool. One thread.
#pragma once

#include "common/ids.h"
#include "consensus/step/configuration.h"
#include "consensus/step/inbox.h"
#include "consensus/step/message.h"
#include "server/replicas/entry_pool.h"
#include "server/replicas/reads.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace gcoord::server {

// A message from a peer, checked in form, with the bytes of its entries in MessageQueue.
struct QueuedMessage {
  consensus::Message message;
  std::uint32_t extent_offset = 0;
  std::uint32_t extent_bytes = 0;
  std::uint32_t next = 0;  // 1 + place of the row's next message; 0: the last one.
};

// A snapshot that arrived whole, for the row's next step.
struct ArrivedSnapshot {
  consensus::Message message;
  std::vector<std::byte> bytes;  // shard_codec.h; decodes.
};

struct RowWork {
  std::uint32_t row = 0;
  bool listed = false;  // In the list of the next turn.
  bool due = false;     // In the list of this turn, not stepped yet.
  bool held = false;    // Takes acknowledgements only, until a checkpoint has looked at the row.
  std::uint8_t woken = 0;
  std::uint32_t message_first = 0;  // 1 + place in the queue; 0: none.
  std::uint32_t message_last = 0;
  EntryBlock* proposal_first = nullptr;
  EntryBlock* proposal_last = nullptr;
  std::uint32_t proposal_count = 0;
  NodeId transfer_to;
  NodeId snapshot_failed;
  LogIndex applied;
  LogIndex compact_to;
  LogIndex configuration_index;  // Of the applied configuration; 0: none.
  consensus::StorageAck storage_ack;
  std::unique_ptr<consensus::Configuration> configuration;
  std::unique_ptr<consensus::Configuration> proposed;  // To propose, if the row leads.
  std::unique_ptr<ArrivedSnapshot> snapshot;
  std::unique_ptr<RowReads> reads;

  bool idle() const {
    return !held && message_first == 0 && proposal_first == nullptr && !proposed && !snapshot &&
           !reads;
  }
};

class ActiveRows {
 public:
  // `parts`: these are the rows of one of so many lanes, which share the bounds below.
  explicit ActiveRows(std::uint32_t row_count, std::uint32_t parts = 1)
      : parts_(parts), work_of_row_(row_count, 0) {}

  // The row's work, which it gets if it has none; the row is stepped in the next turn to begin.
  RowWork& touch(std::uint32_t row);
  RowWork* find(std::uint32_t row);

  // Messages and bytes of entries in the queue at most: a few times what peers may have under way
  // by netcore's credit. Only a node that cannot keep up gets there.
  static constexpr std::size_t kMessagesMax = std::size_t{1} << 17;
  static constexpr std::size_t kExtentBytesMax = std::size_t{256} << 20;
  // Rows that had work at once and whose places are kept for the next time: half a megabyte.
  static constexpr std::size_t kWorksKept = 4096;

  std::size_t messages_max() const { return kMessagesMax / parts_; }

  std::size_t extent_bytes_max() const { return kExtentBytesMax / parts_; }

  // Queues a message to the row with a copy of its entries. False: the queue is full, the message
  // is lost, as messages may be.
  bool add_message(std::uint32_t row,
                   const consensus::Message& message,
                   std::span<const std::byte> extent);
  // A snapshot for the row's next step, in place of one that still waits.
  void put_snapshot(std::uint32_t row, std::unique_ptr<ArrivedSnapshot> snapshot);
  std::unique_ptr<ArrivedSnapshot> take_snapshot(RowWork& work);

  // Whether snapshots wait for steps.
  bool any_snapshot() const { return snapshots_waiting_ != 0; }

  void add_proposal(std::uint32_t row, EntryBlock* block);
  void add_read(std::uint32_t row, std::uint64_t cookie, std::uint64_t turn, ReadMode way);

  // Whether the next turn has rows to step, and how many.
  bool waiting() const { return waiting_count() != 0; }

  std::size_t waiting_count() const { return next_.size() + now_.size() - now_taken_; }

  // Messages that no step has taken yet.
  std::size_t messages_left() const { return messages_left_; }

  // Fixes the rows of the turn: first those that the turn before left, then those touched since.
  void begin_turn();
  // Moves the first rows of the turn, at most row_count of them, to `rows`, which is replaced.
  void take_batch(std::vector<std::uint32_t>& rows, std::size_t row_count);

  // The row is to be stepped once more in this turn: it has more messages than one step takes.
  void put_back(std::uint32_t row);

  // Takes the row's first message off its list and returns its number.
  std::uint32_t take_message(RowWork& work);

  // After the row's step: its work goes back to the pool if nothing waits.
  void release_if_idle(std::uint32_t row);
  // Forgets the messages that were taken; those of rows that are held or left over stay.
  void end_turn();

  // Gives back what a burst made grow, if no row has work: an idle shard costs four bytes here
  // again. True if it was much.
  bool shrink();

  // A queued message by the number of RowWork or QueuedMessage::next, and its entries.
  const QueuedMessage& message(std::uint32_t number) const { return messages_[number - 1]; }

  std::span<const std::byte> extent(const QueuedMessage& queued) const {
    return std::span(extents_).subspan(queued.extent_offset, queued.extent_bytes);
  }

 private:
  void keep_messages_left();

  std::size_t parts_;
  std::vector<std::uint32_t> work_of_row_;  // 1 + number of the work; 0: none.
  std::deque<RowWork> works_;               // References stay valid while it grows.
  std::vector<std::uint32_t> free_works_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> now_;
  std::size_t now_taken_ = 0;
  std::vector<QueuedMessage> messages_;
  std::size_t snapshots_waiting_ = 0;
  std::size_t messages_left_ = 0;  // Not taken yet.
  std::vector<std::byte> extents_;
  std::size_t extent_bytes_left_ = 0;
};

}  // namespace gcoord::server
