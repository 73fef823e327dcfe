#include "cli/certificates/making.h"

#include "cli/certificates/facts.h"
#include "protocol/error_codes.h"
#include "security/certificates/folder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gcoord::cli {
namespace {

namespace fs = std::filesystem;
namespace certs = certificates;

struct AuthorityText {
  std::string directory = "gcoord-ca";
  std::uint64_t cluster_id = 0;
  std::string name = "gcoord lab CA";
  std::string algorithm = "p256";
  std::uint32_t days = certs::kAuthorityDays;
};

struct IssueText {
  std::string kind;
  std::string name;
  std::string directory = "gcoord-ca";
  std::uint64_t cluster_id = 0;
  std::vector<std::string> hosts;
  std::string algorithm = "p256";
  std::uint32_t days = 0;
  std::string out;
};

struct RenewText {
  std::vector<std::string> files;
  std::string directory = "gcoord-ca";
  std::uint32_t days = 0;
  bool rekey = false;
  std::string algorithm = "p256";
};

struct RevokeText {
  std::vector<std::string> certificates;
  std::string directory = "gcoord-ca";
};

std::vector<std::string> algorithm_words() {
  return {std::begin(certs::kAlgorithmNames), std::end(certs::kAlgorithmNames)};
}

// The parser has checked the word.
certs::KeyAlgorithm algorithm_of(const std::string& word) {
  return certs::parse_algorithm(word).value_or(certs::KeyAlgorithm::P256);
}

Json with_files(Json json, const fs::path& certificate, const fs::path& key) {
  json["certificate"] = certificate.string();
  json["key"] = key.string();
  return json;
}

int found_authority(Context& context, const AuthorityText& text) {
  const certs::AuthorityFolder folder{text.directory};
  const auto authority = folder.found({.cluster = text.cluster_id,
                                       .name = text.name,
                                       .algorithm = algorithm_of(text.algorithm),
                                       .now_s = now_s(),
                                       .days = text.days});
  if (!authority.ok()) {
    return context.fail(certificate_failure(authority.status()));
  }
  Json json =
      with_files(json_of(authority.value().facts()), folder.certificate_path(), folder.key_path());
  json["crl"] = folder.revocations_path().string();
  context.output().print_facts(json);
  talk("this CA is for labs: whoever reads " + folder.key_path().string() +
       " can be any node and any user");
  return 0;
}

// "node 3", "user alice".
Result<certs::Holder> holder_of(const IssueText& text) {
  certs::Holder holder{.cluster = text.cluster_id};
  if (text.kind == "user") {
    holder.kind = certs::HolderKind::User;
    holder.user = text.name;
    return holder;
  }
  holder.kind = certs::HolderKind::Node;
  const char* end = text.name.data() + text.name.size();
  const auto [stop, error] = std::from_chars(text.name.data(), end, holder.node);
  if (error != std::errc{} || stop != end) {
    return protocol::make_error(protocol::ErrorCode::OptionInvalid,
                                "'" + text.name + "' is no id of a node");
  }
  return holder;
}

int issue(Context& context, const IssueText& text) {
  const certs::AuthorityFolder folder{text.directory};
  const auto holder = holder_of(text);
  if (!holder.ok()) {
    return context.fail(holder.status());
  }
  const auto paths =
      certs::pair_paths(text.out.empty() ? certs::holder_name(holder.value()) : text.out);
  const auto issued = folder.issue(
      {.holder = holder.value(), .hosts = text.hosts, .now_s = now_s(), .days = text.days},
      algorithm_of(text.algorithm),
      paths);
  if (!issued.ok()) {
    return context.fail(certificate_failure(issued.status()));
  }
  Json json = with_files(json_of(issued.value()), paths.certificate, paths.key);
  json["ca"] = folder.certificate_path().string();
  context.output().print_facts(json);
  return 0;
}

// The key of node-1.crt is node-1.key.
certs::PairPaths paths_of(const std::string& file) {
  constexpr std::string_view kEnding = ".crt";
  return file.ends_with(kEnding) ? certs::pair_paths(file.substr(0, file.size() - kEnding.size()))
                                 : certs::PairPaths{.certificate = file, .key = file + ".key"};
}

int renew(Context& context, const RenewText& text) {
  const certs::AuthorityFolder folder{text.directory};
  std::optional<certs::KeyAlgorithm> algorithm;
  if (text.rekey) {
    algorithm = algorithm_of(text.algorithm);
  }
  Json renewed = Json::array();
  Table table{.columns = {"CERTIFICATE", "SERIAL", "NOT AFTER"}};
  for (const std::string& file : text.files) {
    const auto paths = paths_of(file);
    const auto facts = folder.renew({.now_s = now_s(), .days = text.days}, algorithm, paths);
    if (!facts.ok()) {
      return context.fail(certificate_failure(facts.status()));
    }
    renewed.push_back(with_files(json_of(facts.value()), paths.certificate, paths.key));
    table.rows.push_back(
        {paths.certificate.string(), facts.value().serial, moment_text(facts.value().not_after_s)});
  }
  context.output().print(Json{{"renewed", std::move(renewed)}}, table);
  return 0;
}

// A serial is itself, anything else the file of a certificate.
Result<std::string> serial_in(const std::string& word) {
  std::error_code ignored;
  const bool serial =
      !fs::exists(word, ignored) && word.find_first_not_of("0123456789abcdefABCDEF") == word.npos;
  if (serial) {
    return word;
  }
  GCOORD_TRY(const std::string pem, certs::read_public_file(word));
  GCOORD_TRY(const auto facts, certs::read_certificates(pem));
  return facts.front().serial;
}

int revoke(Context& context, const RevokeText& text) {
  const certs::AuthorityFolder folder{text.directory};
  std::vector<std::string> serials;
  for (const std::string& word : text.certificates) {
    const auto serial = serial_in(word);
    if (!serial.ok()) {
      return context.fail(certificate_failure(serial.status()));
    }
    serials.push_back(serial.value());
  }
  const auto list = folder.revoke(serials, now_s());
  if (!list.ok()) {
    return context.fail(certificate_failure(list.status()));
  }
  Json json = json_of(list.value());
  json["crl"] = folder.revocations_path().string();
  context.output().print_facts(json);
  talk("give " + folder.revocations_path().string() + " to every node (--tls-crl)");
  return 0;
}

void add_directory(Command& verb, std::string& directory) {
  verb.add_option("--dir", directory, "folder of the CA (default ./gcoord-ca)")->type_name("DIR");
}

void add_algorithm(Command& verb, std::string& algorithm) {
  verb.add_option("--algorithm", algorithm, "of the key: p256 or ed25519 (default p256)")
      ->one_of(algorithm_words())
      ->type_name("ALGORITHM");
}

void add_authority_verb(Command& group, Context& context) {
  const auto text = std::make_shared<AuthorityText>();
  Command* verb = add_verb(group,
                           context,
                           text,
                           "ca",
                           "make a CA for a lab: a key, a certificate that signs others for one "
                           "cluster, and an empty revocation list",
                           &found_authority);
  add_directory(*verb, text->directory);
  verb->add_option(
          "--cluster-id", text->cluster_id, "cluster that it signs for: cluster_id of the nodes")
      ->required()
      ->type_name("ID");
  verb->add_option("--name", text->name, "common name (default gcoord lab CA)")->type_name("NAME");
  verb->add_option("--days", text->days, "how long it is valid (default 3650)")->type_name("N");
  add_algorithm(*verb, text->algorithm);
}

void add_issue_verb(Command& group, Context& context) {
  const auto text = std::make_shared<IssueText>();
  Command* verb = add_verb(
      group, context, text, "issue", "make a key and a certificate for a node or a user", &issue);
  verb->add_option("KIND", text->kind, "node or user")->required()->one_of({"node", "user"});
  verb->add_option("NAME", text->name, "id of the node, or name of the user")->required();
  add_directory(*verb, text->directory);
  verb->add_option("--hosts", text->hosts, "DNS names and addresses that a node is reached at")
      ->delimiter(',')
      ->type_name("HOST,...");
  verb->add_option("--cluster-id", text->cluster_id, "id of the cluster (default: that of the CA)")
      ->type_name("ID");
  verb->add_option(
          "--days", text->days, "how long it is valid (default 365 for a node, 90 for a user)")
      ->type_name("N");
  verb->add_option(
          "--out", text->out, "files to make, without .crt and .key (default ./node-ID or ./NAME)")
      ->type_name("PATH");
  add_algorithm(*verb, text->algorithm);
}

void add_renew_verb(Command& group, Context& context) {
  const auto text = std::make_shared<RenewText>();
  Command* verb = add_verb(group,
                           context,
                           text,
                           "renew",
                           "replace certificates by ones with the same names that end later; the "
                           "key stays, nodes read the new file by themselves",
                           &renew);
  verb->add_option("FILE", text->files, "certificates, such as node-1.crt")->required()->take_all();
  add_directory(*verb, text->directory);
  verb->add_option("--days", text->days, "how long it is valid (default: as long as before)")
      ->type_name("N");
  verb->add_flag("--new-key", text->rekey, "replace the key, too: FILE's .key");
  add_algorithm(*verb, text->algorithm);
}

void add_revoke_verb(Command& group, Context& context) {
  const auto text = std::make_shared<RevokeText>();
  Command* verb = add_verb(group,
                           context,
                           text,
                           "revoke",
                           "add certificates to the CA's revocation list, ca.crl",
                           &revoke);
  verb->add_option("CERTIFICATE", text->certificates, "files of certificates, or their serials")
      ->required()
      ->take_all();
  add_directory(*verb, text->directory);
}

}  // namespace

void add_certificate_making(Command& certificates, Context& context) {
  add_authority_verb(certificates, context);
  add_issue_verb(certificates, context);
  add_renew_verb(certificates, context);
  add_revoke_verb(certificates, context);
}

}  // namespace gcoord::cli
