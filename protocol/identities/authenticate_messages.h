// Payloads of Authenticate: what a client shows of a user, and what the node makes of it.
//
// A client sends Authenticate right behind its Hello, where both have Feature::Identities, and
// nothing else before the answer. The answer to a password carries a token, with which the client
// speaks to every other node and comes back later; the answer to a token carries one that lasts
// longer, where there is one, else none. SessionAttach has the bytes of a session's key as its
// payload and needs no room here; OpenSession's and SessionGrant's reply carries them likewise.
// What is in these payloads is secret. Decoding is bounded. Pure functions; thread-safe. Views in
// decoded values point into the payload.
#pragma once

#include "common/status.h"
#include "security/credentials/principal.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gcoord::protocol {

// Never renumber.
enum class AuthenticateMethod : std::uint8_t {
  Password = 1,
  Token = 2,
};

// u8 method; then u16 length and bytes of the user and of the password, or of the token.
struct AuthenticateOrder {
  AuthenticateMethod method{};
  std::string_view user;  // With a password.
  std::string_view password;
  std::string_view token;
};

std::vector<std::byte> encode_authenticate(const AuthenticateOrder& order);

// PayloadMalformed for another method, for what is too long, cut off, or followed by more.
Result<AuthenticateOrder> decode_authenticate(std::span<const std::byte> payload);

// u8 kind of principal, u32 life, u16 lengths and bytes of the name and the token.
struct AuthenticateAnswer {
  security::Principal principal;
  std::uint32_t life_s = 0;  // Of the token that the client has now.
  std::string token;         // Empty: the one that was sent.
};

std::vector<std::byte> encode_authenticated(const AuthenticateAnswer& answer);
Result<AuthenticateAnswer> decode_authenticated(std::span<const std::byte> payload);

}  // namespace gcoord::protocol
