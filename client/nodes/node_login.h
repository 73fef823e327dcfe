// The login of one connection to a node, and the sessions that it attaches.
//
// A node with Feature::Identities takes a login right behind the Hello, and this client sends
// nothing else before it has answered: an unknown client would be refused. The answer of the node
// to one connection holds at all of them; each shows its login again while it lives
// (client/credentials/connection_login.h). The client's thread only.
#pragma once

#include "client/credentials/connection_login.h"
#include "client/credentials/login.h"
#include "client/credentials/session_keyring.h"
#include "client/nodes/node_entry.h"
#include "protocol/hello.h"
#include "protocol/request.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace gcoord::client {

bool has_identities(const protocol::Welcome& welcome);

// Whether the same login may be good at the node in a moment: too many passwords wait there, too
// many attempts from this address failed, or it has not heard of the newest users.
bool is_login_put_off(protocol::ErrorCode refusal);

// Whether the login was shown and has had no answer yet, so that the node checks a password, or
// will.
bool awaits_login(const NodeEntry& entry);

// Shows the login; closes the connection when there is none to show. A password costs a node much,
// so it is shown to one node at a time: what comes for it, a token, serves at the others, which
// wait for resume_logins().
void log_in(NodeEntry& entry, const NodeEntries& entries, const Login& login);

// After an answer to a login, and after the end of a connection: those that wait go on.
void resume_logins(const NodeEntries& entries, const Login& login);

// Shows a token right behind the Hello, if there is one: the node answers both in one round trip.
// For nodes that are known to take logins.
void log_in_early(NodeEntry& entry, const Login& login);

struct LoginReply {
  ConnectionLogin::Answer answer;
  const NodeEntries& entries;
};

// Whether the node knows now who this is. Else the login was shown again, or the connection is
// closed: then the node is not tried again for a while, because each try counts against this client
// and those that share its address.
bool take_login(NodeEntry& entry, const LoginReply& reply, Login& login);

struct Renewal {
  const NodeEntries& entries;
  const Login& login;
  TimePoint now;
  TimePoint patience;  // With the answer.
};

// Shows the login again on a connection that is ready and whose time is near; where no answer comes
// in time, once more.
void renew_when_due(NodeEntry& entry, const Renewal& at);

// The connection, which began now, has attached nothing.
void begin_attaching(NodeEntry& entry, TimePoint now);

// Has a connection that lives attach its sessions anew from time to time: so it hears of the newest
// keys, after the secret of the cluster was replaced.
void attach_anew_when_due(NodeEntry& entry, TimePoint now);

// The connection attaches the sessions of its requests before these.
void attach_before_requests(NodeEntry& entry, const SessionKeyring& keyring);

}  // namespace gcoord::client
