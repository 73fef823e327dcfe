#include "ledger/notes/shard_head.h"

#include "common/bytes.h"
#include "ledger/base/error_details.h"

#include <algorithm>
#include <string>

namespace gcoord::ledger {

ShardHeadBytes encode_head(const ShardHead& head) {
  ShardHeadBytes bytes;
  std::byte* at = store(bytes.data(), head.shard.value);
  at = store(at, head.size);
  at = std::ranges::copy(head.root, at).out;
  GCOORD_ASSERT(at == bytes.data() + bytes.size());
  return bytes;
}

void write_head(ByteWriter& out, const ShardHead& head) {
  out.array(encode_head(head));
}

ShardHead read_head(ByteReader& in) {
  ShardHead head;
  head.shard = ShardId{in.integer<std::uint32_t>()};
  head.size = in.integer<std::uint64_t>();
  in.array(head.root);
  return head;
}

Result<ShardHead> decode_head(std::span<const std::byte> bytes) {
  if (bytes.size() != kShardHeadBytes) {
    return Status{StatusCode::InvalidArgument,
                  "a leaf of the cluster log has " + std::to_string(kShardHeadBytes) +
                      " bytes, this one " + std::to_string(bytes.size()),
                  kShardHeadMalformed};
  }
  ShardHead head;
  head.shard = ShardId{load<std::uint32_t>(bytes.data())};
  head.size = load<std::uint64_t>(bytes.data() + 4);
  std::ranges::copy(bytes.last(kMerkleHashBytes), head.root.begin());
  return head;
}

}  // namespace gcoord::ledger
