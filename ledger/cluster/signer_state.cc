#include "ledger/cluster/signer_state.h"

#include "common/bytes.h"
#include "common/crc32c.h"
#include "ledger/base/error_details.h"
#include "ledger/merkle/tree_proof.h"

#include <algorithm>
#include <array>
#include <string>

namespace gcoord::ledger {
namespace {

constexpr const char* kName = "signed";
constexpr std::uint64_t kMagic = 0x31474953'44524347;  // "GCRDSIG1"
constexpr std::size_t kBodyBytes = 8 + 8 + kMerkleHashBytes;
constexpr std::size_t kFileBytes = kBodyBytes + 4;

}  // namespace

Status may_sign(const SignedLog& last, const SignedLog& next, const TreeReader& log) {
  if (next.size < last.size) {
    return Status{StatusCode::FailedPrecondition,
                  "this node has signed a cluster log of " + std::to_string(last.size) +
                      " leaves and the present one has " + std::to_string(next.size) +
                      ": a backup was restored; the node signs nothing until the log is that large "
                      "again and begins with the signed part",
                  kSignerBehind};
  }
  if (last.size == 0) {
    return Status{};
  }
  GCOORD_TRY(const MerkleHash root, root_at(log, last.size));
  if (root != last.root || (next.size == last.size && next.root != last.root)) {
    return Status{StatusCode::DataLoss,
                  "this node has signed another cluster log of " + std::to_string(last.size) +
                      " leaves than the present one: history was rewritten; keep both as evidence",
                  kSignerContradiction};
  }
  return Status{};
}

Result<std::unique_ptr<SignerState>> SignerState::open(Disk& disk) {
  std::unique_ptr<SignerState> state{new SignerState(disk)};
  GCOORD_TRY(const bool exists, disk.exists(kName));
  if (!exists) {
    return state;
  }
  GCOORD_TRY(const auto file, disk.open(kName));
  GCOORD_TRY_STATUS(file->drop_cached());
  GCOORD_TRY(const auto bytes, read_all(*file));
  const auto body = std::span(bytes).first(std::min(bytes.size(), kBodyBytes));
  if (bytes.size() != kFileBytes || load<std::uint64_t>(bytes.data()) != kMagic ||
      load<std::uint32_t>(&bytes[kBodyBytes]) != crc32c(body)) {
    return Status{
        StatusCode::DataLoss,
        std::string("the file of the last signature of this node is damaged") + kRotAdvice,
        kSignerState};
  }
  state->last_.size = load<std::uint64_t>(&bytes[8]);
  std::copy_n(bytes.begin() + 16, kMerkleHashBytes, state->last_.root.begin());
  return state;
}

Status SignerState::advance(const SignedLog& next, const TreeReader& log) {
  GCOORD_TRY_STATUS(may_sign(last_, next, log));
  if (next == last_) {
    return Status{};
  }
  std::array<std::byte, kFileBytes> bytes;
  std::byte* at = store(bytes.data(), kMagic);
  at = store(at, next.size);
  at = std::ranges::copy(next.root, at).out;
  store(at, crc32c(std::span(bytes).first(kBodyBytes)));
  GCOORD_TRY_STATUS(write_atomically(disk_, kName, bytes));
  last_ = next;
  return Status{};
}

}  // namespace gcoord::ledger
