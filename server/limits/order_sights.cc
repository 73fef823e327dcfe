#include "server/limits/order_sights.h"

#include "common/bytes.h"
#include "common/crc32c.h"
#include "ledger/disk/posix_disk.h"

#include <algorithm>
#include <cstring>
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
  std::size_t size = 8 + 4;
  for (const OrderSight& each : sights) {
    size += kFixedBytes + each.who.size();
  }
  std::vector<std::byte> bytes(size);
  std::byte* at = store(bytes.data(), kMagic);
  for (const OrderSight& each : sights) {
    const security::PruneBounds& bounds = each.bounds;
    at = store(at, bounds.log);
    at = store(at, bounds.shard);
    for (const std::uint64_t number : {bounds.below,
                                       bounds.entries,
                                       bounds.bytes,
                                       bounds.age_ms,
                                       each.ordered_ms,
                                       each.seen_ms}) {
      at = store(at, number);
    }
    at = store(at, static_cast<std::uint16_t>(each.who.size()));
    std::memcpy(at, each.who.data(), each.who.size());
    at += each.who.size();
  }
  store(at, crc32c(std::span{bytes}.first(size - 4)));
  return bytes;
}

std::optional<std::vector<OrderSight>> decode_order_sights(std::span<const std::byte> bytes) {
  if (bytes.size() < 8 + 4 || load<std::uint64_t>(bytes.data()) != kMagic) {
    return std::nullopt;
  }
  std::span<const std::byte> rest = bytes.first(bytes.size() - 4);
  if (load<std::uint32_t>(&bytes[rest.size()]) != crc32c(rest)) {
    return std::nullopt;
  }
  std::vector<OrderSight> sights;
  for (rest = rest.subspan(8); !rest.empty();) {
    if (rest.size() < kFixedBytes || sights.size() == kOrderSightsMax) {
      return std::nullopt;
    }
    const auto number = [&](std::size_t k) { return load<std::uint64_t>(&rest[5 + 8 * k]); };
    OrderSight sight;
    sight.bounds = {.log = load<std::uint8_t>(rest.data()),
                    .shard = load<std::uint32_t>(&rest[1]),
                    .below = number(0),
                    .entries = number(1),
                    .bytes = number(2),
                    .age_ms = number(3)};
    sight.ordered_ms = number(4);
    sight.seen_ms = number(5);
    const std::size_t name_bytes = load<std::uint16_t>(&rest[kFixedBytes - 2]);
    rest = rest.subspan(kFixedBytes);
    if (rest.size() < name_bytes) {
      return std::nullopt;
    }
    sight.who.resize(name_bytes);
    std::memcpy(sight.who.data(), rest.data(), name_bytes);
    rest = rest.subspan(name_bytes);
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
