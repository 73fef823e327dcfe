#include "cli/ledger/proof_input.h"

#include "ledger/merkle/proof.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace gcoord::cli {
namespace {

using ledger::kMerkleHashBytes;
using ledger::MerkleHash;

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kBase64Length = (kMerkleHashBytes * 8 + 5) / 6;  // Without padding.

// The bytes that `text` spells in digits of so many bits each, the first one on top. Bits beyond
// the last byte must be 0, so that a hash has one spelling.
std::optional<MerkleHash> spelled(std::string_view text, std::string_view digits, unsigned bits) {
  MerkleHash hash{};
  std::uint32_t pending = 0;
  unsigned pending_bits = 0;
  std::size_t filled = 0;
  for (const char letter : text) {
    const std::size_t value = digits.find(letter);
    if (value == std::string_view::npos) {
      return std::nullopt;
    }
    pending = (pending << bits) | static_cast<std::uint32_t>(value);
    pending_bits += bits;
    if (pending_bits >= 8 && filled < hash.size()) {
      pending_bits -= 8;
      hash[filled++] = static_cast<std::byte>(pending >> pending_bits);
      pending &= (1u << pending_bits) - 1;
    }
  }
  return filled == hash.size() && pending == 0 ? std::optional(hash) : std::nullopt;
}

std::optional<MerkleHash> read_hash(std::string text) {
  if (text.size() == kMerkleHashBytes * 2) {
    std::ranges::transform(text, text.begin(), [](char letter) {
      return letter >= 'A' && letter <= 'F' ? static_cast<char>(letter - 'A' + 'a') : letter;
    });
    return spelled(text, kHexDigits, 4);
  }
  if (text.size() == kBase64Length + 1 && text.back() == '=') {
    text.pop_back();
  }
  return text.size() == kBase64Length ? spelled(text, kBase64Digits, 6) : std::nullopt;
}

}  // namespace

Result<MerkleHash> parse_hash(const std::string& flag, const std::string& text) {
  if (const auto hash = read_hash(text)) {
    return *hash;
  }
  constexpr std::size_t kShown = 80;
  return protocol::make_error(protocol::ErrorCode::ProofMalformed,
                              flag + " '" + text.substr(0, kShown) + "'");
}

Result<std::vector<MerkleHash>> parse_proof(const std::string& flag, const std::string& text) {
  std::vector<MerkleHash> proof;
  if (text.empty()) {
    return proof;
  }
  const auto hashes = static_cast<std::size_t>(std::ranges::count(text, ',')) + 1;
  if (hashes > ledger::kProofHashesMax) {
    return protocol::make_error(protocol::ErrorCode::ProofOversized,
                                flag + " has " + std::to_string(hashes) + ", the most is " +
                                    std::to_string(ledger::kProofHashesMax));
  }
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    GCOORD_TRY(const MerkleHash hash, parse_hash(flag, text.substr(start, end - start)));
    proof.push_back(hash);
    start = end + 1;
  }
  return proof;
}

}  // namespace gcoord::cli
