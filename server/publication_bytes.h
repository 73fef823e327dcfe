// Hashes, keys and heads in the bytes of publication entries and messages. Host only.
#pragma once

#include "ledger/shard_head.h"
#include "rpc/byte_codec.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace gcoord::server {

template <std::size_t kBytes>
void write_bytes(rpc::ByteWriter& out, const std::array<std::byte, kBytes>& bytes) {
  out.bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

template <std::size_t kBytes>
void read_bytes(rpc::ByteReader& in, std::array<std::byte, kBytes>& bytes) {
  static_assert(kBytes % sizeof(std::uint64_t) == 0);
  for (std::size_t at = 0; at < kBytes; at += sizeof(std::uint64_t)) {
    const auto word = in.integer<std::uint64_t>();
    std::memcpy(&bytes[at], &word, sizeof word);
  }
}

inline void write_head(rpc::ByteWriter& out, const ledger::ShardHead& head) {
  write_bytes(out, ledger::encode_head(head));
}

inline ledger::ShardHead read_head(rpc::ByteReader& in) {
  ledger::ShardHead head;
  head.shard = ShardId{in.integer<std::uint32_t>()};
  head.size = in.integer<std::uint64_t>();
  read_bytes(in, head.root);
  return head;
}

}  // namespace gcoord::server
