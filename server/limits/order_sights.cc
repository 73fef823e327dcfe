#include "server/limits/order_sights.h"

#include "common/bytes.h"
#include "common/crc32c.h"
#include "ledger/disk/posix_disk.h"
#include "security/limits/command.h"

#include <algorithm>
#include <utility>

namespace gcoord::server {

namespace {

constexpr const char* kName = "prune-orders";
constexpr const char* kProvisionalName = "prune-orders.next";
constexpr std::uint64_t kMagic = 0x31444f50'44524347;  // "GCRDPOD1"
constexpr std::size_t kFixedBytes = 1 + 4 + 6 * 8 + 2;
constexpr std::size_t kFileBytesMax =
    8 + kOrderSightsMax * (kFixedBytes + security::kLimitNameBytesMax) + 4;

Status replace(ledger::Disk& disk, std::span<const std::byte> bytes) {
  GCOORD_TRY(const auto file, disk.create(kProvisionalName, bytes.size()));
  GCOORD_TRY_STATUS(file->write(0, bytes));
  return disk.rename(kProvisionalName, kName);
}

std::optional<std::vector<OrderSight>> read(ledger::Disk& disk) {
  const auto file = disk.open(kName);
  if (!file.ok()) {
    return std::nullopt;
  }
  const auto size = file.value()->size_bytes();
  if (!size.ok() || size.value() > kFileBytesMax) {
    return std::nullopt;
  }
  const auto bytes = ledger::read_all(*file.value());
  return bytes.ok() ? decode_order_sights(bytes.value()) : std::nullopt;
}

}  // namespace

std::vector<std::byte> encode_order_sights(std::span<const OrderSight> sights) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.integer(kMagic);
  for (const OrderSight& each : sights) {
    writer.integer(each.bounds.log);
    security::write_prune(writer, each.bounds);
    writer.integer(each.ordered_ms);
    writer.integer(each.seen_ms);
    writer.text(each.who);
  }
  writer.integer(std::uint32_t{crc32c(bytes)});
  return bytes;
}

std::optional<std::vector<OrderSight>> decode_order_sights(std::span<const std::byte> bytes) {
  if (bytes.size() < 8 + 4 || load<std::uint64_t>(bytes.data()) != kMagic) {
    return std::nullopt;
  }
  const std::span<const std::byte> checked = bytes.first(bytes.size() - 4);
  if (load<std::uint32_t>(&bytes[checked.size()]) != crc32c(checked)) {
    return std::nullopt;
  }
  std::vector<OrderSight> sights;
  ByteReader reader{checked.subspan(8)};
  while (!reader.complete()) {
    OrderSight sight;
    sight.bounds.log = reader.integer<std::uint8_t>();
    security::read_prune(reader, sight.bounds);
    sight.ordered_ms = reader.integer<std::uint64_t>();
    sight.seen_ms = reader.integer<std::uint64_t>();
    sight.who = reader.text(security::kLimitNameBytesMax);
    if (!reader.ok() || sights.size() == kOrderSightsMax) {
      return std::nullopt;
    }
    sights.push_back(std::move(sight));
  }
  return sights;
}

OrderSights::OrderSights(const std::string& data_dir) {
  if (data_dir.empty()) {
    return;
  }
  auto disk = ledger::PosixDisk::open_directory(data_dir);
  if (disk.ok()) {
    disk_ = std::move(disk).value();
    earlier_ = read(*disk_).value_or(std::vector<OrderSight>{});
  }
}

std::optional<std::uint64_t> OrderSights::seen_ms(const security::PruneBounds& bounds,
                                                  const security::PruneOrder& order) const {
  const auto found = std::ranges::find_if(
      earlier_, [&](const OrderSight& each) { return each.is_of(bounds, order); });
  return found == earlier_.end() ? std::nullopt : std::optional{found->seen_ms};
}

void OrderSights::keep(std::vector<OrderSight> sights, std::uint64_t now_ms) {
  if (disk_ == nullptr) {
    return;
  }
  for (const OrderSight& each : earlier_) {
    const bool holds = each.ordered_ms + security::kPruneOrderMs > now_ms;
    if (holds && sights.size() < kOrderSightsMax &&
        std::ranges::find(sights, each) == sights.end()) {
      sights.push_back(each);
    }
  }
  std::vector<std::byte> bytes = encode_order_sights(sights);
  if (bytes != written_ && replace(*disk_, bytes).ok()) {
    written_ = std::move(bytes);
  }
}

}  // namespace gcoord::server
