#include "netcore/transport/name_lookup.h"

#include <netdb.h>

#include <cstring>
#include <utility>

namespace gcoord::netcore {

// Stays where it is while glibc writes into it.
struct NameLookup::Question {
  std::string host;
  std::string port;
  addrinfo hints{};
  gaicb request{};
  int start_error = 0;
  std::uint32_t attempt = 0;

  ~Question() {
    if (request.ar_result != nullptr) {
      ::freeaddrinfo(request.ar_result);
    }
  }
};

NameLookup::NameLookup(const std::string& host, std::uint16_t port, std::uint32_t attempt)
    : question_(std::make_unique<Question>()) {
  Question& question = *question_;
  question.attempt = attempt;
  question.host = host;
  question.port = std::to_string(port);
  question.hints.ai_socktype = SOCK_STREAM;
  question.hints.ai_family = AF_UNSPEC;
  question.request.ar_name = question.host.c_str();
  question.request.ar_service = question.port.c_str();
  question.request.ar_request = &question.hints;
  gaicb* list[1] = {&question.request};
  question.start_error = ::getaddrinfo_a(GAI_NOWAIT, list, 1, nullptr);
}

NameLookup::NameLookup(NameLookup&&) noexcept = default;

NameLookup::~NameLookup() {
  if (question_ != nullptr && question_->start_error == 0 &&
      ::gai_error(&question_->request) == EAI_INPROGRESS &&
      ::gai_cancel(&question_->request) == EAI_NOTCANCELED) {
    // glibc still writes to it and offers no way to wait without blocking: leave this one behind.
    static_cast<void>(question_.release());
  }
}

std::optional<Result<SocketAddress>> NameLookup::poll() {
  const int error =
      question_->start_error != 0 ? question_->start_error : ::gai_error(&question_->request);
  if (error == EAI_INPROGRESS) {
    return std::nullopt;
  }
  const addrinfo* found = question_->request.ar_result;
  if (error != 0 || found == nullptr) {
    return Result<SocketAddress>{
        Status{StatusCode::Unavailable,
               "cannot resolve " + question_->host + ": " + std::string{::gai_strerror(error)}}};
  }
  std::uint32_t count = 0;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    ++count;
  }
  for (std::uint32_t skip = question_->attempt % count; skip > 0; --skip) {
    found = found->ai_next;
  }
  SocketAddress address;
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.length = found->ai_addrlen;
  return Result<SocketAddress>{address};
}

Result<SocketAddress> NameLookup::wait() {
  const gaicb* list[1] = {&question_->request};
  for (;;) {
    if (auto answer = poll()) {
      return std::move(*answer);
    }
    ::gai_suspend(list, 1, nullptr);
  }
}

}  // namespace gcoord::netcore
