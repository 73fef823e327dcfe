// Clients, for C.
#include "client/c/border.h"
#include "client/net/failure.h"

#include <cstddef>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace gcoord::client;

namespace {

namespace protocol = gcoord::protocol;

// A day: beyond it the arithmetic on nanoseconds need not be trusted.
constexpr std::int64_t kTimeoutMsMax = 24 * 60 * 60 * 1000;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    if (!part.empty()) {
      parts.push_back(part);
    }
  }
  return parts;
}

// Of the first version.
constexpr std::size_t kFirstBytes = offsetof(gcoord_client_options, backoff_min_ms);

gcoord_client_options default_options() {
  static const ClientOptions defaults;
  gcoord_client_options options{};
  options.struct_bytes = sizeof options;
  options.connect_timeout_ms = defaults.connect_timeout.count();
  options.request_timeout_ms = defaults.request_timeout.count();
  options.drift_divisor = defaults.drift_divisor;
  options.drift_margin_ms = defaults.drift_margin.count();
  options.cluster_id = defaults.cluster_id;
  options.client_name = defaults.client_name.c_str();
  options.wait_for_cluster = defaults.wait_for_cluster;
  options.backoff_min_ms = defaults.backoff_min.count();
  options.backoff_max_ms = defaults.backoff_max.count();
  options.retry_budget = defaults.retry_budget;
  options.breaker_failures = defaults.breaker_failures;
  options.fail_fast = defaults.fail_fast;
  options.insecure_credentials = defaults.insecure_credentials;
  return options;
}

Status check_options(const gcoord_client_options& options) {
  const auto usable = [](std::int64_t time_ms) { return time_ms >= 0 && time_ms <= kTimeoutMsMax; };
  if (!usable(options.connect_timeout_ms) || !usable(options.request_timeout_ms) ||
      !usable(options.drift_margin_ms) || !usable(options.backoff_min_ms) ||
      !usable(options.backoff_max_ms)) {
    return failure(protocol::ErrorCode::OptionInvalid, "a time is negative or longer than a day");
  }
  return required({{options.endpoints, "endpoints"}, {options.client_name, "client_name"}});
}

TlsOptions tls_of(const gcoord_client_options& given) {
  const auto text = [](const char* each) { return each == nullptr ? "" : each; };
  return {.enabled = given.tls,
          .cacert = text(given.cacert),
          .cert = text(given.cert),
          .key = text(given.key),
          .server_name = text(given.server_name)};
}

Credentials credentials_of(const gcoord_client_options& given) {
  const auto text = [](const char* each) { return each == nullptr ? "" : each; };
  return {.user = text(given.user),
          .password = text(given.password),
          .token = text(given.token),
          .token_file = text(given.token_file)};
}

ClientOptions options_of(const gcoord_client_options& given,
                         const std::shared_ptr<BorrowedClock>& clock) {
  using std::chrono::milliseconds;
  ClientOptions options;
  options.endpoints = split(given.endpoints);
  options.connect_timeout = milliseconds{given.connect_timeout_ms};
  options.request_timeout = milliseconds{given.request_timeout_ms};
  options.drift_divisor = given.drift_divisor;
  options.drift_margin = milliseconds{given.drift_margin_ms};
  options.cluster_id = given.cluster_id;
  options.client_name = given.client_name;
  options.wait_for_cluster = given.wait_for_cluster;
  options.backoff_min = milliseconds{given.backoff_min_ms};
  options.backoff_max = milliseconds{given.backoff_max_ms};
  options.retry_budget = given.retry_budget;
  options.breaker_failures = given.breaker_failures;
  options.fail_fast = given.fail_fast;
  options.tls = tls_of(given);
  options.credentials = credentials_of(given);
  options.insecure_credentials = given.insecure_credentials;
  if (clock != nullptr) {
    options.clock = clock;
  }
  return options;
}

}  // namespace

void(gcoord_client_options_init)(gcoord_client_options* options) {
  fill_options(options, default_options(), kFirstBytes);
}

void gcoord_client_options_init_as(gcoord_client_options* options, size_t struct_bytes) {
  fill_options(options, default_options(), struct_bytes);
}

gcoord_status gcoord_client_connect(const gcoord_client_options* options,
                                    gcoord_client** client,
                                    gcoord_error* error) {
  return border(error, {{options, "options"}, {client, "client"}}, [&]() -> Status {
    GCOORD_TRY(const auto all, whole(*options, default_options(), kFirstBytes));
    GCOORD_TRY_STATUS(check_options(all));
    std::shared_ptr<BorrowedClock> clock;
    if (options->now_ns != nullptr) {
      clock = std::make_shared<BorrowedClock>(options->now_ns, options->now_user);
    }
    return give(Client::connect(options_of(all, clock)), client, clock);
  });
}

gcoord_status gcoord_client_close(gcoord_client* client, gcoord_error* error) {
  return border(error, {{client, "client"}}, [&] { return client->client.close(); });
}

gcoord_status gcoord_client_free(gcoord_client* client) {
  if (client == nullptr) {
    return GCOORD_OK;
  }
  const gcoord_status closed = gcoord_client_close(client, nullptr);
  if (closed == GCOORD_OK) {
    delete client;
  }
  return closed;
}

void gcoord_client_clock_moved(gcoord_client* client) {
  if (client != nullptr && client->clock != nullptr) {
    client->clock->moved();
  }
}

int64_t gcoord_client_now_ns(const gcoord_client* client) {
  return client != nullptr ? client->client.now().count() : 0;
}
