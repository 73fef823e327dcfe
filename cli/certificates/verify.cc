#include "cli/certificates/verify.h"

#include "cli/certificates/facts.h"
#include "protocol/error_codes.h"
#include "security/certificates/check.h"
#include "security/certificates/folder.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

namespace fs = std::filesystem;
namespace certs = certificates;

struct ShowText {
  std::vector<std::string> files;
};

struct VerifyText {
  std::string file;
  std::string directory;  // Empty: the default, unless --cacert names a CA.
  std::string revocations;
  std::string host;
  std::string holder;
  std::string private_key;
};

Status missing(const std::string& what) {
  return protocol::make_error(protocol::ErrorCode::OptionMissing, what);
}

struct ShownFiles {
  Json certificates = Json::array();
  Json lists = Json::array();
  Table table{.columns = {"FILE", "NAMES", "KEY", "SERIAL", "NOT AFTER"}};

  Status add(const std::string& file) {
    GCOORD_TRY(const std::string pem, certs::read_public_file(file));
    if (certs::holds_revocations(pem)) {
      GCOORD_TRY(const auto facts, certs::read_revocations(pem));
      Json json = json_of(facts);
      json["file"] = file;
      table.rows.push_back({file,
                            "revocations: " + std::to_string(facts.serials.size()),
                            "-",
                            "number " + facts.number,
                            facts.next_update_s == 0 ? "-" : moment_text(facts.next_update_s)});
      lists.push_back(std::move(json));
      if (!certs::holds_certificate(pem)) {
        return {};
      }
    }
    const auto all = certs::read_certificates(pem);
    if (!all.ok()) {
      return {all.status().code(), file + ": " + all.status().message(), all.status().detail()};
    }
    for (const auto& facts : all.value()) {
      Json json = json_of(facts);
      json["file"] = file;
      table.rows.push_back(
          {file, names_text(facts), facts.key, facts.serial, moment_text(facts.not_after_s)});
      certificates.push_back(std::move(json));
    }
    return {};
  }
};

int show(Context& context, const ShowText& text) {
  ShownFiles shown;
  for (const std::string& file : text.files) {
    const Status added = shown.add(file);
    if (!added.ok()) {
      return context.fail(certificate_failure(added));
    }
  }
  context.output().print(Json{{"certificates", std::move(shown.certificates)},
                              {"revocations", std::move(shown.lists)}},
                         shown.table);
  return 0;
}

// "node/3", "user/alice" of the cluster that the certificate itself names.
Result<std::optional<certs::Holder>> wanted_holder(const std::string& text,
                                                   const certs::CertificateFacts& facts) {
  if (text.empty()) {
    return std::optional<certs::Holder>{};
  }
  // A whole URI, or its end with the cluster of the certificate.
  std::optional<certs::Holder> wanted = certs::parse_holder(text);
  std::uint64_t cluster = 1;
  for (const std::string& uri : facts.uris) {
    if (const auto named = certs::parse_holder(uri)) {
      cluster = named->cluster;
    }
  }
  if (!wanted.has_value()) {
    wanted = certs::parse_holder("gcoord://" + std::to_string(cluster) + "/" + text);
  }
  if (!wanted.has_value()) {
    return protocol::make_error(
        protocol::ErrorCode::OptionInvalid,
        "--holder '" + text + "' is neither node/ID, user/NAME nor gcoord://CLUSTER/...");
  }
  return wanted;
}

// The texts that a check is made of.
struct CheckInput {
  std::string certificate;
  std::string authority;
  std::string revocations;
  std::string list;  // Its file; empty: there is none.
  std::optional<certs::PrivateKey> key;
};

Result<CheckInput> read_all(Context& context, const VerifyText& text) {
  // A folder that was given counts for more than --cacert, which may come from a context.
  const certs::AuthorityFolder folder{text.directory.empty() ? "gcoord-ca" : text.directory};
  const std::string given = text.directory.empty() ? context.globals().cacert : "";
  CheckInput input;
  GCOORD_TRY(input.certificate, certs::read_public_file(text.file));
  std::error_code ignored;
  if (given.empty() && !fs::exists(folder.certificate_path(), ignored)) {
    return missing("--cacert FILE, or --dir of a CA");
  }
  GCOORD_TRY(input.authority,
             certs::read_public_file(given.empty() ? folder.certificate_path() : fs::path{given}));
  const fs::path list = !text.revocations.empty() ? fs::path{text.revocations}
                        : given.empty()           ? folder.revocations_path()
                                                  : fs::path{};
  if (!text.revocations.empty() || (!list.empty() && fs::exists(list, ignored))) {
    GCOORD_TRY(input.revocations, certs::read_public_file(list));
    input.list = list;
  }
  if (!text.private_key.empty()) {
    GCOORD_TRY(certs::PrivateKey key, certs::PrivateKey::read(text.private_key));
    input.key = std::move(key);
  }
  return input;
}

Result<certs::CertificateFacts> verified(const CheckInput& input, const VerifyText& text) {
  GCOORD_TRY(const auto facts, certs::read_certificates(input.certificate));
  GCOORD_TRY(const auto holder, wanted_holder(text.holder, facts.front()));
  GCOORD_TRY_STATUS(
      certs::check_certificate({.certificate_pem = input.certificate,
                                .authority_pem = input.authority,
                                .revocations_pem = input.revocations,
                                .now_s = now_s(),
                                .host = text.host,
                                .holder = holder,
                                .key = input.key.has_value() ? &*input.key : nullptr}));
  return facts.front();
}

int verify(Context& context, const VerifyText& text) {
  const auto input = read_all(context, text);
  const auto facts =
      input.ok() ? verified(input.value(), text) : Result<certs::CertificateFacts>{input.status()};
  if (!facts.ok()) {
    return context.fail(certificate_failure(facts.status()));
  }
  Json json = json_of(facts.value());
  json["file"] = text.file;
  json["valid"] = true;
  json["crl"] = input.value().list;
  context.output().print_facts(json);
  if (input.value().list.empty()) {
    talk("no revocation list was given (--crl): a revoked certificate would be called valid, too");
  }
  return 0;
}

void add_verify_verb(Command& group, Context& context) {
  const auto text = std::make_shared<VerifyText>();
  Command* verb = add_verb(group,
                           context,
                           text,
                           "verify",
                           "check a certificate against its CA (--cacert, or --dir of one): chain, "
                           "dates, revocation list, name and key",
                           &verify);
  verb->add_option("FILE", text->file, "the certificate, and those between it and the CA")
      ->required();
  verb->add_option("--dir", text->directory, "folder of the CA (default ./gcoord-ca)")
      ->type_name("DIR");
  verb->add_option("--crl", text->revocations, "revocation list (default: that of --dir)")
      ->type_name("FILE");
  verb->add_option("--host", text->host, "DNS name or address that it must have")
      ->type_name("HOST");
  verb->add_option("--holder", text->holder, "whom it must name: node/ID or user/NAME")
      ->type_name("HOLDER");
  verb->add_option("--private-key", text->private_key, "the key that must be its own")
      ->type_name("FILE");
}

}  // namespace

void add_certificate_looks(Command& certificates, Context& context) {
  const auto text = std::make_shared<ShowText>();
  Command* verb = add_verb(
      certificates, context, text, "show", "show certificates and revocation lists", &show);
  verb->add_option("FILE", text->files, "files in PEM")->required()->take_all();
  add_verify_verb(certificates, context);
}

}  // namespace gcoord::cli
