// gcoordctl auth login: a token for a password.
#include "cli/terminal/command.h"
#include "protocol/error_codes.h"
#include "security/secret/file.h"

#include <memory>
#include <span>
#include <string>

namespace gcoord::cli {
namespace {

struct LoginFlags {
  std::string out;
};

int login(Context& context, const LoginFlags& flags) {
  if (context.globals().login.user.empty() && context.globals().login.token_file.empty()) {
    return context.fail(protocol::make_error(protocol::ErrorCode::OptionMissing, "--user"));
  }
  auto client = context.connect();
  if (!client.has_value()) {
    return context.exit_code();
  }
  const client::Identity identity = client->identity();
  Json facts{{"kind", identity.kind},
             {"name", identity.name},
             {"token_left_s", static_cast<std::int64_t>(identity.token_left.count())}};
  if (flags.out.empty()) {
    facts["token"] = identity.token;
  } else {
    const std::string line = identity.token + "\n";
    const Status written = security::write_secret_file(flags.out, std::as_bytes(std::span{line}));
    if (!written.ok()) {
      return context.fail(written);
    }
    facts["file"] = flags.out;
  }
  context.output().print_facts(facts);
  return 0;
}

}  // namespace

void add_login_commands(Command& app, Context& context) {
  Command* auth = app.find_subcommand("auth");
  if (auth == nullptr) {
    auth = app.add_subcommand("auth", "who you are to the cluster")->require_subcommand(1);
  }
  const auto flags = std::make_shared<LoginFlags>();
  add_verb<LoginFlags>(
      *auth, context, flags, "login", "show a password, and print or keep the token for it", &login)
      ->add_option("--out", flags->out, "put the token into this file, mode 0600")
      ->type_name("FILE");
}

}  // namespace gcoord::cli
