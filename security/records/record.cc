#include "security/records/record.h"

#include "common/assert.h"

#include <array>
#include <bit>
#include <cstring>
#include <string>

namespace gcoord::security {
namespace {

struct Wire {
  std::uint8_t algorithm = kRecordAlgorithm;
  std::uint8_t side = 0;
  std::uint16_t reserved = 0;
  std::uint32_t epoch = 0;
  std::uint64_t sequence = 0;
};

static_assert(sizeof(Wire) == kRecordHeaderBytes);
static_assert(std::endian::native == std::endian::little);  // As everywhere on the wire.

struct Reason {
  std::string_view name;
  StatusCode code;
  std::uint32_t number;  // protocol/error_codes.h; never renumber.
  std::string_view text;
};

constexpr std::array<Reason, kRecordVerdicts> kReasons = {{
    {"opened", StatusCode::Ok, 0, ""},
    {"malformed", StatusCode::DataLoss, 3130, "it is no sealed record"},
    {"algorithm", StatusCode::FailedPrecondition, 3131, "a record names an unknown algorithm"},
    {"reflected", StatusCode::PermissionDenied, 3132, "a record came back to its sender"},
    {"epoch", StatusCode::DataLoss, 3133, "a record is sealed with a key that is not in use"},
    {"forged", StatusCode::PermissionDenied, 3134, "a record was changed, or made without the key"},
    {"replayed", StatusCode::PermissionDenied, 3135, "a record came twice, or too late to tell"},
    {"out_of_order", StatusCode::DataLoss, 3136, "records before this one are missing"},
}};

}  // namespace

std::string_view record_verdict_name(RecordVerdict verdict) {
  return kReasons.at(static_cast<std::size_t>(verdict)).name;
}

Status record_failure(RecordVerdict verdict) {
  GCOORD_ASSERT(verdict != RecordVerdict::Opened);
  const Reason& reason = kReasons.at(static_cast<std::size_t>(verdict));
  return {reason.code, std::string{reason.text}, reason.number};
}

void write_record_header(const RecordHeader& header, std::span<std::byte, kRecordHeaderBytes> out) {
  const Wire wire{.side = static_cast<std::uint8_t>(header.side),
                  .epoch = header.epoch,
                  .sequence = header.sequence};
  std::memcpy(out.data(), &wire, sizeof(wire));
}

RecordVerdict read_record_header(std::span<const std::byte> record, RecordHeader& header) {
  if (record.size() < kRecordExtraBytes ||
      record.size() > kRecordPlainBytesMax + kRecordExtraBytes) {
    return RecordVerdict::Malformed;
  }
  Wire wire;
  std::memcpy(&wire, record.data(), sizeof(wire));
  if (wire.algorithm != kRecordAlgorithm) {
    return RecordVerdict::Algorithm;
  }
  if (wire.reserved != 0 || wire.side > static_cast<std::uint8_t>(RecordSide::Called)) {
    return RecordVerdict::Malformed;
  }
  header = {static_cast<RecordSide>(wire.side), wire.epoch, wire.sequence};
  return RecordVerdict::Opened;
}

}  // namespace gcoord::security
