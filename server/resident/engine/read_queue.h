// Reads that wait to be asked of the device, at most one under way for each shard.
//
// A row proves one read at a time, and a later one takes its place (device_turn/reads.h): rounds of
// a shard that is always read would be put off for ever. So whoever comes while a read of the shard
// is with the device shares the next one, which goes when the first has ended. A read that is
// shared must not have gone: its proof has to be younger than everybody who waits for it. Reads are
// named by the tags of their requests (asked_table.h). Nothing is allocated for a read but what was
// needed before for as many at once. One thread.
#pragma once

#include "common/ids.h"
#include "common/tables/mapped_column.h"
#include "consensus/step/inbox.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace gcoord::server {

class ReadQueue {
 public:
  explicit ReadQueue(std::uint32_t shard_count) { slots_.resize(shard_count); }

  // A read that goes to the device.
  struct Due {
    ShardId shard;
    std::uint64_t tag = 0;
    consensus::ReadProof proof = consensus::ReadProof::LeaseOrRound;
  };

  // The shard's read that is not with the device yet, which a read of this proof shares from now
  // on; 0: there is none, and add() makes one.
  std::uint64_t share(ShardId shard, consensus::ReadProof proof) {
    Slot& slot = slots_[shard.value];
    slot.proof = slot.next != 0 && proof == consensus::ReadProof::Round ? proof : slot.proof;
    return slot.next;
  }

  void add(const Due& read);

  // The next read that may go to the device, and is with it from now on.
  std::optional<Due> take();

  // A read of the shard has ended, wherever it was.
  void on_end(ShardId shard, std::uint64_t tag);

 private:
  struct Slot {
    std::uint64_t open = 0;                                           // With the device; 0: none.
    std::uint64_t next = 0;                                           // Not yet; 0: none.
    consensus::ReadProof proof = consensus::ReadProof::LeaseOrRound;  // Of the next one.
  };

  MappedColumn<Slot> slots_;          // By shard; pages of idle ones cost nothing.
  std::vector<std::uint32_t> ready_;  // Shards whose next one may go; some of them in vain.
  std::size_t taken_ = 0;             // Of ready_, from the front.
};

}  // namespace gcoord::server
