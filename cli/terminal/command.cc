#include "cli/terminal/command.h"

#include "cli/credentials/session_key_files.h"
#include "cli/terminal/duration.h"
#include "cli/terminal/endpoints.h"
#include "common/host/hidden_secrets.h"
#include "protocol/error_codes.h"
#include "security/credentials/token.h"
#include "security/secret/file.h"

#include <cstdlib>
#include <utility>

namespace gcoord::cli {

namespace {

// "cause (a: refused; b: timed out). Fix." -> what is said of each endpoint.
std::vector<std::string> evidence_of(const std::string& message) {
  const std::size_t begin = message.find('(');
  const std::size_t end = message.rfind(')');
  std::vector<std::string> evidence;
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    return evidence;
  }
  std::string rest = message.substr(begin + 1, end - begin - 1);
  for (std::size_t at = rest.find("; "); at != std::string::npos; at = rest.find("; ")) {
    evidence.push_back(rest.substr(0, at));
    rest.erase(0, at + 2);
  }
  evidence.push_back(rest);
  return evidence;
}

std::string chosen_endpoints(const Globals& globals) {
  if (!globals.endpoints.empty()) {
    return globals.endpoints;
  }
  const char* variable = std::getenv("GCOORD_ENDPOINTS");
  return variable != nullptr && *variable != '\0' ? variable : kDefaultEndpoint;
}

// What would fail at every node alike is said before any is asked.
Status check_files(const Globals& globals) {
  if (!globals.cert.empty() && globals.key.empty()) {
    return protocol::make_error(protocol::ErrorCode::OptionMissing,
                                "--key, the private key of --cert " + globals.cert);
  }
  if (globals.login.token_file.empty()) {
    return {};
  }
  const auto read =
      security::read_secret_file(globals.login.token_file, security::kTokenBytesMax + 2);
  return read.ok() ? Status{}
                   : protocol::make_error(protocol::ErrorCode::CredentialsUnreadable,
                                          read.status().message());
}

// The token for pages of nodes. Without one that can be read a page that wants one says so.
std::string token_in(const std::string& path) {
  if (path.empty()) {
    return {};
  }
  const auto read = security::read_secret_file(path, security::kTokenBytesMax + 2);
  const std::string_view text = read.ok() ? read.value().text() : std::string_view{};
  return std::string{text.substr(0, text.find_first_of("\r\n"))};
}

}  // namespace

void Globals::take(const std::string& option, const std::string& value) {
  if (option == "tls" || option == "insecure-credentials") {
    (option == "tls" ? tls : insecure_credentials) =
        value == "true" || value == "1" || value == "yes" || value == "on";
    return;
  }
  if (option == "user" && login.user.starts_with(value + ":")) {
    return;  // As it was typed, with a password.
  }
  const std::pair<const char*, std::string*> texts[] = {{"endpoints", &endpoints},
                                                        {"timeout", &timeout},
                                                        {"output", &output},
                                                        {"cacert", &cacert},
                                                        {"cert", &cert},
                                                        {"key", &key},
                                                        {"user", &login.user},
                                                        {"password-file", &login.password_file},
                                                        {"token-file", &login.token_file}};
  for (const auto& [name, into] : texts) {
    if (option == name) {
      *into = value;
    }
  }
}

client::TlsOptions Globals::tls_options() const {
  return {.enabled = tls || !cacert.empty() || !cert.empty(),
          .cacert = cacert,
          .cert = cert,
          .key = key};
}

HttpTls Globals::http_tls() const {
  const client::TlsOptions options = tls_options();
  return {.enabled = options.enabled,
          .cacert = options.cacert,
          .cert = options.cert,
          .key = options.key,
          .bearer = token_in(login.token_file),
          .bearer_in_plain = insecure_credentials};
}

void Context::take_context() {
  if (globals_.program == nullptr) {
    return;
  }
  chosen_ = choose_own_values(*globals_.program, globals_.values());
  if (!chosen_.ok()) {
    return;
  }
  for (const auto& [option, value] : chosen_.value().by_option) {
    globals_.take(option, value.text);
  }
}

int Context::run() {
  take_context();
  hide_variable("GCOORD_USER", SecretPart::AfterColon);  // Read, and for no child.
  output_ = Output(globals_.output == "json" ? Format::JsonLines : Format::Tables);
  if (!chosen_.ok() && !globals_.keeps_contexts) {
    return fail(chosen_.status());
  }
  const auto timeout = duration("--timeout", globals_.timeout);
  if (!timeout.has_value()) {
    return exit_code_;
  }
  timeout_ = *timeout;
  return body_(*this);
}

bool Context::timeout_given() const {
  return chosen_.ok() && chosen_.value().by_option.contains("timeout");
}

Result<std::vector<std::string>> Context::endpoints() const {
  return parse_endpoints(chosen_endpoints(globals_));
}

std::optional<client::Client> Context::connect() {
  auto endpoints = this->endpoints();
  if (!endpoints.ok()) {
    refuse(endpoints.status());
    return std::nullopt;
  }
  client::ClientOptions options;
  options.endpoints = std::move(endpoints).value();
  options.connect_timeout = timeout_;
  options.request_timeout = timeout_;
  options.client_name = "gcoordctl";
  auto credentials = credentials_of(globals_.login);
  if (!credentials.ok()) {
    refuse(credentials.status());
    return std::nullopt;
  }
  options.credentials = std::move(credentials).value();
  options.insecure_credentials = globals_.insecure_credentials;
  options.tls = globals_.tls_options();
  if (const Status usable = check_files(globals_); !usable.ok()) {
    refuse(usable);
    return std::nullopt;
  }
  auto connected = client::Client::connect(std::move(options));
  if (!connected.ok()) {
    // A table's reader sees the evidence in the message already.
    const bool json = output_.format() == Format::JsonLines;
    exit_code_ =
        output_.fail(connected.status(),
                     json ? evidence_of(connected.status().message()) : std::vector<std::string>{});
    return std::nullopt;
  }
  return std::move(connected).value();
}

client::Result<client::Session> Context::attach(client::Client& client,
                                                client::AttachOptions how) const {
  auto key = read_session_key(globals_.session_key_file);
  if (!key.ok()) {
    return client::Status{static_cast<client::StatusCode>(key.status().code()),
                          key.status().message(),
                          key.status().detail()};
  }
  how.session_key = std::move(key).value();
  return client.attach_session(std::move(how));
}

bool Context::show_key(client::Client& client, std::uint64_t session_id) {
  auto session = attach(client, {.session_id = session_id});
  if (!session.ok()) {
    refuse(client, session.status());
    return false;
  }
  session.value().detach();
  return true;
}

Status Context::keep_key(const client::Session& session) const {
  return write_session_key(globals_.session_key_file, session.key());
}

std::optional<client::Client> Context::connect_to_all() {
  auto client = connect();
  if (client.has_value()) {
    static_cast<void>(client->wait_for_all_nodes(std::chrono::milliseconds(1000)).ok());
  }
  return client;
}

int Context::fail(const client::Client& client, const client::Status& status) const {
  constexpr auto kUnattached = static_cast<std::uint32_t>(protocol::ErrorCode::SessionNotAttached);
  if (status.detail() == kUnattached && names_session_key(globals_.session_key_file)) {
    // The key went out with the request, and the node did not take it for this session's.
    const Status wrong = protocol::make_error(
        protocol::ErrorCode::SessionKeyInvalid,
        globals_.session_key_file.empty() ? kSessionKeyVariable : globals_.session_key_file);
    return fail(
        client,
        client::Status{
            static_cast<client::StatusCode>(wrong.code()), wrong.message(), wrong.detail()});
  }
  std::vector<std::string> evidence;
  for (const client::NodeView& node : client.cluster().nodes) {
    const std::string state = node.connected            ? "connected"
                              : node.last_error.empty() ? "not connected"
                                                        : node.last_error;
    // Of an endpoint that never answered nobody knows which node it is.
    const std::string who = node.node_id == 0
                                ? "endpoint " + node.address
                                : "node " + std::to_string(node.node_id) + " at " + node.address;
    evidence.push_back(who + ": " + state);
  }
  const bool reachability =
      protocol::exit_code(to_status(status)) == protocol::ExitCode::Unreachable ||
      protocol::exit_code(to_status(status)) == protocol::ExitCode::Unavailable;
  return output_.fail(status, reachability ? evidence : std::vector<std::string>{});
}

std::optional<std::chrono::milliseconds> Context::duration(const std::string& flag,
                                                           const std::string& text) {
  const auto parsed = parse_duration(text);
  if (!parsed.has_value()) {
    // A TTL that is a time, but none that a session may have, is told as the nodes tell it.
    const bool ttl = flag == "--ttl";
    const bool negative = text.starts_with('-') && (parse_duration(text.substr(1)).has_value() ||
                                                    beyond_a_day(text.substr(1)));
    const auto code = ttl && negative             ? protocol::ErrorCode::TtlTooShort
                      : ttl && beyond_a_day(text) ? protocol::ErrorCode::TtlTooLong
                                                  : protocol::ErrorCode::OptionInvalid;
    exit_code_ = fail(protocol::make_error(
        code, flag + " '" + text + "' is not a time up to a day; write 500ms, 1.5s, 1h30m or 1d"));
  }
  return parsed;
}

}  // namespace gcoord::cli
