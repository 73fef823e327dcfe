// One request of a connection of libmicrohttpd, and its answer: what is read from the library, and
// what is handed to it. All for the thread of the sockets but where it says otherwise.
#pragma once

#include "server/http/message.h"

#include <microhttpd.h>
#include <sys/socket.h>

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

namespace gcoord::server {

// From a whole header to the end of the answer. The handler has it while `connection` is suspended.
struct HttpExchange {
  MHD_Connection* connection = nullptr;
  HttpRequest request;
  HttpAnswer answer;
  bool answered = false;
  std::stop_source gone;  // Its client.
  std::string method;     // As it was sent.
};

int socket_of(MHD_Connection* connection);

const sockaddr* address_of(MHD_Connection* connection);

// Whether the header says that a body follows.
bool has_body(MHD_Connection* connection);

// The token of "Authorization: Bearer TOKEN" (RFC 6750, section 2.1); empty: there is none.
std::string bearer_of(MHD_Connection* connection);

// The arguments behind the path, in the order in which they were sent.
std::vector<HttpArgument> arguments_of(MHD_Connection* connection);

// Cuts a connection whose client has ended its side and sent nothing that is not read yet. The
// library misses such an end if it came together with the rest: it is told of a change once, and
// takes a short read for the last one. Our own end it does not miss.
void cut_if_ended(int socket);

// Whether the client has ended its side, whatever was sent before and is not read yet.
bool has_ended(int socket);

// The library's MHD_OPTION_UNESCAPE_CALLBACK. Paths are for the handler as they were sent: what is
// decoded twice is a hole.
std::size_t leave_escaped(void*, MHD_Connection*, char* text);

// Hands the answer to the library, which sends it; its body is moved from.
MHD_Result send_answer(HttpExchange& exchange);

}  // namespace gcoord::server
