// Reads that the device has proved, until the host's copy has come to where they may be answered.
//
// The device may have decided more than it has told, and the copy of a row may wait for a state
// from another host. One of each shard, since a row proves one read at a time. One thread.
#pragma once

#include "common/ids.h"
#include "server/device_turn/service.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace gcoord::server {

class ProvedReads {
 public:
  struct Read {
    std::uint64_t tag = 0;  // Of its request, which may have ended meanwhile.
    LogIndex index;         // What the copy must have applied.
    ReadWay way = ReadWay::Lease;
  };

  // The newest one of the shard: an older one, if it is still here, has ended.
  void add(ShardId shard, const Read& read) { reads_[shard.value] = read; }

  // The shard's read if the copy, which has applied so much, may answer it now; it is taken.
  std::optional<Read> take(ShardId shard, LogIndex applied) {
    const auto found = reads_.empty() ? reads_.end() : reads_.find(shard.value);
    if (found == reads_.end() || applied < found->second.index) {
      return std::nullopt;
    }
    const Read read = found->second;
    reads_.erase(found);
    return read;
  }

 private:
  std::unordered_map<std::uint32_t, Read> reads_;  // By shard; empty nearly always.
};

}  // namespace gcoord::server
