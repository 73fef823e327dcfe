#include "server/http/exchange.h"

#include <poll.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace gcoord::server {

int socket_of(MHD_Connection* connection) {
  return ::MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

const sockaddr* address_of(MHD_Connection* connection) {
  return ::MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
}

bool has_body(MHD_Connection* connection) {
  const char* length =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  return (length != nullptr && std::string_view(length) != "0") ||
         MHD_lookup_connection_value(
             connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_TRANSFER_ENCODING) != nullptr;
}

std::string bearer_of(MHD_Connection* connection) {
  const char* const header =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
  const std::string_view text = header == nullptr ? "" : header;
  constexpr std::string_view kScheme = "bearer ";
  const bool bearer =
      text.size() > kScheme.size() &&
      std::ranges::equal(text.substr(0, kScheme.size()), kScheme, [](char given, char wanted) {
        return given == wanted || (given >= 'A' && given <= 'Z' && given - 'A' + 'a' == wanted);
      });
  if (!bearer) {
    return {};
  }
  const std::string_view token = text.substr(kScheme.size());
  return std::string{token.substr(std::min(token.find_first_not_of(' '), token.size()))};
}

std::vector<HttpArgument> arguments_of(MHD_Connection* connection) {
  std::vector<HttpArgument> arguments;
  const MHD_KeyValueIterator add =
      [](void* found, MHD_ValueKind, const char* name, const char* value) {
        static_cast<std::vector<HttpArgument>*>(found)->push_back(
            {name, value == nullptr ? "" : value});
        return MHD_YES;
      };
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add, &arguments);
  return arguments;
}

void cut_if_ended(int socket) {
  char byte = 0;
  if (::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
    ::shutdown(socket, SHUT_RDWR);
  }
}

bool has_ended(int socket) {
  pollfd end{socket, POLLRDHUP, 0};
  return ::poll(&end, 1, 0) > 0;
}

std::size_t leave_escaped(void*, MHD_Connection*, char* text) {
  return std::string_view(text).size();
}

MHD_Result send_answer(HttpExchange& exchange) {
  HttpAnswer& answer = exchange.answer;
  auto* body = new std::string(std::move(answer.body));
  MHD_Response* response = MHD_create_response_from_buffer_with_free_callback_cls(
      body->size(), body->data(), [](void* text) { delete static_cast<std::string*>(text); }, body);
  if (response == nullptr) {
    delete body;
    return MHD_NO;
  }
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type.c_str());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, answer.cache_control.c_str());
  if (answer.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    const char* allowed = exchange.request.head ? "GET" : "GET, HEAD";
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, allowed);
  }
  if (answer.status == MHD_HTTP_UNAUTHORIZED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"gcoord\"");
  }
  const MHD_Result queued =
      MHD_queue_response(exchange.connection, static_cast<unsigned>(answer.status), response);
  MHD_destroy_response(response);
  return queued;
}

}  // namespace gcoord::server
