#include "ledger/directory/identity_file.h"

#include "common/assert.h"
#include "common/bytes.h"
#include "common/crc32c.h"
#include "common/incarnation.h"
#include "ledger/base/error_details.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gcoord::ledger {
namespace {

// On disk, little-endian: magic u64, version u32, node u32, cluster u64, shard count u32,
// incarnation u32, directory id u64, flags u32, peer count u32, per peer {node u32, incarnation
// u32, directory id u64, durable u64, life u64}, CRC32C u32 of all before. Version 1 had no life.
// Never renumber.
constexpr const char* kName = "identity";
constexpr std::uint64_t kMagic = 0x31444944'44524347;  // "GCRDDID1"
constexpr std::uint32_t kVersion = 2;
constexpr std::uint32_t kVersionWithoutLife = 1;
constexpr std::size_t kHeadBytes = 8 + 4 + 4 + 8 + 4 + 4 + 8 + 4 + 4;
constexpr std::size_t kPeerBytes = 4 + 4 + 8 + 8 + 8;
constexpr std::size_t kPeerBytesWithoutLife = kPeerBytes - 8;
constexpr std::uint32_t kInUse = 1;  // Bits of the flags.
constexpr std::uint32_t kEstablished = 2;
constexpr std::uint32_t kNoLog = 4;
constexpr std::uint32_t kRejoining = 8;  // A release that does not know it refuses the incarnation.
constexpr std::uint32_t kRestored = 16;
constexpr std::uint32_t kLedgerBounded = 32;  // A release that does not know it drops it.
constexpr std::size_t kCrcBytes = 4;

Status mismatch(std::uint32_t detail,
                const std::string& what,
                std::uint64_t has,
                std::uint64_t is) {
  return Status{StatusCode::FailedPrecondition,
                "the data directory belongs to " + what + " " + std::to_string(has) +
                    " but this node was started with " + std::to_string(is) +
                    "; correct the option, or give the node another directory",
                detail};
}

Status wrong_durability(bool keeps_log) {
  return Status{StatusCode::FailedPrecondition,
                std::string("the data directory belongs to a cluster that was created with "
                            "--durability ") +
                    (keeps_log ? "durable" : "memory") +
                    "; start the node with it, or create a new cluster in new directories",
                kDirectoryDurability};
}

Status damaged() {
  return Status{StatusCode::DataLoss,
                std::string("the identity file is damaged") + kRotAdvice,
                kDirectoryIdentity};
}

Status used_up(const std::string& what) {
  return Status{
      StatusCode::FailedPrecondition,
      "this node id has used up its " + what + "; give the node another id in a new cluster",
      kDirectoryUsedUp};
}

}  // namespace

Result<std::unique_ptr<IdentityFile>> IdentityFile::open(Disk& disk,
                                                         const NodeIdentity& expected,
                                                         std::uint64_t random_id) {
  GCOORD_ASSERT(random_id != 0);
  GCOORD_ASSERT(expected.node != NodeId{0});
  std::unique_ptr<IdentityFile> file{new IdentityFile(disk)};
  GCOORD_TRY(const bool exists, disk.exists(kName));
  if (exists) {
    GCOORD_TRY_STATUS(file->read_file());
    GCOORD_TRY_STATUS(file->check(expected));
  } else {
    file->identity_ = expected;
    file->directory_id_ = random_id;
    file->ledger_bounded_ = true;
  }
  if (start_of(file->incarnation_) >= kStartMax) {
    return used_up("2097152 starts");
  }
  ++file->incarnation_;
  GCOORD_TRY_STATUS(file->persist());
  return file;
}

Status IdentityFile::create(Disk& disk,
                            const NodeIdentity& identity,
                            std::uint64_t random_id,
                            Incarnation before) {
  GCOORD_ASSERT(random_id != 0);
  GCOORD_ASSERT(start_of(before) < kStartMax);
  IdentityFile file{disk};
  file.identity_ = identity;
  file.directory_id_ = random_id;
  file.incarnation_ = before;
  file.restored_ = true;
  file.ledger_bounded_ = true;
  return file.persist();
}

Result<std::unique_ptr<IdentityFile>> IdentityFile::read(Disk& disk) {
  std::unique_ptr<IdentityFile> file{new IdentityFile(disk)};
  GCOORD_TRY_STATUS(file->read_file());
  return file;
}

Status IdentityFile::read_file() {
  GCOORD_TRY(const auto stored, disk_.open(kName));
  GCOORD_TRY_STATUS(stored->drop_cached());
  GCOORD_TRY(const auto bytes, read_all(*stored));
  return decode(bytes);
}

Status IdentityFile::take_over(Incarnation known, std::uint64_t random_id) {
  GCOORD_TRY_STATUS(rise_above(known, random_id));
  established_ = true;
  rejoining_ = true;
  return persist();
}

Status IdentityFile::begin_generation(std::uint64_t random_id) {
  GCOORD_TRY_STATUS(rise_above(incarnation_, random_id));
  return persist();
}

Status IdentityFile::rise_above(Incarnation known, std::uint64_t random_id) {
  GCOORD_ASSERT(random_id != 0);
  const std::uint32_t generation = std::max(generation_of(known), generation_of(incarnation_)) + 1;
  if (generation > kGenerationMax) {
    return used_up("255 replaced directories");
  }
  incarnation_ = incarnation_of(generation, std::max(start_of(known), start_of(incarnation_)));
  directory_id_ = random_id;
  return Status{};
}

Status IdentityFile::succeed(const IdentityFile& damaged, std::uint64_t random_id) {
  peers_ = damaged.peers_;
  ledger_bounded_ = damaged.ledger_bounded_;
  return take_over(damaged.incarnation_, random_id);
}

// What could not be written does not hold: the next try is one again.
template <typename T>
Status IdentityFile::change(T& member, T value) {
  if (member == value) {
    return Status{};
  }
  std::swap(member, value);
  Status status = persist();
  if (!status.ok()) {
    std::swap(member, value);
  }
  return status;
}

Status IdentityFile::mark_rejoined() {
  return change(rejoining_, false);
}

Status IdentityFile::mark_in_use() {
  return change(in_use_, true);
}

Status IdentityFile::mark_established() {
  return change(established_, true);
}

Status IdentityFile::remember_peers(const std::vector<PeerIdentity>& peers) {
  GCOORD_ASSERT(std::ranges::is_sorted(peers, {}, &PeerIdentity::node));
  return change(peers_, peers);
}

Status IdentityFile::remember_peer(const PeerIdentity& peer) {
  std::vector<PeerIdentity> peers = peers_;
  const auto found = std::ranges::lower_bound(peers, peer.node, {}, &PeerIdentity::node);
  if (found == peers.end() || found->node != peer.node) {
    peers.insert(found, peer);
  } else {
    *found = peer;
  }
  return change(peers_, std::move(peers));
}

Status IdentityFile::decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeadBytes + kCrcBytes || load<std::uint64_t>(bytes.data()) != kMagic ||
      load<std::uint32_t>(&bytes[bytes.size() - kCrcBytes]) !=
          crc32c(bytes.first(bytes.size() - kCrcBytes))) {
    return damaged();
  }
  const std::byte* at = bytes.data() + 8;
  const auto version = load<std::uint32_t>(at);
  if (version != kVersion && version != kVersionWithoutLife) {
    return Status{StatusCode::FailedPrecondition,
                  "the data directory has format " + std::to_string(version) +
                      "; start the release that wrote it",
                  kDirectoryFormat};
  }
  identity_.node = NodeId{load<std::uint32_t>(at + 4)};
  identity_.cluster = ClusterId{load<std::uint64_t>(at + 8)};
  identity_.shard_count = load<std::uint32_t>(at + 16);
  incarnation_ = Incarnation{load<std::uint32_t>(at + 20)};
  directory_id_ = load<std::uint64_t>(at + 24);
  const auto flags = load<std::uint32_t>(at + 32);
  in_use_ = (flags & kInUse) != 0;
  established_ = (flags & kEstablished) != 0;
  rejoining_ = (flags & kRejoining) != 0;
  restored_ = (flags & kRestored) != 0;
  ledger_bounded_ = (flags & kLedgerBounded) != 0;
  identity_.keeps_log = (flags & kNoLog) == 0;
  const std::size_t peer_count = load<std::uint32_t>(at + 36);
  const bool has_life = version != kVersionWithoutLife;
  const std::size_t peer_bytes = has_life ? kPeerBytes : kPeerBytesWithoutLife;
  if (bytes.size() - kHeadBytes - kCrcBytes != peer_count * peer_bytes) {
    return damaged();
  }
  at = bytes.data() + kHeadBytes;
  for (std::size_t i = 0; i < peer_count; ++i, at += peer_bytes) {
    peers_.push_back(PeerIdentity{NodeId{load<std::uint32_t>(at)},
                                  load<std::uint64_t>(at + 8),
                                  Incarnation{load<std::uint32_t>(at + 4)},
                                  load<std::uint64_t>(at + 16),
                                  has_life ? load<std::uint64_t>(at + 24) : 0});
  }
  return Status{};
}

Status IdentityFile::check(const NodeIdentity& expected) const {
  if (identity_.cluster != expected.cluster) {
    return mismatch(kDirectoryCluster, "cluster", identity_.cluster.value, expected.cluster.value);
  }
  if (identity_.node != expected.node) {
    return mismatch(kDirectoryNode, "node", identity_.node.value, expected.node.value);
  }
  if (identity_.shard_count != expected.shard_count) {
    return mismatch(kDirectoryShardCount,
                    "a cluster with shard count",
                    identity_.shard_count,
                    expected.shard_count);
  }
  if (identity_.keeps_log != expected.keeps_log) {
    return wrong_durability(identity_.keeps_log);
  }
  return Status{};
}

Status IdentityFile::persist() {
  std::vector<std::byte> bytes(kHeadBytes + peers_.size() * kPeerBytes + kCrcBytes);
  auto* at = store(bytes.data(), kMagic);
  at = store(at, kVersion);
  at = store(at, identity_.node.value);
  at = store(at, identity_.cluster.value);
  at = store(at, identity_.shard_count);
  at = store(at, incarnation_.value);
  at = store(at, directory_id_);
  at = store(at,
             (in_use_ ? kInUse : 0u) | (established_ ? kEstablished : 0u) |
                 (identity_.keeps_log ? 0u : kNoLog) | (rejoining_ ? kRejoining : 0u) |
                 (restored_ ? kRestored : 0u) | (ledger_bounded_ ? kLedgerBounded : 0u));
  at = store(at, static_cast<std::uint32_t>(peers_.size()));
  for (const PeerIdentity& peer : peers_) {
    at = store(at, peer.node.value);
    at = store(at, peer.incarnation.value);
    at = store(at, peer.directory_id);
    at = store(at, peer.durable);
    at = store(at, peer.life);
  }
  store(at, crc32c(std::span{bytes}.first(bytes.size() - kCrcBytes)));
  return write_atomically(disk_, kName, bytes);
}

}  // namespace gcoord::ledger
