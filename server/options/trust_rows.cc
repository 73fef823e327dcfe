// The options of trust: certificates, the cluster secret, and the proofs that are required.
#include "common/text/printable.h"
#include "server/options/option_rows.h"
#include "server/options/setters.h"

#include <array>

namespace gcoord::server {

namespace {

using namespace setters;

// A file of TLS.
template <std::string security::TlsFiles::*member>
Status tls_file(const std::string& text, NodeOptions& options) {
  if (text.empty() || text.find('\0') != std::string::npos) {
    return wrong("the path is empty or has a zero byte");
  }
  options.tls.files.*member = text;
  return Status{};
}

template <std::optional<TlsMode> TlsChoices::*member>
Status tls_mode_of(const std::string& text, NodeOptions& options) {
  options.tls.*member = parse_tls_mode(text);
  return (options.tls.*member).has_value()
             ? Status{}
             : wrong("'" + text + "' is none of off, permissive and required");
}

Status certificates_of_clients(const std::string& text, NodeOptions& options) {
  options.tls.client_certificates = parse_client_certificates(text);
  return options.tls.client_certificates.has_value()
             ? Status{}
             : wrong("'" + text + "' is none of none, optional and required");
}

Status peer_proof(const std::string& text, NodeOptions& options) {
  if (text != "permissive" && text != "required") {
    return wrong("'" + text + "' is neither permissive nor required");
  }
  options.peer_proof = text == "required" ? PeerProof::Required : PeerProof::Permissive;
  return Status{};
}

// A user's name (security/roles/grant_rules.h); the table of roles judges it again.
Status first_admin(const std::string& text, NodeOptions& options) {
  if (!is_printable(text) || text.empty() || text.size() > 255 || text.front() == ' ' ||
      text.back() == ' ') {
    return wrong("'" + shown(text) + "' is no name of a user: 1 to 255 bytes of printable text");
  }
  options.first_admin = text;
  return Status{};
}

Status session_keys(const std::string& text, NodeOptions& options) {
  const std::optional<SessionKeyMode> mode = parse_session_key_mode(text);
  if (!mode.has_value()) {
    return wrong("'" + text + "' is none of auto, off, permissive, required");
  }
  options.session_keys = *mode;
  return Status{};
}

Status session_notes(const std::string& text, NodeOptions& options) {
  const std::optional<SessionNotes> notes = parse_session_notes(text);
  if (!notes.has_value()) {
    return wrong("'" + text + "' is none of identified, all, off");
  }
  options.session_notes = *notes;
  return Status{};
}

constexpr std::array kRows = {
    OptionRow{"session-keys",
              OptionShape::Value,
              "MODE",
              "whether requests for a session take its key, where the cluster has a secret: off, "
              "permissive, required, or auto, which is required once rights are checked (default "
              "auto)",
              &session_keys},
    OptionRow{"session-notes",
              OptionShape::Value,
              "MODE",
              "of which sessions and orders the ledger says who is behind them, one more entry "
              "each: identified, of clients that have proven who they are; all, of the others, "
              "too; or off (default identified)",
              &session_notes},
    OptionRow{"token-life",
              OptionShape::Value,
              "TIME",
              "how long the token holds that a client gets for its password, which it renews by "
              "itself for up to a day, and a connection that showed no other one since, 5s to 24h "
              "(default 10m)",
              &duration<&NodeOptions::token_life_ms, 5000, kDayMs>},
    OptionRow{"first-admin",
              OptionShape::Value,
              "USER",
              "a new cluster begins with rights checked, and with this user, who has all of them "
              "and shows its certificate; the same on all nodes; without effect once the cluster "
              "has users (default none: rights are off until gcoordctl auth enable)",
              &first_admin},
    OptionRow{"cluster-secret",
              OptionShape::Value,
              "FILE",
              "the secret that all nodes of the cluster share, by which they prove who they are; "
              "gcoordctl cluster secret new makes one (default DATA_DIR/cluster.secret, if it is "
              "there)",
              &path<&NodeOptions::cluster_secret>},
    OptionRow{"peer-proof",
              OptionShape::Value,
              "permissive|required",
              "whether other nodes must prove that they have the cluster's secret; permissive is "
              "for the way there: who has proven it once must from then on (default required, once "
              "this node has a secret)",
              &peer_proof},
    OptionRow{"insecure",
              OptionShape::Flag,
              "",
              "allow listening beyond loopback, without encryption and authentication",
              &flag<&NodeOptions::insecure>},
    OptionRow{"tls-cert",
              OptionShape::Value,
              "FILE",
              "certificate of this node for its ports, as PEM, before those between it and the "
              "authority; this and the other files of TLS are read again when they change and at "
              "SIGHUP",
              &tls_file<&security::TlsFiles::certificate>},
    OptionRow{"tls-key",
              OptionShape::Value,
              "FILE",
              "its private key, as PEM, unencrypted, with rights for its owner alone",
              &tls_file<&security::TlsFiles::key>},
    OptionRow{"tls-ca",
              OptionShape::Value,
              "FILE",
              "authorities whose certificates are trusted, as PEM",
              &tls_file<&security::TlsFiles::authority>},
    OptionRow{
        "tls-crl",
        OptionShape::Value,
        "FILE",
        "revocation lists of the authorities, as PEM; with one, certificates are refused once "
        "the list is too old",
        &tls_file<&security::TlsFiles::revoked>},
    OptionRow{
        "client-tls",
        OptionShape::Value,
        "off|permissive|required",
        "TLS 1.3 on the client port; permissive: plain text, too, by the first byte of each "
        "connection; changes at SIGHUP (default required with --tls-cert, else off; dev without "
        "--tls-cert makes certificates of its own, and is permissive)",
        &tls_mode_of<&TlsChoices::client>},
    OptionRow{"peer-tls",
              OptionShape::Value,
              "off|permissive|required",
              "TLS with the other nodes, by the same files at both ends; certificates name their "
              "node: gcoord://CLUSTERID/node/ID; changes at SIGHUP (default off)",
              &tls_mode_of<&TlsChoices::peer>},
    OptionRow{
        "http-tls",
        OptionShape::Value,
        "off|permissive|required",
        "the same for the ports of metrics and ledger (default required with --tls-cert, else "
        "off)",
        &tls_mode_of<&TlsChoices::http>},
    OptionRow{"client-certificates",
              OptionShape::Value,
              "none|optional|required",
              "whether who connects to the client port and the HTTP ports shows a certificate of "
              "--tls-ca (default optional with --tls-ca, else none)",
              &certificates_of_clients},
};

}  // namespace

std::span<const OptionRow> trust_rows() {
  return kRows;
}

}  // namespace gcoord::server
