// Proofs as somebody who is not trusted may write them: text of hashes, sizes, and what is claimed.
#include "cli/ledger/proof_input.h"
#include "ledger/merkle/proof.h"
#include "protocol/error_codes.h"
#include "tests/fuzz/fuzz_test_main.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace {

using namespace gcoord;  // NOLINT: a program of its own.

// The input: two sizes, then the text of the claimed hash, a '|' and the text of the proof.
constexpr std::size_t kHeadBytes = 2 * sizeof(std::uint64_t);
constexpr const char* kHash = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d";
constexpr const char* kHash64 = "4qSvGrUsMtFKBcoWYnA4OGHhNLmk8YyVyT1i5tCoDn0=";

FuzzInput input_of(std::uint64_t small, std::uint64_t large, const std::string& text) {
  FuzzInput input(kHeadBytes + text.size());
  std::memcpy(input.data(), &small, sizeof small);
  std::memcpy(input.data() + sizeof small, &large, sizeof large);
  std::ranges::copy(text, input.begin() + kHeadBytes);
  return input;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t byte_count) {
  if (byte_count < kHeadBytes) {
    return 0;
  }
  std::uint64_t small = 0;
  std::uint64_t large = 0;
  std::memcpy(&small, bytes, sizeof small);
  std::memcpy(&large, bytes + sizeof small, sizeof large);
  const std::string text(bytes + kHeadBytes, bytes + byte_count);
  const std::size_t bar = std::min(text.find('|'), text.size());
  const auto hash = cli::parse_hash("--root", text.substr(0, bar));
  const auto proof = cli::parse_proof("--proof", text.substr(std::min(bar + 1, text.size())));
  if (!hash.ok() || !proof.ok()) {
    const Status& status = hash.ok() ? proof.status() : hash.status();
    GCOORD_ASSERT(protocol::find_error(status.detail()) != nullptr);
    return 0;
  }
  GCOORD_ASSERT(proof.value().size() <= ledger::kProofHashesMax);
  const auto& known = hash.value();
  const Status leaf = ledger::verify_inclusion({small, large, known, known}, proof.value());
  // A root that contains itself would be a collision.
  GCOORD_ASSERT(leaf.ok() == (small == 0 && large == 1 && proof.value().empty()));
  const Status growth = ledger::verify_consistency({small, large, known, known}, proof.value());
  GCOORD_ASSERT(!growth.ok() || small == large || known == ledger::empty_root());
  return 0;
}

std::vector<FuzzInput> fuzz_seeds() {
  const std::string both = std::string(kHash) + "|" + kHash + "," + kHash64;
  return {input_of(0, 1, kHash), input_of(1, 4, both), input_of(3, 7, both + "," + kHash)};
}
