// Last signed state of a node, which prevents a contradicting signature.
//
// {size, root} of the cluster log is written and synced before a signature leaves. A signature
// after it is for a larger log that begins with this one, or for the same. A node whose data, or
// whose cluster, came back from a backup has signed more than there is, and signs nothing until the
// log has grown past it and still begins with it; if it does not begin with it, never again.
//
// One file, `signed`: magic u64, size u64, root 32 bytes, CRC32C u32; little-endian, never to be
// renumbered. One thread.
#pragma once

#include "common/status.h"
#include "ledger/disk/disk.h"
#include "ledger/merkle/hash.h"
#include "ledger/merkle/tree_reader.h"

#include <cstdint>
#include <memory>

namespace gcoord::ledger {

struct SignedLog {
  std::uint64_t size = 0;  // 0: nothing was signed.
  MerkleHash root{};

  friend bool operator==(const SignedLog& a, const SignedLog& b) = default;
};

// Ok if a node that signed `last` may sign `next`, the log being `log`. FailedPrecondition
// (kSignerBehind) if next is smaller, DataLoss (kSignerContradiction) if it does not begin with
// last.
Status may_sign(const SignedLog& last, const SignedLog& next, const TreeReader& log);

class SignerState {
 public:
  // Reads the file, if there is one; the disk outlives it. DataLoss (kSignerState) if it is
  // damaged.
  static Result<std::unique_ptr<SignerState>> open(Disk& disk);

  const SignedLog& last() const { return last_; }

  // may_sign, and then durable when it returns ok. The log up to next.size is durable already.
  Status advance(const SignedLog& next, const TreeReader& log);

 private:
  explicit SignerState(Disk& disk) : disk_(disk) {}

  Disk& disk_;
  SignedLog last_;
};

}  // namespace gcoord::ledger
