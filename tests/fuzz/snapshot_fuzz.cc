// Snapshot files as somebody who is not trusted may write them. The reader must end with one of its
// own numbers, never hold more than a section, and take only what an encoder gives back equal.
#include "common/bytes.h"
#include "common/crc32c.h"
#include "ledger/base/error_details.h"
#include "tests/fuzz/fuzz_test_main.h"
#include "tests/ledger/snapshot/snapshot_samples.h"

#include <algorithm>
#include <cstring>

namespace {

using namespace gcoord;  // NOLINT: a program of its own.

FuzzInput input_of(const std::vector<std::byte>& bytes) {
  FuzzInput input(bytes.size());
  std::memcpy(input.data(), bytes.data(), bytes.size());
  return input;
}

// Right checksums and hash wherever the bytes have room for them: what somebody would send who
// wants to be believed.
std::vector<std::byte> mended(std::span<const std::byte> input) {
  std::vector<std::byte> bytes(input.begin(), input.end());
  const std::span all{bytes};
  if (bytes.size() < ledger::kSnapshotPrologueBytes + ledger::kSnapshotHashBytes) {
    return bytes;
  }
  store(&bytes[12], crc32c(all.first(12)));
  const std::size_t hash_at = bytes.size() - ledger::kSnapshotHashBytes;
  std::size_t at = ledger::kSnapshotPrologueBytes;
  while (at + ledger::kSnapshotHeadBytes <= hash_at) {
    const std::size_t size = load<std::uint32_t>(&bytes[at + 8]);
    const std::size_t payload_at = at + ledger::kSnapshotHeadBytes;
    if (size <= hash_at - payload_at) {
      store(&bytes[at + 16], crc32c(all.subspan(payload_at, size)));
    }
    store(&bytes[at + 20], crc32c(all.subspan(at, 20)));
    at = payload_at + std::min(size, hash_at - payload_at);
  }
  ledger::Sha256Stream hash;
  hash.add(all.first(hash_at));
  std::ranges::copy(hash.finish(), all.begin() + static_cast<std::ptrdiff_t>(hash_at));
  return bytes;
}

void read(std::span<const std::byte> all) {
  ledger::SampleReader reader;
  ledger::SnapshotDecoder decoder(reader);
  const std::size_t piece = all.size() % 61 + 1;
  for (std::size_t at = 0; at < all.size(); at += piece) {
    // A failure is final, so it does not matter that more is given.
    const Status fed = decoder.feed(all.subspan(at, std::min(piece, all.size() - at)));
    GCOORD_ASSERT(fed.ok() || decoder.finish().detail() == fed.detail());
  }
  const Status status = decoder.finish();
  if (!status.ok()) {
    GCOORD_ASSERT(status.detail() >= ledger::kSnapshotForeign);
    GCOORD_ASSERT(status.detail() <= ledger::kSnapshotImpossible);
    return;
  }
  GCOORD_ASSERT(decoder.bytes() == all.size());
  ledger::SampleReader again;
  ledger::SnapshotDecoder second(again);
  const auto encoded = ledger::encode_sample(*reader.header, reader.shards);
  GCOORD_ASSERT(second.feed(encoded).ok() && second.finish().ok());
  GCOORD_ASSERT(again.shards.size() == reader.shards.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  const std::span all{reinterpret_cast<const std::byte*>(bytes), byte_count};
  read(all);
  read(mended(all));
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  return {input_of(ledger::encode_sample(ledger::sample_header(), ledger::sample_shards())),
          input_of(ledger::encode_sample(ledger::sample_header(), {}))};
}
