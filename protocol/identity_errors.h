// Rows of the error table for identities: passwords, tokens, and keys of sessions (error_codes.h);
// plain data.
#pragma once

#include "protocol/error_codes.h"

namespace gcoord::protocol {

// One entry is one row of a table, whatever its length.
// clang-format off
inline constexpr ErrorEntry kIdentityErrors[] = {
    {ErrorCode::SecretMissing, "SecretMissing", StatusCode::FailedPrecondition, ExitCode::Auth,
     "the cluster has no secret, so it can neither check passwords nor sign tokens",
     "Give all nodes the same --cluster-secret file, or use client certificates"},
    {ErrorCode::AuthenticationFailed, "AuthenticationFailed", StatusCode::Unauthenticated, ExitCode::Auth,
     "the user or the password is wrong",
     "Check both; an administrator sets a new password with gcoordctl user passwd"},
    {ErrorCode::AuthenticationBusy, "AuthenticationBusy", StatusCode::ResourceExhausted, ExitCode::Unavailable,
     "too many passwords wait to be checked at this node",
     "Try again, or use a token, which takes no such check"},
    {ErrorCode::AuthenticationThrottled, "AuthenticationThrottled", StatusCode::ResourceExhausted, ExitCode::Auth,
     "too many attempts from this address or connection failed",
     "Correct the credentials, then wait a minute"},
    {ErrorCode::TokenMalformed, "TokenMalformed", StatusCode::Unauthenticated, ExitCode::Auth,
     "the text is not a token",
     "Get a token with gcoordctl auth login"},
    {ErrorCode::TokenForeign, "TokenForeign", StatusCode::Unauthenticated, ExitCode::Auth,
     "the token was not signed by this cluster, or by a secret that it no longer keeps",
     "Get a token with gcoordctl auth login"},
    {ErrorCode::TokenExpired, "TokenExpired", StatusCode::Unauthenticated, ExitCode::Auth,
     "the token is not valid now",
     "Get a token with gcoordctl auth login; if it is new, compare the clocks"},
    {ErrorCode::TokenRevoked, "TokenRevoked", StatusCode::Unauthenticated, ExitCode::Auth,
     "the token's user is gone or disabled, or has another password now",
     "Authenticate with the present password"},
    {ErrorCode::UsersBehind, "UsersBehind", StatusCode::Unavailable, ExitCode::Unavailable,
     "this node has not heard of the newest users yet",
     "Try again, or at another node"},
    {ErrorCode::PasswordInvalid, "PasswordInvalid", StatusCode::InvalidArgument, ExitCode::Usage,
     "a password has 1 to 256 bytes, without line ends and zero bytes",
     "Take another password"},
    {ErrorCode::SessionKeyInvalid, "SessionKeyInvalid", StatusCode::PermissionDenied, ExitCode::Auth,
     "this is not the key of the session",
     "Give the key that came with the session when it was opened"},
    {ErrorCode::SessionNotAttached, "SessionNotAttached", StatusCode::PermissionDenied, ExitCode::Auth,
     "the connection has neither opened the session nor shown its key",
     "Give the session's key, with --session-key-file or AttachOptions; older clients need --session-keys permissive"},
    {ErrorCode::SequenceLeaps, "SequenceLeaps", StatusCode::InvalidArgument, ExitCode::Usage,
     "the sequence is further ahead than any that the session can have reached",
     "Number requests from 1, or from microseconds of the wall clock, and compare the clocks"},
    {ErrorCode::SessionsAttachedMax, "SessionsAttachedMax", StatusCode::ResourceExhausted, ExitCode::Unavailable,
     "the connection, or the node, has its maximum of attached sessions",
     "Divide the sessions among more clients; docs/reference/limits.md has the numbers"},
    {ErrorCode::CredentialsUnreadable, "CredentialsUnreadable", StatusCode::FailedPrecondition, ExitCode::Usage,
     "a file with a password, a token or a session's key cannot be used",
     "Check the path and what is in it, and let nobody but its owner read it (chmod 600)"},
};
// clang-format on

}  // namespace gcoord::protocol
