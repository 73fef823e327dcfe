#include "cli/bench/etcd/protobuf.h"

namespace gcoord::cli {

namespace {

// Kinds of fields on the wire.
constexpr std::uint64_t kVarint = 0;
constexpr std::uint64_t kEightBytes = 1;
constexpr std::uint64_t kBytes = 2;
constexpr std::uint64_t kFourBytes = 5;

constexpr int kVarintBytesMax = 10;

}  // namespace

void ProtoWriter::varint(std::uint64_t value) {
  while (value >= 0x80) {
    text_ += static_cast<char>((value & 0x7f) | 0x80);
    value >>= 7;
  }
  text_ += static_cast<char>(value);
}

ProtoWriter& ProtoWriter::number(std::uint32_t field, std::int64_t value) {
  varint(std::uint64_t{field} << 3 | kVarint);
  varint(static_cast<std::uint64_t>(value));
  return *this;
}

ProtoWriter& ProtoWriter::bytes(std::uint32_t field, std::string_view value) {
  varint(std::uint64_t{field} << 3 | kBytes);
  varint(value.size());
  text_.append(value);
  return *this;
}

std::optional<std::uint64_t> ProtoReader::varint() {
  std::uint64_t value = 0;
  for (int i = 0; i < kVarintBytesMax && !rest_.empty(); ++i) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << (7 * i);
    if (byte < 0x80) {
      return value;
    }
  }
  return std::nullopt;
}

std::optional<std::string_view> ProtoReader::take(std::uint64_t bytes) {
  if (bytes > rest_.size()) {
    return std::nullopt;
  }
  const std::string_view taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return taken;
}

std::optional<ProtoField> ProtoReader::next() {
  const auto key = varint();
  if (!key.has_value() || *key >> 3 == 0 || *key >> 3 > 0x1fff'ffff) {
    rest_ = {};
    return std::nullopt;
  }
  ProtoField field{.number = static_cast<std::uint32_t>(*key >> 3)};
  const std::uint64_t kind = *key & 7;
  std::optional<std::uint64_t> number = 0;
  if (kind == kVarint || kind == kBytes) {
    number = varint();
  }
  if (!number.has_value()) {
    rest_ = {};
    return std::nullopt;
  }
  field.value = kind == kVarint ? *number : 0;
  const std::uint64_t length = kind == kBytes        ? *number
                               : kind == kEightBytes ? 8
                               : kind == kFourBytes  ? 4
                                                     : 0;
  const auto bytes = take(length);
  if (!bytes.has_value() || (kind != kVarint && length == 0 && kind != kBytes)) {
    rest_ = {};
    return std::nullopt;
  }
  field.bytes = *bytes;
  return field;
}

std::uint64_t proto_number(std::string_view message, std::uint32_t field) {
  std::uint64_t found = 0;
  ProtoReader reader(message);
  while (const auto each = reader.next()) {
    found = each->number == field ? each->value : found;
  }
  return found;
}

std::string_view proto_bytes(std::string_view message, std::uint32_t field) {
  std::string_view found;
  ProtoReader reader(message);
  while (const auto each = reader.next()) {
    found = each->number == field ? each->bytes : found;
  }
  return found;
}

}  // namespace gcoord::cli
