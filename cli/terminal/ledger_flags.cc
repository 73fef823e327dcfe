#include "cli/terminal/ledger_flags.h"

#include "ledger/base/error_details.h"
#include "protocol/error_codes.h"

#include <fstream>
#include <iostream>

namespace gcoord::cli {

void add_ledger_flag(Command& verb, LedgerFlags& flags) {
  verb.add_option(
          "--ledger", flags.ledger, "ledger address of a node, or the directory of an export")
      ->required()
      ->type_name("http://HOST:PORT|DIR");
}

void add_shard_flag(Command& verb, LedgerFlags& flags, const char* meaning) {
  verb.add_option("--shard", flags.shard, meaning)->type_name("N");
}

void add_key_flags(Command& verb, LedgerFlags& flags) {
  verb.add_option("--key",
                  flags.keys,
                  "a node's verifier key (ledger keys prints them); give it once for each node")
      ->type_name("NAME+HASH+KEY")
      ->allow_extra_args(false);
  verb.add_option("--quorum",
                  flags.quorum,
                  "number of the keys that must have signed the cluster's checkpoint (default: a "
                  "majority of the given keys)")
      ->type_name("N");
}

LedgerAddress place_of(const Context& context, const LedgerFlags& flags) {
  return with_connections(
      {.ledger = flags.ledger, .timeout = context.timeout(), .tls = context.globals().http_tls()});
}

Result<ProofTrust> trust_of(const LedgerFlags& flags) {
  ProofTrust trust;
  for (const std::string& text : flags.keys) {
    GCOORD_TRY(const ledger::NoteKey key, ledger::NoteKey::parse(text));
    trust.keys.push_back(key);
  }
  trust.quorum = flags.quorum == 0 ? majority_of(trust.keys.size()) : flags.quorum;
  if (!trust.keys.empty() && trust.quorum > trust.keys.size()) {
    return protocol::make_error(protocol::ErrorCode::OptionInvalid,
                                "--quorum " + std::to_string(trust.quorum) + " of " +
                                    std::to_string(trust.keys.size()) + " keys");
  }
  trust.origin = origin_of_keys(trust.keys);
  return trust;
}

Status ledger_failure(const Status& status) {
  // The numbers of ledgers; others were explained where they were found.
  const bool known =
      status.detail() / 1000 == 8 && protocol::find_error(status.detail()) != nullptr;
  return known ? protocol::make_error(static_cast<protocol::ErrorCode>(status.detail()),
                                      status.message())
               : status;
}

std::string trust_text(const ProofTrust& trust) {
  return trust.keys.empty() ? "no key was given"
                            : "yes: at least " + std::to_string(trust.quorum) + " of " +
                                  std::to_string(trust.keys.size()) + " keys";
}

Result<std::string> read_input(const std::string& file, std::size_t bytes_max) {
  std::ifstream stream;
  if (file != "-") {
    stream.open(file, std::ios::binary);
  }
  std::istream& input = file == "-" ? std::cin : stream;
  std::string text(bytes_max + 1, '\0');
  input.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!input.eof() && input.fail()) {
    return protocol::make_error(protocol::ErrorCode::OptionInvalid, file + " cannot be read");
  }
  text.resize(static_cast<std::size_t>(input.gcount()));
  if (text.size() > bytes_max) {
    return Status{StatusCode::DataLoss,
                  file + " has more than " + std::to_string(bytes_max) + " bytes",
                  ledger::kProofFileOversized};
  }
  return text;
}

}  // namespace gcoord::cli
