#include "server/access/command_errors.h"

#include "common/assert.h"
#include "common/text/printable.h"
#include "protocol/error_codes.h"

#include <string>

namespace gcoord::server {

namespace {

using protocol::ErrorCode;
using security::AccessCode;

ErrorCode error_of(AccessCode code) {
  switch (code) {
    case AccessCode::Applied:
      return ErrorCode::None;
    case AccessCode::Malformed:
    case AccessCode::VerifierInvalid:
      return ErrorCode::PayloadMalformed;
    case AccessCode::Stale:
      return ErrorCode::AccessStale;
    case AccessCode::UserUnknown:
      return ErrorCode::UserUnknown;
    case AccessCode::UserExists:
      return ErrorCode::UserExists;
    case AccessCode::RoleUnknown:
      return ErrorCode::RoleUnknown;
    case AccessCode::RoleExists:
      return ErrorCode::RoleExists;
    case AccessCode::RoleReserved:
      return ErrorCode::RoleReserved;
    case AccessCode::NameInvalid:
      return ErrorCode::AccessNameInvalid;
    case AccessCode::GrantInvalid:
      return ErrorCode::GrantInvalid;
    case AccessCode::NothingToRevoke:
      return ErrorCode::NothingToRevoke;
    case AccessCode::IncludeLoop:
      return ErrorCode::RoleLoop;
    case AccessCode::IncludeTooDeep:
      return ErrorCode::RolesTooDeep;
    case AccessCode::TooManyUsers:
    case AccessCode::TooManyRoles:
    case AccessCode::TooManyGrants:
    case AccessCode::TableFull:
      return ErrorCode::AccessExhausted;
    case AccessCode::StateWrong:
      return ErrorCode::AccessUnchanged;
    case AccessCode::NoAdmin:
      return ErrorCode::AdminMissing;
    case AccessCode::LastAdmin:
      return ErrorCode::LastAdmin;
  }
  return ErrorCode::PayloadMalformed;
}

std::string names_of(const security::AccessCommand& command) {
  std::string text = shown(command.name);
  for (const std::string& role : command.roles) {
    text += (text.empty() ? "" : ", ") + shown(role);
  }
  return text;
}

std::string about(AccessCode code, const security::AccessCommand& command, std::uint64_t epoch) {
  switch (code) {
    case AccessCode::Stale:
      return "the epoch is " + std::to_string(epoch) + ", the change is for " +
             std::to_string(command.expected);
    case AccessCode::TooManyUsers:
      return "at most " + std::to_string(security::kUsersMax) + " users";
    case AccessCode::TooManyRoles:
      return "at most " + std::to_string(security::kRolesMax) + " roles, " +
             std::to_string(security::kRolesOfUserMax) + " of one user, " +
             std::to_string(security::kIncludesMax) + " included in one";
    case AccessCode::TooManyGrants:
      return "at most " + std::to_string(security::kGrantsMax) + " grants of one role";
    case AccessCode::TableFull:
      return "at most " + std::to_string(security::kTableBytesMax >> 20) + " MiB of them";
    case AccessCode::RoleUnknown:
      return names_of(command);
    case AccessCode::Malformed:
    case AccessCode::VerifierInvalid:
      return "access_change";
    default:
      return shown(command.name);
  }
}

}  // namespace

Status access_error(AccessCode code, const security::AccessCommand& command, std::uint64_t epoch) {
  GCOORD_ASSERT(code != AccessCode::Applied);
  return protocol::make_error(error_of(code), about(code, command, epoch));
}

}  // namespace gcoord::server
