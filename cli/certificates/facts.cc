#include "cli/certificates/facts.h"

#include "common/text/utc_text.h"
#include "protocol/error_codes.h"

#include <algorithm>
#include <chrono>

namespace gcoord::cli {
namespace {

Json list_of(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) {
    list.push_back(text);
  }
  return list;
}

}  // namespace

std::int64_t now_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string moment_text(std::int64_t unix_s) {
  return utc_text(static_cast<std::uint64_t>(std::max(unix_s, std::int64_t{0})) * 1000);
}

Json json_of(const certificates::CertificateFacts& facts) {
  return Json{{"subject", facts.subject},
              {"issuer", facts.issuer},
              {"serial", facts.serial},
              {"fingerprint", facts.fingerprint},
              {"algorithm", facts.key},
              {"not_before", moment_text(facts.not_before_s)},
              {"not_after", moment_text(facts.not_after_s)},
              {"authority", facts.authority},
              {"uris", list_of(facts.uris)},
              {"dns", list_of(facts.dns)},
              {"addresses", list_of(facts.addresses)}};
}

Json json_of(const certificates::RevocationFacts& facts) {
  return Json{{"issuer", facts.issuer},
              {"number", facts.number},
              {"updated", moment_text(facts.updated_s)},
              {"next_update", facts.next_update_s == 0 ? "" : moment_text(facts.next_update_s)},
              {"revoked", list_of(facts.serials)}};
}

std::string names_text(const certificates::CertificateFacts& facts) {
  std::string text;
  for (const auto* names : {&facts.uris, &facts.dns, &facts.addresses}) {
    for (const std::string& name : *names) {
      text += (text.empty() ? "" : " ") + name;
    }
  }
  return text.empty() ? facts.subject : text;
}

Status certificate_failure(const Status& status) {
  return protocol::find_error(status.detail()) == nullptr
             ? status
             : protocol::make_error(static_cast<protocol::ErrorCode>(status.detail()),
                                    status.message());
}

}  // namespace gcoord::cli
