#include "security/records/sealer.h"

#include "common/assert.h"

namespace gcoord::security {

RecordSealer::RecordSealer(std::span<const std::byte> secret,
                           RecordSide side,
                           const RecordRotation& rotation)
    : rotation_(rotation),
      side_(side),
      keys_(secret, side),
      cipher_(keys_.cipher(RecordCipher::Use::Seal)) {
  GCOORD_ASSERT(rotation.records_max > 0);
}

void RecordSealer::seal(std::span<const std::byte> plain,
                        std::span<std::byte> record,
                        std::uint64_t now_ms) {
  GCOORD_ASSERT(record.size() == plain.size() + kRecordExtraBytes);
  rotate_if_due(plain.size(), now_ms);
  const RecordHeader header{.side = side_, .epoch = keys_.epoch(), .sequence = sequence_};
  write_record_header(header, record.first<kRecordHeaderBytes>());
  cipher_.seal(sequence_, plain, record);
  ++sequence_;
  ++records_;
  bytes_ += plain.size();
}

void RecordSealer::rotate_if_due(std::size_t plain_bytes, std::uint64_t now_ms) {
  since_ms_ = records_ == 0 ? now_ms : since_ms_;
  const bool old = now_ms >= since_ms_ && now_ms - since_ms_ >= rotation_.age_ms_max;
  const bool due =
      records_ >= rotation_.records_max || bytes_ + plain_bytes > rotation_.bytes_max || old;
  if (records_ == 0 || !due) {
    return;
  }
  keys_.step();
  cipher_ = keys_.cipher(RecordCipher::Use::Seal);
  records_ = 0;
  bytes_ = 0;
  since_ms_ = now_ms;
}

}  // namespace gcoord::security
