#include "protocol/identities/authenticate_messages.h"

#include "common/bytes.h"
#include "protocol/error_codes.h"
#include "security/credentials/password.h"
#include "security/credentials/token.h"

namespace gcoord::protocol {
namespace {

Status malformed() {
  return make_error(ErrorCode::PayloadMalformed, "authenticate");
}

}  // namespace

std::vector<std::byte> encode_authenticate(const AuthenticateOrder& order) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(order.method));
  if (order.method == AuthenticateMethod::Password) {
    writer.text(order.user);
    writer.text(order.password);
  } else {
    writer.text(order.token);
  }
  return out;
}

Result<AuthenticateOrder> decode_authenticate(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  AuthenticateOrder order;
  order.method = static_cast<AuthenticateMethod>(reader.integer<std::uint8_t>());
  if (order.method == AuthenticateMethod::Password) {
    order.user = reader.text(security::kPrincipalNameBytesMax);
    order.password = reader.text(security::kPasswordBytesMax);
  } else if (order.method == AuthenticateMethod::Token) {
    order.token = reader.text(security::kTokenBytesMax);
  } else {
    return malformed();
  }
  if (!reader.complete()) {
    return malformed();
  }
  return order;
}

std::vector<std::byte> encode_authenticated(const AuthenticateAnswer& answer) {
  std::vector<std::byte> out;
  ByteWriter writer{out};
  writer.integer(static_cast<std::uint8_t>(answer.principal.kind));
  writer.integer(answer.life_s);
  writer.text(answer.principal.name);
  writer.text(answer.token);
  return out;
}

Result<AuthenticateAnswer> decode_authenticated(std::span<const std::byte> payload) {
  ByteReader reader{payload};
  AuthenticateAnswer answer;
  const auto kind = reader.integer<std::uint8_t>();
  answer.life_s = reader.integer<std::uint32_t>();
  answer.principal.name = reader.text(security::kPrincipalNameBytesMax);
  answer.token = reader.text(security::kTokenBytesMax);
  answer.principal.kind = static_cast<security::PrincipalKind>(kind);
  const bool known = kind <= static_cast<std::uint8_t>(security::PrincipalKind::Local);
  if (!reader.ok() || !known || !security::principal_name_valid(answer.principal.name)) {
    return malformed();
  }
  return answer;
}

}  // namespace gcoord::protocol
