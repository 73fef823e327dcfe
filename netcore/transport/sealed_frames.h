// Frames of one link as sealed records (security/records), both directions.
//
// The keys come from the link's TLS, over which the nodes greeted; the frames go another way, which
// keeps their order and is trusted with nothing. Somebody else may reach the way's end and send
// there: what is refused is dropped and counted. A gap ends the link, since frames that do not
// arrive are its end; so do kRefusedMax refusals, of which some were attempts at the tag. One
// thread.
#pragma once

#include "common/status.h"
#include "netcore/memory/aligned_bytes.h"
#include "security/records/opener.h"
#include "security/records/sealer.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gcoord::netcore {

// Label of the keys in what TLS exports (RFC 5705 section 4), and how much of it.
inline constexpr std::string_view kFrameRecordsLabel = "EXPORTER-gcoord-frame-records-1";
inline constexpr std::size_t kFrameRecordsSecretBytes = 32;

class SealedFrames {
 public:
  // Far below the 2^36 at which forgeries of AES-GCM come into reach (RFC 9147 section 4.5.3).
  static constexpr std::uint64_t kRefusedMax = 65'536;

  // `side` is this end's.
  SealedFrames(std::span<const std::byte> secret, security::RecordSide side);

  static constexpr std::size_t record_bytes(std::size_t frame_bytes) {
    return frame_bytes + security::kRecordExtraBytes;
  }

  // `record` has record_bytes() of the frame.
  void seal(std::span<const std::byte> frame, std::span<std::byte> record, std::uint64_t now_ms) {
    sealer_.seal(frame, record, now_ms);
  }

  // The frame of a record, on a 64-byte boundary and valid until the next call. Nothing: the record
  // was refused; failure() says whether the link can go on.
  std::optional<std::span<const std::byte>> open(std::span<const std::byte> record);

  // A message that no record can be.
  void refuse_length() { refuse(security::RecordVerdict::Malformed); }

  // Why the link must end; Ok: it goes on.
  const Status& failure() const { return failure_; }

  // Refused since the last call.
  std::uint64_t take_refused();

 private:
  void refuse(security::RecordVerdict verdict);

  security::RecordSealer sealer_;
  security::RecordOpener opener_;
  AlignedBytes opened_;
  std::uint64_t refused_ = 0;
  std::uint64_t refused_told_ = 0;
  Status failure_;
};

}  // namespace gcoord::netcore
