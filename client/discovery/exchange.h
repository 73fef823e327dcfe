// One question to one name server, over UDP and, where the answer does not fit there, over TCP.
//
// The server is not trusted: messages that are no answer are dropped, a flood of them is not read
// for ever, and nothing takes longer than it may. Blocking; thread-safe.
#pragma once

#include "client/discovery/name_server.h"
#include "client/discovery/srv_message.h"

#include <chrono>
#include <optional>
#include <string>

namespace gcoord::client {

// The answer of one server, or why there is none.
struct Heard {
  std::optional<SrvAnswer> answer;
  std::string failure;
};

struct Question {
  const NameServer& server;
  const std::string& name;
  std::chrono::milliseconds until;  // A moment of monotonic_now().
  DnsExtension extension = DnsExtension::Edns;
};

// One datagram, in a socket of its own, whose port nobody else can guess.
Heard ask_by_datagram(const Question& question);

// One connection (RFC 7766), for the answer that a datagram had cut off.
Heard ask_by_stream(const Question& question);

}  // namespace gcoord::client
