#include "netcore/transport/sealed_frames.h"

#include "common/assert.h"

#include <utility>

namespace gcoord::netcore {

using security::RecordOrder;
using security::RecordSide;
using security::RecordVerdict;

SealedFrames::SealedFrames(std::span<const std::byte> secret, RecordSide side)
    : sealer_(secret, side), opener_(secret, security::other_side(side), RecordOrder::Kept) {}

std::optional<std::span<const std::byte>> SealedFrames::open(std::span<const std::byte> record) {
  opened_.reserve(record.size(), 0);
  const RecordVerdict verdict = opener_.open(record, {opened_.data(), record.size()});
  if (verdict != RecordVerdict::Opened) {
    refuse(verdict);
    return std::nullopt;
  }
  return std::span<const std::byte>{opened_.data(), record.size() - security::kRecordExtraBytes};
}

void SealedFrames::refuse(RecordVerdict verdict) {
  ++refused_;
  if (verdict == RecordVerdict::OutOfOrder || refused_ >= kRefusedMax) {
    failure_ = security::record_failure(verdict);
  }
}

std::uint64_t SealedFrames::take_refused() {
  return refused_ - std::exchange(refused_told_, refused_);
}

}  // namespace gcoord::netcore
