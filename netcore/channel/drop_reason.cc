#include "netcore/channel/drop_reason.h"

#include <array>

namespace gcoord::netcore {

std::string_view drop_reason_name(DropReason reason) {
  static constexpr std::array<std::string_view, kDropReasonCount> kNames = {"none",
                                                                            "bad_magic",
                                                                            "bad_version",
                                                                            "bad_checksum",
                                                                            "bad_length",
                                                                            "bad_field",
                                                                            "bad_extent",
                                                                            "wrong_cluster",
                                                                            "wrong_node",
                                                                            "unexpected_kind",
                                                                            "credit_overrun",
                                                                            "stale_epoch",
                                                                            "stale_sequence",
                                                                            "too_many_strangers",
                                                                            "greeting_timeout",
                                                                            "unproven",
                                                                            "other_secret",
                                                                            "bad_proof",
                                                                            "bad_record",
                                                                            "certificate_expired",
                                                                            "certificate_revoked",
                                                                            "certificate_untrusted",
                                                                            "certificate_unchecked",
                                                                            "certificate_missing",
                                                                            "certificate_foreign",
                                                                            "own_certificate"};
  const auto index = static_cast<std::size_t>(reason);
  return index < kNames.size() ? kNames[index] : std::string_view{"unknown"};
}

}  // namespace gcoord::netcore
