// The handshake in which two nodes prove to one another that they have the secret of their cluster,
// before either believes a word of the other's greeting.
//
//     caller                         called side
//     Challenge {nonce, key ids}  ->
//                                 <- Challenge {nonce, the key id that both prove by}
//     Proven {Hello}              ->
//                                 <- Proven {Welcome or Refusal}
//
// A proof is a MAC over the role of its sender, both challenges, the Hello, and in the answer the
// answer, each as the bytes that travelled. So a proof of another handshake, of the other side or
// of other words proves nothing (the rules of Bird et al., Systematic Design of Two-Party
// Authentication Protocols, CRYPTO 1991; SIGMA's MAC over both nonces and the role). The
// challenges hold no more than who calls whom: an unknown listener learns nothing of a directory.
//
// Objects of one link each; one thread. What arrives is judged, never asserted on.
#pragma once

#include "netcore/proof/keys.h"
#include "netcore/proof/proven_frames.h"
#include "netcore/transport/greeting.h"
#include "security/secret/bytes.h"

#include <array>
#include <cstddef>
#include <span>

namespace gcoord::netcore {

// Both ends of a link, as the one that makes the object sees them.
struct ProofEnds {
  ClusterId cluster;
  NodeId self;
  NodeId peer;
};

// What both sides have seen so far.
struct ProofTranscript {
  std::array<std::byte, kChallengeBytes> opening{};
  std::array<std::byte, kChallengeBytes> challenge{};
  std::array<std::byte, kGreetingBytes> hello{};
};

class CallerProof {
 public:
  CallerProof(const ProofKeys& keys, const ProofEnds& ends, const Nonce& nonce);

  // The first frame.
  std::span<const std::byte> opening() const { return transcript_.opening; }

  // The called side has answered with a challenge that can be met.
  bool challenged() const { return !key_.empty(); }

  // `bytes` is all of `frame`. OtherSecret: the called side has none of the keys.
  DropReason on_challenge(const FrameView& frame, std::span<const std::byte> bytes);

  // The Hello with its proof; returns the length. After on_challenge.
  std::size_t prove(std::span<const std::byte, kGreetingBytes> hello,
                    std::span<std::byte, kStrangerBytesMax> out);

  // None fills `answer`, whose inner frame is the word of a node that has the secret. After prove.
  DropReason on_answer(const FrameView& frame, ProvenFrame& answer) const;

 private:
  ProofKeys keys_;
  ProofTranscript transcript_;
  Nonce nonce_;
  security::SecretBytes key_;
  bool has_proven_ = false;
};

class CalleeProof {
 public:
  // `bytes` is the whole frame of `opening`.
  CalleeProof(const ProofKeys& keys,
              const ProofEnds& ends,
              const Challenge& opening,
              std::span<const std::byte> bytes,
              const Nonce& nonce);

  // The answer to the opening, also where it names no key.
  std::span<const std::byte> challenge() const { return transcript_.challenge; }

  // Whether the two have a key in common.
  bool can_prove() const { return !key_.empty(); }

  // None fills `hello`, whose inner frame is a Hello of a node that has the secret.
  DropReason on_hello(const FrameView& frame, ProvenFrame& hello);

  // Whether on_hello has let a Hello through: then every answer must have a proof.
  bool is_proven() const { return is_proven_; }

  // The answer with its proof; returns the length. After on_hello.
  std::size_t prove(std::span<const std::byte> answer,
                    std::span<std::byte, kStrangerBytesMax> out) const;

 private:
  ProofTranscript transcript_;
  NodeId caller_;
  security::SecretBytes key_;
  bool is_proven_ = false;
};

}  // namespace gcoord::netcore
