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

// The new files are loaded beside the old ones, and take their place if all is well.
Status NodeTls::load(const TlsChoices& choices) {
  GCOORD_TRY_STATUS(check_tls(choices));
  std::unique_ptr<security::TlsSource> source;
  if (!choices.files.certificate.empty()) {
    const bool must_name = choices.peer.value_or(TlsMode::Off) != TlsMode::Off;
    const auto judge = own_judge([this, must_name] { return OwnRules{own_, must_name, clock_()}; });
    GCOORD_TRY(source,
               security::TlsSource::open({security::TlsSide::Server, judge},
                                         server_files(choices),
                                         {.demand_certificate = client_certificates(choices) ==
                                                                ClientCertificates::Required}));
  }
  if (source != nullptr && !choices.files.authority.empty() && choices.files.revoked.empty()) {
    log_warning(LogComponent::Node,
                "TLS: no revocation list: a revoked certificate is good here until it expires; "
                "--tls-crl names one");
  }
  source_ = std::move(source);
  choices_ = choices;
  set_ports();
  return Status{};
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
  Status status = load(choices);
  (status.ok() ? loaded_ : failed_).add();
  return status;
}

void NodeTls::change(const TlsChoices& choices) {
  if (source_ == nullptr && choices.files.certificate.empty()) {
    return;
  }
  const Status status = load(choices);
  (status.ok() ? loaded_ : failed_).add();
  if (status.ok()) {
    log_info(LogComponent::Node,
             "TLS: files loaded; client port {}, HTTP ports {}",
             tls_mode_name(client_.rule().mode),
             tls_mode_name(http_.rule().mode));
  } else {
    log_error(LogComponent::Node, "TLS stays as it was: {}", status.to_string());
  }
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
