#include "server/endpoints/ledger_endpoint.h"

#include "server/endpoints/ledger_pages.h"

#include <utility>

namespace gcoord::server {
namespace {

// A page may be read from a disk, so that some stand by while others wait.
constexpr std::uint32_t kLedgerThreads = 4;

// A cache between, which serves everybody, may keep a page only where everybody may have it.
HttpAnswer answer_of(LedgerPage page, bool is_private) {
  const char* const kept =
      is_private ? "private, max-age=31536000, immutable" : "public, max-age=31536000, immutable";
  const char* const changing = page.secret ? "private, no-store" : "no-cache";
  return {
      .status = page.status,
      .content_type = page.content_type,
      .cache_control = page.immutable ? kept : changing,
      .body = std::move(page.body),
  };
}

}  // namespace

Result<std::unique_ptr<LedgerEndpoint>> LedgerEndpoint::open(const std::string& address,
                                                             const LedgerView& view,
                                                             const Environment& environment) {
  GCOORD_TRY(const Endpoint listen, parse_endpoint(address, PortZero::Allowed));
  const auto counter = [&](const char* answer) -> Counter& {
    return environment.metrics.counter(
        {"gcoord_ledger_requests_total", "requests to the ledger's port", "answer", answer});
  };
  const auto handler = [&view,
                        judge = environment.refusal,
                        is_private = environment.is_private,
                        may_see = environment.may_see_secrets,
                        &given = counter("given"),
                        &refused = counter("refused")](const HttpRequest& request) {
    if (auto refusal = judge ? judge(request) : std::nullopt) {
      refused.add();
      return *std::move(refusal);
    }
    const auto may_see_secrets = [&] { return may_see && may_see(request); };
    HttpAnswer answer =
        answer_of(ledger_page(view, request.path, may_see_secrets), is_private && is_private());
    (answer.status == 200 ? given : refused).add();
    return answer;
  };
  GCOORD_TRY(auto server,
             HttpServer::open({.port_name = "ledger",
                               .option = "listen-ledger",
                               .listen = listen,
                               .limits = {.threads = kLedgerThreads},
                               .tls = environment.tls},
                              handler,
                              environment.metrics));
  return std::unique_ptr<LedgerEndpoint>(new LedgerEndpoint(std::move(server)));
}

}  // namespace gcoord::server
