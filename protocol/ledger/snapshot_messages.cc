#include "protocol/ledger/snapshot_messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"

namespace gcoord::protocol {

std::vector<std::byte> encode_snapshot_read(const SnapshotRead& read) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(read.save);
  writer.integer(read.offset);
  return out;
}

Result<SnapshotRead> decode_snapshot_read(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  SnapshotRead read;
  read.save = reader.integer<std::uint64_t>();
  read.offset = reader.integer<std::uint64_t>();
  if (!reader.complete()) {
    return make_error(ErrorCode::PayloadMalformed, "snapshot_read");
  }
  return read;
}

}  // namespace gcoord::protocol
