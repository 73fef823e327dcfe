#include "netcore/proof/handshake.h"

#include "common/assert.h"
#include "security/secret/keyed.h"

#include <algorithm>
#include <string_view>

namespace gcoord::netcore {
namespace {

// Of one length, so that no role is the beginning of another.
constexpr std::string_view kCallerRole = "gcoord peer proof 1 caller";
constexpr std::string_view kCalleeRole = "gcoord peer proof 1 callee";

static_assert(kCallerRole.size() == kCalleeRole.size());

// By whom a proof is, and the answer that it is for, if it is for one.
struct ProvenWords {
  std::string_view role;
  std::span<const std::byte> answer = {};
};

// All parts but the last have one length each, so two lists never have one MAC.
security::SecretBytes mac_of(const security::SecretBytes& key,
                             const ProofTranscript& transcript,
                             const ProvenWords& words) {
  return security::hmac_sha256(key.bytes(),
                               {std::as_bytes(std::span{words.role}),
                                transcript.opening,
                                transcript.challenge,
                                transcript.hello,
                                words.answer});
}

bool is_borne_out(const ProofMac& mac, const security::SecretBytes& expected) {
  return security::equal_in_constant_time(mac, expected.bytes());
}

template <std::size_t kBytes>
void keep(std::span<const std::byte> bytes, std::array<std::byte, kBytes>& out) {
  GCOORD_ASSERT(bytes.size() == kBytes);
  std::copy(bytes.begin(), bytes.end(), out.begin());
}

std::size_t seal_frame(std::span<const std::byte> inner,
                       const security::SecretBytes& mac,
                       std::span<std::byte, kStrangerBytesMax> out) {
  return encode_proven(inner, mac.bytes().first<kProofBytes>(), out);
}

}  // namespace

CallerProof::CallerProof(const ProofKeys& keys, const ProofEnds& ends, const Nonce& nonce)
    : keys_(keys.clone()), nonce_(nonce) {
  GCOORD_ASSERT(!keys.empty());
  encode_challenge({.cluster = ends.cluster,
                    .from = ends.self,
                    .to = ends.peer,
                    .keys = keys.ids(),
                    .nonce = nonce},
                   transcript_.opening);
}

DropReason CallerProof::on_challenge(const FrameView& frame, std::span<const std::byte> bytes) {
  Challenge challenge;
  if (const DropReason reason = decode_challenge(frame, challenge); reason != DropReason::None) {
    return reason;
  }
  if (challenged()) {
    return DropReason::UnexpectedKind;
  }
  if (bytes.size() != kChallengeBytes) {
    return DropReason::BadLength;
  }
  // The caller's own opening, sent back.
  if (challenge.nonce == nonce_) {
    return DropReason::BadProof;
  }
  const security::SecretBytes* key = keys_.find(challenge.keys[0]);
  if (key == nullptr) {
    return DropReason::OtherSecret;
  }
  keep(bytes, transcript_.challenge);
  key_ = key->clone();
  return DropReason::None;
}

std::size_t CallerProof::prove(std::span<const std::byte, kGreetingBytes> hello,
                               std::span<std::byte, kStrangerBytesMax> out) {
  GCOORD_ASSERT(challenged());
  GCOORD_ASSERT(!has_proven_);
  has_proven_ = true;
  keep(hello, transcript_.hello);
  return seal_frame(hello, mac_of(key_, transcript_, {kCallerRole}), out);
}

DropReason CallerProof::on_answer(const FrameView& frame, ProvenFrame& answer) const {
  if (const DropReason reason = decode_proven(frame, answer); reason != DropReason::None) {
    return reason;
  }
  const bool is_answer =
      has_proven_ &&
      is_borne_out(answer.mac, mac_of(key_, transcript_, {kCalleeRole, answer.inner()}));
  return is_answer ? DropReason::None : DropReason::BadProof;
}

CalleeProof::CalleeProof(const ProofKeys& keys,
                         const ProofEnds& ends,
                         const Challenge& opening,
                         std::span<const std::byte> bytes,
                         const Nonce& nonce)
    : caller_(opening.from) {
  const std::uint64_t common = keys.common_with(opening.keys);
  keep(bytes, transcript_.opening);
  encode_challenge({.cluster = ends.cluster,
                    .from = ends.self,
                    .to = ends.peer,
                    .keys = {common, 0},
                    .nonce = nonce},
                   transcript_.challenge);
  if (const security::SecretBytes* key = keys.find(common)) {
    key_ = key->clone();
  }
}

DropReason CalleeProof::on_hello(const FrameView& frame, ProvenFrame& hello) {
  if (const DropReason reason = decode_proven(frame, hello); reason != DropReason::None) {
    return reason;
  }
  if (is_proven_ || !can_prove()) {
    return DropReason::UnexpectedKind;
  }
  // Who calls was said in the opening, and is not changed afterwards.
  if (hello.length != kGreetingBytes || frame.header.from_node != caller_.value) {
    return DropReason::BadProof;
  }
  keep(hello.inner(), transcript_.hello);
  is_proven_ = is_borne_out(hello.mac, mac_of(key_, transcript_, {kCallerRole}));
  return is_proven_ ? DropReason::None : DropReason::BadProof;
}

std::size_t CalleeProof::prove(std::span<const std::byte> answer,
                               std::span<std::byte, kStrangerBytesMax> out) const {
  GCOORD_ASSERT(is_proven_);
  return seal_frame(answer, mac_of(key_, transcript_, {kCalleeRole, answer}), out);
}

}  // namespace gcoord::netcore
