#include "protocol/members/join_messages.h"

#include "common/bytes.h"
#include "common/sha256_block.h"
#include "protocol/error_codes.h"

#include <utility>

namespace gcoord::protocol {

namespace {

constexpr std::size_t kViewBytesMax = std::size_t{128} << 10;

Status malformed() {
  return make_error(ErrorCode::PayloadMalformed, "member_join");
}

std::optional<unsigned> digit_of(char text) {
  if (text >= '0' && text <= '9') {
    return static_cast<unsigned>(text - '0');
  }
  const char lower = static_cast<char>(text | 0x20);
  return lower >= 'a' && lower <= 'f' ? std::optional(static_cast<unsigned>(lower - 'a' + 10))
                                      : std::nullopt;
}

std::uint32_t big_endian(const std::byte* at) {
  std::uint32_t word = 0;
  for (int k = 0; k < 4; ++k) {
    word = word << 8 | std::to_integer<std::uint32_t>(at[k]);
  }
  return word;
}

// SHA-256 of what fits into one block (FIPS 180-4, 5.1.1): the bytes, a bit 1, zeros, and the
// number of bits.
template <std::size_t kBytes>
std::array<std::byte, 32> hash_of(const std::array<std::byte, kBytes>& bytes) {
  static_assert(kBytes % 4 == 0 && kBytes <= 52);
  Sha256Block block{};
  for (std::size_t k = 0; k < kBytes / 4; ++k) {
    block.word[k] = big_endian(&bytes[4 * k]);
  }
  block.word[kBytes / 4] = 0x8000'0000;
  block.word[15] = 8 * kBytes;
  Sha256Words words = sha256_start();
  sha256_add_block(words, block);
  std::array<std::byte, 32> hash{};
  for (std::size_t k = 0; k < hash.size(); ++k) {
    hash[k] = static_cast<std::byte>(words.word[k / 4] >> (24 - 8 * (k % 4)));
  }
  return hash;
}

}  // namespace

std::string join_token_text(const JoinToken& token) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte each : token) {
    const auto value = std::to_integer<unsigned>(each);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

std::optional<JoinToken> parse_join_token(std::string_view text) {
  JoinToken token{};
  if (text.size() != 2 * token.size()) {
    return std::nullopt;
  }
  for (std::size_t k = 0; k < token.size(); ++k) {
    const auto high = digit_of(text[2 * k]);
    const auto low = digit_of(text[2 * k + 1]);
    if (!high || !low) {
      return std::nullopt;
    }
    token[k] = static_cast<std::byte>(*high << 4 | *low);
  }
  return token;
}

JoinProof join_token_proof(const JoinToken& token) {
  return hash_of(token);
}

std::array<std::byte, 32> join_proof_hash(const JoinProof& proof) {
  return hash_of(proof);
}

std::array<std::byte, 32> join_token_hash(const JoinToken& token) {
  return join_proof_hash(join_token_proof(token));
}

std::vector<std::byte> encode_join_request(const JoinRequest& request) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  writer.array(request.token);
  writer.integer(request.directory);
  writer.integer(request.features);
  writer.text(request.name);
  writer.text(request.peer_address);
  writer.text(request.client_address);
  write_labels(writer, request.labels);
  return bytes;
}

Result<JoinRequest> decode_join_request(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  JoinRequest request;
  reader.array(request.token);
  request.directory = reader.integer<std::uint64_t>();
  request.features = reader.integer<std::uint64_t>();
  request.name = reader.text(kMemberNameBytesMax);
  request.peer_address = reader.text(kMemberAddressBytesMax);
  request.client_address = reader.text(kMemberAddressBytesMax);
  auto labels = read_labels(reader, kMemberLabelsMax);
  if (!reader.complete() || !labels || request.directory == 0 || !are_member_labels(*labels) ||
      !is_member_address(request.peer_address) || !is_member_address(request.client_address)) {
    return malformed();
  }
  request.labels = *std::move(labels);
  return request;
}

std::vector<std::byte> encode_join_answer(const JoinAnswer& answer) {
  std::vector<std::byte> bytes;
  ByteWriter writer{bytes};
  const std::vector<std::byte> view = encode_view(answer.view);
  writer.integer(answer.cluster.value);
  writer.integer(answer.node.value);
  writer.integer(static_cast<std::uint32_t>(view.size()));
  writer.bytes(view.data(), view.size());
  if (!answer.sealed_secret.empty()) {
    writer.integer(static_cast<std::uint32_t>(answer.sealed_secret.size()));
    writer.bytes(answer.sealed_secret.data(), answer.sealed_secret.size());
  }
  return bytes;
}

Result<JoinAnswer> decode_join_answer(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  JoinAnswer answer;
  answer.cluster = ClusterId{reader.integer<std::uint64_t>()};
  answer.node = NodeId{reader.integer<std::uint32_t>()};
  const std::string_view view_bytes = reader.blob(kViewBytesMax);
  auto view = decode_view(std::as_bytes(std::span{view_bytes}));
  if (!reader.ok() || !view || find_member(*view, answer.node) == nullptr) {
    return malformed();
  }
  answer.view = *std::move(view);
  const std::string_view sealed = reader.blob(kSealedSecretBytesMax);
  if (reader.ok()) {  // Else there is none: earlier releases end here.
    const auto secret = std::as_bytes(std::span{sealed});
    answer.sealed_secret.assign(secret.begin(), secret.end());
  }
  return answer;
}

}  // namespace gcoord::protocol
