#include "security/records/opener.h"

#include "common/assert.h"

#include <algorithm>
#include <utility>

namespace gcoord::security {
namespace {

RecordCipher cipher_after(RecordKeys& keys) {
  keys.step();
  return keys.cipher(RecordCipher::Use::Open);
}

}  // namespace

RecordOpener::RecordOpener(std::span<const std::byte> secret, RecordSide side, RecordOrder order)
    : side_(side),
      order_(order),
      keys_(secret, side),
      present_(keys_.cipher(RecordCipher::Use::Open)),
      next_(cipher_after(keys_)) {}

RecordVerdict RecordOpener::open(std::span<const std::byte> record, std::span<std::byte> plain) {
  RecordHeader header;
  RecordVerdict verdict = read_record_header(record, header);
  if (verdict == RecordVerdict::Opened) {
    verdict = judge(header);
  }
  if (verdict != RecordVerdict::Opened) {
    return verdict;
  }
  RecordCipher* const cipher = cipher_of(header.epoch);
  if (cipher == nullptr) {
    return RecordVerdict::Epoch;
  }
  const std::size_t plain_bytes = record.size() - kRecordExtraBytes;
  GCOORD_ASSERT(plain.size() >= plain_bytes);
  if (!cipher->open(header.sequence, record, plain.first(plain_bytes))) {
    return RecordVerdict::Forged;
  }
  if (order_ == RecordOrder::Kept && header.sequence != expected_) {
    std::ranges::fill(plain.first(plain_bytes), std::byte{0});
    return RecordVerdict::OutOfOrder;
  }
  if (header.epoch == epoch_ + 1) {
    take_next(header.sequence);
  }
  note(header.sequence);
  return RecordVerdict::Opened;
}

// By its header alone, which may be forged: what is refused here is refused whatever it holds.
RecordVerdict RecordOpener::judge(const RecordHeader& header) const {
  if (header.side != side_) {
    return RecordVerdict::Reflected;
  }
  const bool again = order_ == RecordOrder::Kept
                         ? header.sequence < expected_
                         : window_.judge(header.sequence) != ReplayWindow::Verdict::Fresh;
  return again ? RecordVerdict::Replayed : RecordVerdict::Opened;
}

RecordCipher* RecordOpener::cipher_of(std::uint32_t epoch) {
  if (epoch == epoch_) {
    return &present_;
  }
  if (epoch == epoch_ + 1) {
    return &next_;
  }
  return epoch + 1 == epoch_ && previous_.has_value() ? &*previous_ : nullptr;
}

void RecordOpener::take_next(std::uint64_t first_sequence) {
  if (order_ == RecordOrder::Window) {
    previous_ = std::move(present_);
  }
  present_ = std::move(next_);
  ++epoch_;
  first_sequence_ = first_sequence;
  next_ = cipher_after(keys_);
}

void RecordOpener::note(std::uint64_t sequence) {
  expected_ = sequence + 1;
  window_.note(sequence);
  if (window_.oldest() >= first_sequence_) {  // Nothing before it is taken any more.
    previous_.reset();
  }
}

}  // namespace gcoord::security
