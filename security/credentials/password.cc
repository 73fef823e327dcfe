#include "security/credentials/password.h"

#include "common/base64.h"
#include "security/credentials/error_details.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gcoord::security {
namespace {

constexpr std::size_t kSaltBytes = 16;
constexpr std::size_t kHashBytes = 32;
constexpr std::string_view kAlgorithm = "$scrypt$";

using Hash = std::array<std::byte, kHashBytes>;

struct Recipe {
  PasswordCost cost;
  std::vector<std::byte> salt;
};

struct Verifier {
  Recipe recipe;
  std::vector<std::byte> hash;
};

bool cost_valid(const PasswordCost& cost) {
  return cost.log2_n >= 1 && cost.log2_n <= kCostLog2NMax && cost.r >= 1 && cost.r <= kCostRMax &&
         cost.p >= 1 && cost.p <= kCostPMax;
}

// "ln=15" and so on, at the beginning of `text`, which loses it and the character behind it.
std::optional<std::uint32_t> take_number(std::string_view& text,
                                         std::string_view name,
                                         char behind) {
  if (!text.starts_with(name)) {
    return std::nullopt;
  }
  text.remove_prefix(name.size());
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || digits > 3 || digits == text.size() || *end != behind) {
    return std::nullopt;
  }
  text.remove_prefix(digits + 1);
  return number;
}

std::optional<Verifier> parse(std::string_view text) {
  if (text.size() > kVerifierTextBytesMax || !text.starts_with(kAlgorithm)) {
    return std::nullopt;
  }
  text.remove_prefix(kAlgorithm.size());
  const auto log2_n = take_number(text, "ln=", ',');
  const auto r = take_number(text, "r=", ',');
  const auto p = take_number(text, "p=", '$');
  const std::size_t middle = text.find('$');
  if (!log2_n || !r || !p || middle == text.npos) {
    return std::nullopt;
  }
  auto salt = from_base64(text.substr(0, middle));
  auto hash = from_base64(text.substr(middle + 1));
  const PasswordCost cost{*log2_n, *r, *p};
  if (!salt || !hash || salt->size() != kSaltBytes || hash->size() != kHashBytes ||
      !cost_valid(cost)) {
    return std::nullopt;
  }
  return Verifier{{cost, std::move(*salt)}, std::move(*hash)};
}

// OSSL_PARAMs take addresses that are not constant and write to none of them.
template <typename T>
void* address(const T* of) {
  return const_cast<T*>(of);
}

// False: there was no memory for it.
bool scrypt(std::string_view password, const Recipe& recipe, Hash& hash) {
  const std::unique_ptr<EVP_KDF, void (*)(EVP_KDF*)> kdf{EVP_KDF_fetch(nullptr, "SCRYPT", nullptr),
                                                         EVP_KDF_free};
  GCOORD_ASSERT(kdf != nullptr);
  const std::unique_ptr<EVP_KDF_CTX, void (*)(EVP_KDF_CTX*)> context{EVP_KDF_CTX_new(kdf.get()),
                                                                     EVP_KDF_CTX_free};
  GCOORD_ASSERT(context != nullptr);
  std::uint64_t n = std::uint64_t{1} << recipe.cost.log2_n;
  std::uint32_t r = recipe.cost.r;
  std::uint32_t p = recipe.cost.p;
  // Beside the rows there are blocks of 128 * r * p bytes and a scratch of as many.
  std::uint64_t memory = 128 * (n + 2) * r + std::uint64_t{256} * r * p + 4096;
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(
          OSSL_KDF_PARAM_PASSWORD, address(password.data()), password.size()),
      OSSL_PARAM_construct_octet_string(
          OSSL_KDF_PARAM_SALT, address(recipe.salt.data()), recipe.salt.size()),
      OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_N, &n),
      OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_SCRYPT_R, &r),
      OSSL_PARAM_construct_uint32(OSSL_KDF_PARAM_SCRYPT_P, &p),
      OSSL_PARAM_construct_uint64(OSSL_KDF_PARAM_SCRYPT_MAXMEM, &memory),
      OSSL_PARAM_construct_end()};
  auto* const out = reinterpret_cast<unsigned char*>(hash.data());
  return EVP_KDF_derive(context.get(), out, hash.size(), parameters) == 1;
}

Status refuse(std::string_view why) {
  return Status{StatusCode::InvalidArgument, std::string{why}, kPasswordInvalid};
}

}  // namespace

Status check_new_password(std::string_view password) {
  if (password.empty()) {
    return refuse("the password is empty");
  }
  if (password.size() > kPasswordBytesMax) {
    return refuse("the password is longer than 256 bytes");
  }
  if (password.find_first_of(std::string_view{"\0\n\r", 3}) != password.npos) {
    return refuse("the password has a line end or a zero byte in it");
  }
  return Status{};
}

Result<std::string> hash_password(std::string_view password, PasswordCost cost) {
  GCOORD_TRY_STATUS(check_new_password(password));
  if (!cost_valid(cost)) {
    return refuse("the cost of the password's hash is out of bounds");
  }
  Recipe recipe{cost, std::vector<std::byte>(kSaltBytes)};
  auto* const salt = reinterpret_cast<unsigned char*>(recipe.salt.data());
  GCOORD_ASSERT(RAND_bytes(salt, kSaltBytes) == 1);
  Hash hash{};
  if (!scrypt(password, recipe, hash)) {
    return Status{StatusCode::ResourceExhausted,
                  "there is no memory for the hash of a password",
                  kPasswordInvalid};
  }
  std::string text{kAlgorithm};
  text += "ln=" + std::to_string(cost.log2_n) + ",r=" + std::to_string(cost.r) +
          ",p=" + std::to_string(cost.p) + "$" + to_base64(recipe.salt) + "$" + to_base64(hash);
  return text;
}

bool check_password(std::string_view verifier, std::string_view password) {
  const auto kept = parse(verifier);
  if (!kept || password.size() > kPasswordBytesMax) {
    return false;
  }
  Hash hash{};
  const bool hashed = scrypt(password, kept->recipe, hash);
  const bool same = CRYPTO_memcmp(hash.data(), kept->hash.data(), hash.size()) == 0;
  OPENSSL_cleanse(hash.data(), hash.size());
  return hashed && same;
}

bool verifier_valid(std::string_view verifier) {
  return parse(verifier).has_value();
}

// All that the text has room for: a short one is in there also after it was moved.
void wipe(std::string& secret) {
  secret.resize(secret.capacity());
  OPENSSL_cleanse(secret.data(), secret.size());
  secret.clear();
}

const std::string& decoy_verifier() {
  static const std::string kDecoy = [] {
    std::array<std::byte, kSaltBytes + kHashBytes> random{};
    GCOORD_ASSERT(RAND_bytes(reinterpret_cast<unsigned char*>(random.data()),
                             static_cast<int>(random.size())) == 1);
    const std::span<const std::byte> bytes{random};
    return std::string{kAlgorithm} + "ln=" + std::to_string(kCostDefault.log2_n) +
           ",r=" + std::to_string(kCostDefault.r) + ",p=" + std::to_string(kCostDefault.p) + "$" +
           to_base64(bytes.first(kSaltBytes)) + "$" + to_base64(bytes.subspan(kSaltBytes));
  }();
  return kDecoy;
}

}  // namespace gcoord::security
