// The two trays between the loop of a node and the thread that its publication works on.
//
// The loop puts in what happened and takes out what is to be done; neither ever waits for the
// other. Messages of peers may be lost, so there is room for a number of them; of the sizes of a
// shard only the largest counts; everything else is small or replaces what it says anew. Sizes
// come with every turn and nobody waits for them, so they wake the thread only when it has slept
// for a moment, whose length it says: a busy loop would wake it thousands of times a second.
// Thread-safe.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/heads/entry.h"
#include "ledger/heads/port.h"
#include "ledger/publication/publication_base.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

// From the loop.
struct PublicationInput {
  struct Message {
    NodeId from;
    std::vector<std::byte> bytes;
  };

  std::vector<std::pair<ShardId, std::uint64_t>> applied;  // Shard and size.
  std::vector<RoundEntry> rounds;
  std::optional<PublicationState> state;  // After them.
  std::optional<bool> publisher;
  std::optional<PublicationMembers> members;
  bool lost = false;  // The proposal.
  std::vector<Message> messages;
  bool prune = false;        // Somebody asks for it.
  std::uint64_t settle = 0;  // The newest request to make all before it durable; 0: none.

  // Whether there is nothing but sizes.
  bool can_wait() const {
    return rounds.empty() && !state && !publisher && !members && !lost && messages.empty() &&
           settle == 0 && !prune;
  }

  bool empty() const { return applied.empty() && can_wait(); }
};

// To the loop.
struct PublicationOutput {
  struct Message {
    NodeId to;
    std::vector<std::byte> bytes;
  };

  std::vector<Message> messages;
  std::vector<std::vector<std::byte>> proposals;
  std::vector<HistoryAlarm> alarms;
  std::vector<HistoryAlarm> quarantine;
  std::optional<Status> refusal;
  Status failure;

  bool empty() const {
    return messages.empty() && proposals.empty() && alarms.empty() && quarantine.empty() &&
           !refusal && failure.ok();
  }
};

class PublicationMailbox {
 public:
  // 32 KiB each at most: a round's pages of two publishers.
  static constexpr std::size_t kMessagesMax = 256;

  // The loop's: adds to the input; what does not fit of messages is dropped. Returns how many were.
  std::size_t put(PublicationInput&& input);
  // The loop's: what is to be done.
  PublicationOutput take();

  // The thread's: waits for input, at most so long, or for as long as sizes may wait if that is
  // longer. nullopt: the end.
  std::optional<PublicationInput> wait(std::uint64_t wait_ms, std::uint64_t sizes_wait_ms);
  // The thread's: adds to the output. True if there was none, so that the loop is to be woken.
  bool put(PublicationOutput&& output);

  // No wait any more.
  void close();

  // News of shards that wait before they are made one of each shard.
  static constexpr std::size_t kAppliedMax = std::size_t{1} << 18;

 private:
  void fold_applied();

  std::mutex mutex_;
  std::condition_variable arrived_;
  bool closed_ = false;
  bool napping_ = false;  // The thread takes sizes soon without being woken for them.
  std::size_t fold_at_ = kAppliedMax;
  PublicationInput input_;
  PublicationOutput output_;
};

}  // namespace gcoord::server
