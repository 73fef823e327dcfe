// Payloads of LockBreak and SessionLosses: holds that end by force, and how their sessions hear of
// it.
//
// Decoding is bounded and never trusts a count. Pure functions; thread-safe. Views in decoded
// values point into the payload they came from.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "protocol/limits.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

// u8 flags (1: all holds up to the slot's token, else the one under it), u16 bytes, name, u16
// bytes, who, reason (the rest). Texts are UTF-8 without control characters.
struct LockBreak {
  bool all = false;
  std::string_view name;
  std::string_view who;     // 1 to kBreakWhoBytesMax bytes: a principal. Nothing proves it.
  std::string_view reason;  // 1 to kNoteBytesMax bytes.
};

std::vector<std::byte> encode_break(const LockBreak& request);
// Any bytes that have the form; whether they may be asked for is check_break()'s (validate.h).
Result<LockBreak> decode_break(std::span<const std::byte> payload);

// A hold that was broken.
struct LossEntry {
  FencingToken token;
  LogIndex broken_at;  // The entry of the shard's log that says who broke it, and why.
  ShardId shard;
  std::string name;
};

// u32 count, then {u64 token, u64 index, u32 shard, u16 bytes, name} each; at most kLossesMax.
std::vector<std::byte> encode_losses(std::span<const LossEntry> losses);
Result<std::vector<LossEntry>> decode_losses(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
