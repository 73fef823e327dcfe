#include "server/tls/node_tls.h"

#include "security/tls/revocation_check.h"
#include "server/platform/operator_log.h"

#include <utility>

namespace gcoord::server {
namespace {

Counter& loads(MetricsRegistry& metrics, const char* result) {
  return metrics.counter({"gcoord_server_tls_loads_total",
                          "Attempts to load the files of TLS, at the start and after changes.",
                          "result",
                          result});
}

// Whether the certificate has to name this node.
bool must_name(const TlsChoices& choices) {
  return choices.peer.value_or(TlsMode::Off) != TlsMode::Off;
}

}  // namespace

NodeTls::NodeTls(MetricsRegistry& metrics, OwnNode own, WallClock clock)
    : own_(own),
      clock_(std::move(clock)),
      loaded_(loads(metrics, "ok")),
      failed_(loads(metrics, "failed")),
      certificate_end_s_(metrics.gauge({"gcoord_server_tls_certificate_end_seconds",
                                        "End of validity of this node's certificate, in seconds "
                                        "since 1970; 0: it has none.",
                                        "",
                                        ""})),
      list_end_s_(metrics.gauge({"gcoord_server_tls_revocations_end_seconds",
                                 "First end of validity of a revocation list in use, in seconds "
                                 "since 1970; 0: there is none, or it has no end.",
                                 "",
                                 ""})) {}

Result<std::unique_ptr<security::TlsSource>> NodeTls::load_files(const TlsChoices& choices) {
  const auto judge = own_judge([this, must_name = must_name(choices)] {
    return OwnRules{own_, must_name, clock_()};
  });
  return security::TlsSource::open(
      {security::TlsSide::Server, judge},
      server_files(choices),
      {.demand_certificate = client_certificates(choices) == ClientCertificates::Required});
}

// Whether the source in use serves these choices, too, if its files cannot be loaded anew.
bool NodeTls::serves(const TlsChoices& choices) const {
  return source_ != nullptr && server_files(choices) == server_files(choices_) &&
         client_certificates(choices) == client_certificates(choices_) &&
         (must_name(choices_) || !must_name(choices));
}

// The new files are loaded beside the old ones, and take their place if all is well. Files that no
// port uses are not read.
Result<bool> NodeTls::load(const TlsChoices& choices) {
  GCOORD_TRY_STATUS(check_tls(choices));
  std::unique_ptr<security::TlsSource> source;
  bool is_new = true;
  if (uses_tls(choices)) {
    auto loaded = load_files(choices);
    if (loaded.ok()) {
      source = std::move(loaded).value();
    } else if (!serves(choices)) {
      return loaded.status();
    } else {
      log_error(LogComponent::Node,
                "TLS: the files cannot be loaded anew, and those from before stay in use: {}",
                loaded.status().to_string());
      source = std::move(source_);
      is_new = false;
    }
  }
  if (source != nullptr && !choices.files.authority.empty() && choices.files.revoked.empty()) {
    log_warning(LogComponent::Node,
                "TLS: no revocation list: a revoked certificate is good here until it expires; "
                "--tls-crl names one");
  }
  source_ = std::move(source);
  choices_ = choices;
  set_ports();
  return is_new;
}

void NodeTls::set_ports() {
  const auto context = source_ == nullptr ? nullptr : source_->current();
  const auto rule = [&](std::optional<TlsMode> chosen) {
    const TlsMode mode = tls_mode(choices_, chosen);
    return PortTls::Rule{mode, mode == TlsMode::Off ? nullptr : context};
  };
  client_.set(rule(choices_.client));
  http_.set(rule(choices_.http));
  certificate_end_s_.set(context == nullptr ? 0 : context->not_after_s());
  list_end_s_.set(context == nullptr ? 0 : context->facts().list_end_s);
  expiry_.reset();
  security::RevocationCheck check(context);
  on_change_([&check](const security::TlsPeer& peer) { return check.revokes(peer); });
}

Status NodeTls::open(const TlsChoices& choices) {
  const Result<bool> loaded = load(choices);
  (loaded.ok() ? loaded_ : failed_).add();
  return loaded.status();
}

const TlsChoices& NodeTls::change(const TlsChoices& choices) {
  if (source_ == nullptr && choices.files.certificate.empty() && choices == choices_) {
    return choices_;
  }
  const Result<bool> loaded = load(choices);
  (loaded.ok() && loaded.value() ? loaded_ : failed_).add();
  if (loaded.ok()) {
    log_info(LogComponent::Node,
             "TLS: files {}; client port {}, HTTP ports {}",
             source_ == nullptr ? "not in use"
             : loaded.value()   ? "loaded"
                                : "as before",
             tls_mode_name(client_.rule().mode),
             tls_mode_name(http_.rule().mode));
  } else {
    log_error(LogComponent::Node, "TLS stays as it was: {}", loaded.status().to_string());
  }
  return choices_;
}

void NodeTls::look(std::uint64_t now_ms) {
  if (source_ == nullptr || now_ms < next_look_ms_) {
    return;
  }
  next_look_ms_ = now_ms + kLookMs;
  expiry_.look(source_->current()->facts(), clock_());
  const Result<bool> changed = source_->refresh();
  if (!changed.ok()) {
    failed_.add();
    log_error(LogComponent::Node,
              "TLS: the files have changed, and the old ones stay in use: {}",
              changed.status().to_string());
  } else if (changed.value()) {
    loaded_.add();
    set_ports();
    log_info(LogComponent::Node, "TLS: the files have changed and are in use");
  }
}

}  // namespace gcoord::server
