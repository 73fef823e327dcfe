#include "server/tls/own_files.h"

#include "common/text/utc_text.h"
#include "protocol/error_codes.h"
#include "security/certificates/holder.h"

#include <algorithm>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::server {
namespace {

using certificates::Holder;
using certificates::HolderKind;
using protocol::ErrorCode;
using protocol::make_error;

// By how much the clock of who issued a file may be ahead of this one.
constexpr std::int64_t kSkewSeconds = 300;

std::string time_text(std::int64_t seconds) {
  return utc_text(static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 0)) * 1000);
}

Holder holder_of(const OwnNode& own, ClusterId cluster) {
  return {.kind = HolderKind::Node, .cluster = cluster.value, .node = own.node.value, .user = {}};
}

// Those of this product's URIs that the certificate has.
std::vector<Holder> holders_of(const std::vector<std::string>& uris) {
  std::vector<Holder> holders;
  for (const std::string& uri : uris) {
    if (auto holder = certificates::parse_holder(uri)) {
      holders.push_back(std::move(*holder));
    }
  }
  return holders;
}

Status judge_dates(const security::TlsFacts& facts,
                   const security::TlsFiles& files,
                   std::int64_t now_s) {
  if (facts.own.not_after_s <= now_s) {
    return make_error(ErrorCode::CertificateExpired,
                      files.certificate + " ended at " + time_text(facts.own.not_after_s));
  }
  if (facts.own_begin_s > now_s + kSkewSeconds) {
    return make_error(ErrorCode::CertificateEarly,
                      files.certificate + " begins at " + time_text(facts.own_begin_s));
  }
  // Of several lists one may be an old one, or of an authority that is no more. One that begins in
  // a moment refuses what it is for until then, by itself.
  if (facts.list_last_end_s != 0 && facts.list_last_end_s <= now_s) {
    return make_error(ErrorCode::RevocationsExpired,
                      files.revoked + " ended at " + time_text(facts.list_last_end_s));
  }
  return {};
}

Status judge_names(const security::TlsFacts& facts,
                   const security::TlsFiles& files,
                   const OwnRules& rules) {
  const OwnNode& own = rules.own;
  const std::vector<Holder> holders = holders_of(facts.own.uris);
  if (own.cluster.value == 0 || !rules.must_name) {
    return {};
  }
  const Holder here = holder_of(own, own.cluster);
  const Holder before = holder_of(own, own.former);
  const bool is_own = std::ranges::any_of(holders, [&](const Holder& holder) {
    return holder == here || (own.former.value != 0 && holder == before);
  });
  return is_own ? Status{}
                : make_error(ErrorCode::CertificateName,
                             files.certificate + " is for " +
                                 (holders.empty() ? "no node" : certificates::uri_of(holders[0])) +
                                 ", and this node is " + certificates::uri_of(here));
}

}  // namespace

bool uses_tls(const TlsChoices& choices) {
  return tls_mode(choices, choices.client) != TlsMode::Off ||
         tls_mode(choices, choices.http) != TlsMode::Off ||
         choices.peer.value_or(TlsMode::Off) != TlsMode::Off;
}

Status judge_own_files(const security::TlsFacts& facts,
                       const security::TlsFiles& files,
                       const OwnRules& rules) {
  if (!facts.has_certificate()) {
    return {};
  }
  GCOORD_TRY_STATUS(judge_dates(facts, files, rules.now_s));
  return judge_names(facts, files, rules);
}

security::TlsSource::Judge own_judge(std::function<OwnRules()> rules) {
  return [rules = std::move(rules)](const security::TlsContext& context,
                                    const security::TlsFiles& files) {
    return judge_own_files(context.facts(), files, rules());
  };
}

Status check_own_files(const TlsChoices& choices, OwnRules rules) {
  if (choices.files.certificate.empty() || !uses_tls(choices)) {
    return {};
  }
  rules.must_name = choices.peer.value_or(TlsMode::Off) != TlsMode::Off;
  GCOORD_TRY(const auto context,
             security::TlsContext::load(security::TlsSide::Server, choices.files, {}));
  return judge_own_files(context->facts(), choices.files, rules);
}

std::int64_t wall_seconds() {
  return std::int64_t{std::time(nullptr)};
}

}  // namespace gcoord::server
