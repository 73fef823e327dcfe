// Bytes on the peer port during a handshake with proofs: as the opening of a stranger, as the
// answer to a caller, and as the words that should have a proof.
//
// Each input is judged as it is, and with its checksums made right. Nobody here knows the secret,
// so whatever comes, neither side may take the other for a node that has it.
#include "common/crc32c.h"
#include "netcore/memory/aligned_bytes.h"
#include "netcore/proof/handshake.h"
#include "security/secret/cluster_secret.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace {

using namespace gcoord;           // NOLINT: a program of its own.
using namespace gcoord::netcore;  // NOLINT

constexpr std::string_view kSecret =
    "gcoord cluster secret 1\nhmac-sha256 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";

const ProofKeys& keys() {
  static const ProofKeys made{security::ClusterSecret::parse(kSecret).value()};
  return made;
}

Nonce nonce_of(std::uint8_t number) {
  Nonce nonce;
  nonce.fill(std::byte{number});
  return nonce;
}

std::array<std::byte, kGreetingBytes> hello_bytes() {
  Greeting hello;
  hello.from = {ClusterId{7}, NodeId{2}, Incarnation{1}, DirectoryId{5}};
  hello.to = NodeId{1};
  hello.epoch = 4;
  hello.ring_slots = {8, 8, 8, 8};
  std::array<std::byte, kGreetingBytes> bytes;
  encode_greeting(FrameKind::Hello, hello, bytes);
  return bytes;
}

constexpr ProofEnds kCaller{ClusterId{7}, NodeId{2}, NodeId{1}};
constexpr ProofEnds kCallee{ClusterId{7}, NodeId{1}, NodeId{2}};

void judge(std::span<const std::byte> bytes) {
  FrameView frame;
  if (decode_frame(bytes, frame) != DropReason::None) {
    return;
  }
  ProvenFrame proven;
  Challenge said;
  if (decode_challenge(frame, said) == DropReason::None && bytes.size() == kChallengeBytes) {
    CalleeProof callee{keys(), kCallee, said, bytes, nonce_of(2)};
    GCOORD_ASSERT(callee.on_hello(frame, proven) != DropReason::None);
    GCOORD_ASSERT(!callee.is_proven());
  }
  CallerProof caller{keys(), kCaller, nonce_of(1)};
  GCOORD_ASSERT(caller.on_answer(frame, proven) != DropReason::None);
  if (caller.on_challenge(frame, bytes) == DropReason::None) {
    alignas(kSlotBytes) std::array<std::byte, kStrangerBytesMax> out;
    const std::size_t length = caller.prove(hello_bytes(), out);
    GCOORD_ASSERT(length <= kStrangerBytesMax);
    GCOORD_ASSERT(caller.on_answer(frame, proven) != DropReason::None);
  }
  if (decode_proven(frame, proven) == DropReason::None) {
    // Reads every byte, so that the address sanitizer sees one too many.
    static_cast<void>(crc32c(proven.inner()));
    FrameView inner;
    static_cast<void>(decode_frame(proven.inner(), inner));
  }
}

void sign(std::span<std::byte> bytes) {
  FrameHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.magic = kFrameMagic;
  header.version = kFrameVersion;
  header.body_bytes = static_cast<std::uint32_t>(bytes.size() - kFrameHeaderBytes);
  header.body_crc32c = crc32c(bytes.subspan(kFrameHeaderBytes));
  header.header_crc32c = crc32c({reinterpret_cast<const std::byte*>(&header), 60});
  std::memcpy(bytes.data(), &header, sizeof(header));
}

FuzzInput to_input(std::span<const std::byte> bytes) {
  FuzzInput input(bytes.size());
  std::memcpy(input.data(), bytes.data(), bytes.size());
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  const std::size_t length = std::min(byte_count, kStrangerBytesMax);
  AlignedBytes copy{std::max<std::size_t>(length, kFrameHeaderBytes)};
  std::transform(bytes, bytes + length, copy.data(), [](std::uint8_t b) { return std::byte{b}; });
  judge({copy.data(), length});
  const std::size_t whole_lines = length / kSlotBytes * kSlotBytes;
  if (whole_lines >= kFrameHeaderBytes) {
    sign({copy.data(), whole_lines});
    judge({copy.data(), whole_lines});
  }
  return 0;
}

// A handshake by another secret: right in all but the proofs.
std::vector<FuzzInput> fuzz_seeds() {
  std::vector<FuzzInput> seeds;
  const CallerProof caller{keys(), kCaller, nonce_of(3)};
  seeds.push_back(to_input(caller.opening()));
  std::array<std::byte, kChallengeBytes> challenge;
  encode_challenge({.cluster = ClusterId{7},
                    .from = NodeId{1},
                    .to = NodeId{2},
                    .keys = {keys().ids()[0], 0},
                    .nonce = nonce_of(4)},
                   challenge);
  seeds.push_back(to_input(challenge));
  std::array<std::byte, kStrangerBytesMax> proven;
  const std::size_t length = encode_proven(hello_bytes(), ProofMac{}, proven);
  seeds.push_back(to_input(std::span{proven}.first(length)));
  return seeds;
}
