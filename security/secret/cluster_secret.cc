#include "security/secret/cluster_secret.h"

#include "common/base64.h"
#include "common/wipe.h"
#include "security/secret/errors.h"
#include "security/secret/file.h"
#include "security/secret/keyed.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace gcoord::security {
namespace {

constexpr std::string_view kHeader = "gcoord cluster secret 1\n";
constexpr std::string_view kAlgorithm = "hmac-sha256 ";
constexpr std::string_view kSalt = "gcoord cluster secret";
constexpr std::string_view kIdPurpose = "gcoord secret id 1";
constexpr std::size_t kIdBytes = 8;

Status malformed(const std::string& why) {
  return {StatusCode::InvalidArgument, "not a cluster's secret: " + why, kSecretMalformed};
}

// The line at the front of the text, which goes on behind it.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

Result<SecretBytes> parse_line(std::string_view line) {
  if (!line.starts_with(kAlgorithm)) {
    return malformed("a line does not begin with an algorithm that this release knows");
  }
  auto bytes = from_base64(line.substr(kAlgorithm.size()));
  if (!bytes.has_value()) {
    return malformed("a line is not base64");
  }
  SecretBytes secret{std::move(*bytes)};
  if (secret.size() != kClusterSecretBytes) {
    return malformed("a secret has " + std::to_string(secret.size()) + " bytes instead of 32");
  }
  return secret;
}

void append(SecretBytes& text, std::size_t& end, std::string_view part) {
  const auto bytes = std::as_bytes(std::span{part});
  std::copy(bytes.begin(), bytes.end(), text.mutable_bytes().begin() + static_cast<long>(end));
  end += part.size();
}

void append_secret(SecretBytes& text, std::size_t& end, const SecretBytes& secret) {
  std::string spelled = to_base64(secret.bytes());
  append(text, end, kAlgorithm);
  append(text, end, spelled);
  append(text, end, "\n");
  gcoord::wipe(std::as_writable_bytes(std::span{spelled}));
}

SecretBytes derive_from(const SecretBytes& secret, std::string_view purpose, std::size_t count) {
  return hkdf_sha256(secret.bytes(), std::as_bytes(std::span{kSalt}), purpose, count);
}

std::string id_of(const SecretBytes& secret) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const SecretBytes id = derive_from(secret, kIdPurpose, kIdBytes);
  std::string text;
  for (const std::byte each : id.bytes()) {
    const auto value = std::to_integer<std::uint8_t>(each);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return text;
}

}  // namespace

ClusterSecret::ClusterSecret(SecretBytes current, std::optional<SecretBytes> previous)
    : current_(std::move(current)), previous_(std::move(previous)) {}

ClusterSecret ClusterSecret::generate() {
  return ClusterSecret{random_secret(kClusterSecretBytes)};
}

Result<ClusterSecret> ClusterSecret::parse(std::string_view text) {
  if (text.size() > kClusterSecretTextMax || !text.starts_with(kHeader)) {
    return malformed("its first line is not \"gcoord cluster secret 1\"");
  }
  text.remove_prefix(kHeader.size());
  GCOORD_TRY(SecretBytes current, parse_line(take_line(text)));
  std::optional<SecretBytes> previous;
  if (!text.empty()) {
    GCOORD_TRY(previous, parse_line(take_line(text)));
  }
  if (!text.empty()) {
    return malformed("it has more than two secrets");
  }
  return ClusterSecret{std::move(current), std::move(previous)};
}

Result<ClusterSecret> ClusterSecret::read(const std::string& path) {
  GCOORD_TRY(const SecretBytes text, read_secret_file(path, kClusterSecretTextMax));
  Result<ClusterSecret> secret = parse(text.text());
  if (!secret.ok()) {
    const Status& why = secret.status();
    return Status{why.code(), path + ": " + why.message(), why.detail()};
  }
  return secret;
}

SecretBytes ClusterSecret::to_text() const {
  SecretBytes room(kClusterSecretTextMax);
  std::size_t end = 0;
  append(room, end, kHeader);
  append_secret(room, end, current_);
  if (previous_.has_value()) {
    append_secret(room, end, *previous_);
  }
  return SecretBytes::copy_of(room.bytes().first(end));
}

ClusterSecret ClusterSecret::rotated() const {
  return ClusterSecret{random_secret(kClusterSecretBytes), current_.clone()};
}

ClusterSecret ClusterSecret::clone() const {
  return previous_ ? ClusterSecret{current_.clone(), previous_->clone()}
                   : ClusterSecret{current_.clone()};
}

SecretBytes ClusterSecret::derive(std::string_view purpose, std::size_t count) const {
  return derive_from(current_, purpose, count);
}

std::optional<SecretBytes> ClusterSecret::derive_previous(std::string_view purpose,
                                                          std::size_t count) const {
  return previous_ ? std::optional{derive_from(*previous_, purpose, count)} : std::nullopt;
}

std::string ClusterSecret::id() const {
  return id_of(current_);
}

std::string ClusterSecret::previous_id() const {
  return previous_ ? id_of(*previous_) : std::string{};
}

}  // namespace gcoord::security
