#include "cli/ledger/http_tiles.h"

#include "ledger/base/error_details.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>

namespace gcoord::cli {
namespace {

constexpr std::string_view kPlain = "http://";
constexpr std::string_view kSecure = "https://";

Status unreachable(const std::string& why) {
  return Status{StatusCode::Unavailable, why, ledger::kLedgerUnreachable};
}

bool is_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size();
}

Status refusal(const HttpResponse& answer, const std::string& path) {
  const std::string what =
      path + ": HTTP " + std::to_string(answer.status) + " " +
      answer.body.substr(0, std::min<std::size_t>(answer.body.find('\n'), 200));
  switch (answer.status) {
    case 400:
      if (answer.body.starts_with("this port speaks HTTPS only")) {
        return protocol::make_error(protocol::ErrorCode::TlsPlaintext,
                                    "write https:// for http:// in --ledger");
      }
      return unreachable(what);
    case 401:
    case 403:
      return protocol::make_error(protocol::ErrorCode::NotAllowed,
                                  "the ledger takes ledger.read: give --cert and --key, or "
                                  "--token-file");
    case 404:
      return Status{StatusCode::NotFound, what, ledger::kLedgerAbsent};
    case 410:
      return Status{StatusCode::OutOfRange, what, ledger::kLedgerPruned};
    case 501:
      return Status{StatusCode::Unimplemented,
                    path + ": HTTP 501",
                    static_cast<std::uint32_t>(protocol::ErrorCode::LedgerUnpublished)};
    default:
      return unreachable(what);
  }
}

}  // namespace

Result<HttpAddress> parse_http_place(const std::string& url) {
  const auto refuse = [&] {
    return protocol::make_error(protocol::ErrorCode::OptionInvalid,
                                "'" + url + "' is neither http://HOST:PORT nor https://HOST:PORT");
  };
  const bool secure = url.starts_with(kSecure);
  if (!secure && !url.starts_with(kPlain)) {
    return refuse();
  }
  const std::string rest = url.substr(secure ? kSecure.size() : kPlain.size());
  const std::string authority = rest.substr(0, rest.find('/'));
  const std::size_t colon = authority.rfind(':');
  if (colon == authority.npos || colon == 0 ||
      !is_port(std::string_view{authority}.substr(colon + 1))) {
    return refuse();
  }
  HttpAddress place{.host = authority.substr(0, colon),
                    .port = authority.substr(colon + 1),
                    .prefix = rest.substr(authority.size()),
                    .tls = {.enabled = secure}};
  if (place.host.starts_with('[') && place.host.ends_with(']')) {
    place.host = place.host.substr(1, place.host.size() - 2);
  }
  while (place.prefix.ends_with('/')) {
    place.prefix.pop_back();
  }
  return place;
}

std::unique_ptr<HttpClient> HttpConnections::take(const HttpAddress& place) {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    return std::make_unique<HttpClient>(
        HttpOrigin{.host = place.host, .port = place.port},
        HttpOptions{.connection = HttpConnection::Kept, .tls = place.tls});
  }
  auto client = std::move(idle_.back());
  idle_.pop_back();
  return client;
}

void HttpConnections::give(std::unique_ptr<HttpClient> client) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(client));
}

Result<std::vector<std::byte>> HttpTiles::read(const std::string& path,
                                               std::size_t bytes_max) const {
  auto client = connections_->take(place_);
  auto answered =
      client->get(place_.prefix + "/" + path, {.timeout = timeout_, .body_bytes_max = bytes_max});
  connections_->give(std::move(client));
  if (!answered.ok()) {
    const bool malformed = answered.status().code() == StatusCode::DataLoss;
    return unreachable((malformed ? path + ": " : "") + answered.status().message());
  }
  const HttpResponse& answer = answered.value();
  if (answer.status != 200) {
    return refusal(answer, path);
  }
  if (answer.extent == HttpBody::TooLong) {
    return Status{StatusCode::DataLoss,
                  path + ": more than " + std::to_string(bytes_max) + " bytes",
                  ledger::kLedgerOversized};
  }
  if (answer.extent != HttpBody::Whole) {
    return unreachable(path + ": the answer was cut");
  }
  const auto body = std::as_bytes(std::span(answer.body));
  return std::vector<std::byte>(body.begin(), body.end());
}

}  // namespace gcoord::cli
