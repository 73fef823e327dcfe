#include "cli/lock_flags.h"

namespace gcoord::cli {

void add_lock_name(Command& app, std::string& name) {
  app.add_option("NAME", name, "name of the lock")->required();
}

void add_lock_token(Command& app, std::uint64_t& token) {
  app.add_option("--token", token, "fencing token that the acquire printed")
      ->required()
      ->type_name("T");
}

void add_wait_flags(Command& app, WaitFlags& flags) {
  Option* wait = app.add_option("--wait", flags.wait, "give up after this time")->type_name("TIME");
  app.add_flag("--try", flags.try_only, "do not wait")->excludes(wait);
}

std::optional<std::chrono::milliseconds> wait_of(Context& context, const WaitFlags& flags) {
  if (flags.try_only) {
    return std::chrono::milliseconds{0};
  }
  return flags.wait.empty() ? std::optional{client::kForever}
                            : context.duration("--wait", flags.wait);
}

}  // namespace gcoord::cli
