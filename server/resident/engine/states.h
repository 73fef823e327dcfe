// Transfer of a shard's state between hosts, for a device that has only a snapshot's index: the
// host asks the other hosts until one has the state.
//
//   ask     kind 5, 0 3, shard 4, index 8, 0 16: the shard's state as of this index or later
//   state   kind 6, stamped 1, 0 2, shard 4, index 8, bytes in all 8, offset 8, and a chunk
//
// Messages of the publication begin with 5, too (ledger/heads/message.h); their second byte is
// never 0. `stamped`: ResidentRows::has_stamps() of the shard, 0 of earlier releases.
//
// Any host that has applied so far and is not in the middle of a name may answer; what is decided
// is the same everywhere. Messages may be lost: the question is repeated, to the other peers in
// turn. A state comes in chunks of one answer, in order; what does not follow is dropped.
// Everything that arrives is checked: form here, content by Service::plausible. One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "server/interfaces/state_machine.h"
#include "server/resident/engine/rows.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::server {

// First bytes of the messages. client_address.h owns 3, device_links.h 4. Never renumber.
inline constexpr std::byte kStateAskKind{5};
inline constexpr std::byte kStateKind{6};

class ResidentStates {
 public:
  using Send = std::function<void(NodeId to, std::span<const std::byte>)>;

  // The references outlive it.
  ResidentStates(std::vector<NodeId> peers, ResidentRows& rows, StateMachine& service, Send send);

  static bool is_message(std::span<const std::byte> message);

  // A failure is the service's, which refused what it had found plausible.
  Status on_message(NodeId from, std::span<const std::byte> message);

  // Asks for what is wanted, again if it did not come for so long.
  void refresh(std::uint64_t now_ms);

  std::uint64_t installed_count() const { return installed_; }

  std::uint64_t dropped_count() const { return dropped_; }

 private:
  static constexpr std::uint64_t kAskAgainMs = 200;
  // More than that does not come from a correct peer: 16 M locks of one shard would be less.
  static constexpr std::uint64_t kStateBytesMax = std::uint64_t{1} << 32;

  struct Arriving {
    LogIndex index;
    std::uint64_t bytes_total = 0;
    std::vector<std::byte> bytes;
  };

  void answer(NodeId to, std::span<const std::byte> message);
  Status take_chunk(NodeId from, std::span<const std::byte> message);

  std::vector<NodeId> peers_;
  ResidentRows& rows_;
  StateMachine& service_;
  Send send_;
  std::uint64_t next_ask_ms_ = 0;
  std::uint64_t round_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Arriving> arriving_;  // By peer and shard.
  std::uint64_t installed_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace gcoord::server
