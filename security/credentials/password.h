// Verifiers of passwords: what a cluster keeps of a password, and the check against it.
//
// scrypt (RFC 7914) by OpenSSL, in the text form of the password hashing competition:
//   $scrypt$ln=15,r=8,p=1$SALT$HASH        16 bytes of salt and 32 of hash in base64
// The name of the algorithm and its cost stand in the text, so that both may change later. A check
// takes as long and as much memory as its verifier says (kCostDefault: 32 MiB, some tens of
// milliseconds of a core), so it is no work for a node's loop. Whether a user exists must not show
// in the time: check unknown users against decoy_verifier(). Temporaries are wiped; the caller
// wipes the password. Pure but for the random salt; thread-safe.
#pragma once

#include "common/status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gcoord::security {

inline constexpr std::size_t kPasswordBytesMax = 256;
inline constexpr std::size_t kVerifierTextBytesMax = 160;

// Of scrypt: 128 * r * 2^log2_n bytes of memory are filled p times.
struct PasswordCost {
  std::uint32_t log2_n = 15;
  std::uint32_t r = 8;
  std::uint32_t p = 1;

  friend bool operator==(const PasswordCost&, const PasswordCost&) = default;
};

inline constexpr PasswordCost kCostDefault{};

// What a verifier may ask of a node, however it got into the table: 256 MiB, and 16 times the
// default's work.
inline constexpr std::uint32_t kCostLog2NMax = 18;
inline constexpr std::uint32_t kCostRMax = 8;
inline constexpr std::uint32_t kCostPMax = 4;

// kPasswordInvalid: an empty password, one of more than kPasswordBytesMax bytes or with a zero byte
// or a line end in it, or a cost out of bounds.
Status check_new_password(std::string_view password);
Result<std::string> hash_password(std::string_view password, PasswordCost cost = kCostDefault);

// False for a verifier that is none, too. The comparison takes the same time wherever they differ.
bool check_password(std::string_view verifier, std::string_view password);

// Whether check_password() can succeed for some password.
bool verifier_valid(std::string_view verifier);

// Overwrites a secret, so that its memory says nothing of it, and empties it.
void wipe(std::string& secret);

// A verifier of the default cost of which nobody knows the password; another one in each process.
const std::string& decoy_verifier();

}  // namespace gcoord::security
