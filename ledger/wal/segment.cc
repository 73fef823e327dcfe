#include "ledger/wal/segment.h"

#include "common/assert.h"

namespace gcoord::ledger {

Status WalSegment::append(std::span<const std::byte> image, const RecordHeader& record) {
  GCOORD_ASSERT(fits(image.size()));
  GCOORD_ASSERT(end_offset_ % kSectorBytes == 0);
  last_ = Identifier{record.lsn, record.durable_lsn, end_offset_, record.header_crc};
  GCOORD_TRY_STATUS(file_->write(end_offset_, image));
  GCOORD_TRY_STATUS(write_identifier(last_));
  end_offset_ += image.size();
  return Status{};
}

Status WalSegment::write_seal() {
  GCOORD_ASSERT(last_.lsn > Lsn{0});
  last_.durable_lsn = last_.lsn;
  return write_identifier(last_);
}

Status WalSegment::mark_successor() {
  encode_successor(header_.salt, sector_);
  GCOORD_TRY_STATUS(file_->write(kIdentifierPageOffset + kSuccessorSlot * kSectorBytes, sector_));
  return file_->sync();
}

Status WalSegment::write_identifier(const Identifier& identifier) {
  encode_identifier(identifier, header_.salt, sector_);
  const std::uint64_t slot = identifier.lsn.value % kIdentifierSlotCount;
  return file_->write(kIdentifierPageOffset + slot * kSectorBytes, sector_);
}

}  // namespace gcoord::ledger
