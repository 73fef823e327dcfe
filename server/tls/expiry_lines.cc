#include "server/tls/expiry_lines.h"

#include "common/text/utc_text.h"
#include "server/platform/operator_log.h"

#include <algorithm>

namespace gcoord::server {
namespace {

// A thing that holds from one time to another; `end_s` 0: it has no end.
struct Span {
  const char* name;
  std::int64_t begin_s;
  std::int64_t end_s;
  const char* soon;
  const char* over;
};

Expiry expiry_of(const Span& span, std::int64_t now_s) {
  if (span.end_s == 0) {
    return {};
  }
  const std::int64_t ahead_s =
      std::min(kExpiryAheadSeconds, std::max<std::int64_t>(span.end_s - span.begin_s, 0) / 3);
  if (span.end_s - now_s > ahead_s) {
    return {};
  }
  const bool is_over = span.end_s <= now_s;
  const std::string end =
      utc_text(static_cast<std::uint64_t>(std::max<std::int64_t>(span.end_s, 0)) * 1000);
  return {is_over ? Expiry::Kind::Over : Expiry::Kind::Soon,
          std::string{"TLS: "} + span.name + (is_over ? " has expired at " : " expires at ") + end +
              ": " + (is_over ? span.over : span.soon)};
}

}  // namespace

std::array<Expiry, 2> expiries(const security::TlsFacts& facts, std::int64_t now_s) {
  return {expiry_of({"the certificate of this node",
                     facts.own_begin_s,
                     facts.has_certificate() ? facts.own.not_after_s : 0,
                     "renew it with gcoordctl cert renew; the node takes the file by itself",
                     "clients and nodes refuse this node until it is renewed (GC1214)"},
                    now_s),
          expiry_of({"the revocation list",
                     facts.list_begin_s,
                     facts.list_end_s,
                     "have the CA sign a new one and put it in place of the file of --tls-crl",
                     "every certificate is refused until there is a new one (GC3138)"},
                    now_s)};
}

void ExpiryLines::look(const security::TlsFacts& facts, std::int64_t now_s) {
  constexpr std::int64_t kDay = 86'400;
  constexpr std::int64_t kHour = 3'600;
  const std::array<Expiry, 2> all = expiries(facts, now_s);
  for (std::size_t k = 0; k < all.size(); ++k) {
    Said& said = said_[k];
    const bool is_over = all[k].kind == Expiry::Kind::Over;
    const bool is_due = all[k].kind != said.kind || now_s - said.at_s >= (is_over ? kHour : kDay);
    if (!is_due) {
      continue;
    }
    said = {.at_s = now_s, .kind = all[k].kind};
    if (is_over) {
      log_error(LogComponent::Node, "{}", all[k].text);
    } else if (all[k].kind == Expiry::Kind::Soon) {
      log_warning(LogComponent::Node, "{}", all[k].text);
    }
  }
}

}  // namespace gcoord::server
