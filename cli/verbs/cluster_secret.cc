// gcoordctl cluster secret: makes, rotates and names the secret that the nodes of a cluster share.
#include "security/secret/cluster_secret.h"

#include "cli/terminal/command.h"
#include "security/secret/file.h"

#include <memory>
#include <string>

namespace gcoord::cli {

namespace {

using security::ClusterSecret;

struct SecretText {
  std::string file;
};

// Which secrets the file has; nothing of the secrets themselves.
int print_ids(Context& context, const std::string& file, const ClusterSecret& secret) {
  Json json{{"file", file}, {"id", secret.id()}, {"previous_id", nullptr}};
  if (secret.previous() != nullptr) {
    json["previous_id"] = secret.previous_id();
  }
  context.output().print_facts(json);
  return 0;
}

int make(Context& context, const SecretText& text) {
  const ClusterSecret secret = ClusterSecret::generate();
  const Status written = security::write_new_secret_file(text.file, secret.to_text().bytes());
  return written.ok() ? print_ids(context, text.file, secret) : context.fail(written);
}

int rotate(Context& context, const SecretText& text) {
  const auto before = ClusterSecret::read(text.file);
  if (!before.ok()) {
    return context.fail(before.status());
  }
  const ClusterSecret secret = before.value().rotated();
  const Status written = security::write_secret_file(text.file, secret.to_text().bytes());
  return written.ok() ? print_ids(context, text.file, secret) : context.fail(written);
}

int show(Context& context, const SecretText& text) {
  const auto secret = ClusterSecret::read(text.file);
  return secret.ok() ? print_ids(context, text.file, secret.value())
                     : context.fail(secret.status());
}

}  // namespace

void add_cluster_secret_commands(Command& cluster, Context& context) {
  auto text = std::make_shared<SecretText>();
  Command* group =
      cluster
          .add_subcommand("secret", "the file with the secret that all nodes of a cluster share")
          ->require_subcommand(1);
  const auto add = [&](const char* verb, const char* help, auto* body) {
    add_verb<SecretText>(*group, context, text, verb, help, body)
        ->add_option("FILE", text->file, "the secret's file")
        ->required();
  };
  add("new", "make a secret, in a file that only you can read; writes over nothing", &make);
  add("rotate", "put a new secret in front of the one in the file, which stays valid", &rotate);
  add("show", "print which secrets the file has, by their ids; never the secrets", &show);
}

}  // namespace gcoord::cli
