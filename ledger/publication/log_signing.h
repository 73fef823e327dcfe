// Signatures under the cluster log: this node's own, and the others' until a majority has signed
// one size, which is then published.
//
// A node signs a size that is ordered, here, and compared; of a run of rounds the last one, or
// some. A signature counts once the log has the signer's key. A node that signed another log
// before, or more than there is, refuses to sign until that has passed. One thread.
#pragma once

#include "common/ids.h"
#include "common/status.h"
#include "ledger/heads/signature_set.h"
#include "ledger/merkle/hash.h"
#include "ledger/publication/publication_base.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace gcoord::server {

// The newest log that a majority has signed.
struct LastPublished {
  std::uint64_t size = 0;
  ledger::MerkleHash root{};
  std::vector<NodeId> signers;
  std::uint64_t since_ms = 0;  // When this node heard of it; 0: nothing since it started.
};

class LogSigning {
 public:
  // The base outlives it.
  explicit LogSigning(PublicationBase& base) : base_(base) {}

  // The nodes' keys have changed: signatures by a key that counts no more are dropped. Their owners
  // send them again soon.
  void on_keys();

  // False: not genuine.
  bool on(NodeId from, const SignatureMessage& message);

  // Signs what is ordered. whole: all of it is here and compared, and nothing speaks against it.
  void sign(bool whole);

  // Publishes the largest size that a majority has signed, of the leaves below `trusted`.
  void publish(std::uint64_t trusted);

  // Sends this node's signature again.
  void repeat();

  // Ok: signs again. A failure that is no reason to refuse is final.
  void refuse(const Status& why);

  // Size that this node has signed since it started; 0: none.
  std::uint64_t signed_size() const { return signed_ ? signed_->size : 0; }

  // Whether there is more to sign than this node has signed or refused to.
  bool lags() const { return std::max(refused_, signed_size()) < base_.state.size(); }

  const Status& refusal() const { return refusal_; }

  const LastPublished& published() const { return published_; }

 private:
  PublicationBase& base_;
  SignatureSet signatures_;
  std::optional<SignatureMessage> signed_;
  std::uint64_t sign_ms_ = 0;  // Nothing is signed before.
  std::uint64_t refused_ = 0;  // The size that refusal_ is about.
  Status refusal_;
  LastPublished published_;
};

}  // namespace gcoord::server
