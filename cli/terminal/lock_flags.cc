#include "cli/terminal/lock_flags.h"

namespace gcoord::cli {

void add_lock_name(Command& app, std::string& name) {
  app.add_option("NAME", name, "name of the lock")->required()->names_locks();
}

void add_lock_token(Command& app, std::uint64_t& token) {
  app.add_option("--token", token, "fencing token that the acquire printed")
      ->required()
      ->type_name("T");
}

void add_wait_flags(Command& app, WaitFlags& flags) {
  Option* wait = app.add_option("--wait", flags.wait, "maximum time to wait")->type_name("TIME");
  app.add_flag("--try", flags.try_only, "do not wait")->excludes(wait);
}

std::optional<std::chrono::milliseconds> wait_of(Context& context, const WaitFlags& flags) {
  if (flags.try_only) {
    return std::chrono::milliseconds{0};
  }
  return flags.wait.empty() ? std::optional{client::kForever}
                            : context.duration("--wait", flags.wait);
}

void add_hold_flags(Command& app, HoldFlags& flags) {
  app.add_flag("--shared", flags.shared, "hold the lock as a reader, together with other readers");
  Option* max = app.add_option("--permits-max",
                               flags.permits_max,
                               "hold permits of the lock, up to N in all holders together")
                    ->in_range(1, 65'535)
                    ->type_name("N");
  // Alone it would be ignored, and the lock be taken whole.
  app.add_option("--permits", flags.permits, "number of permits, of --permits-max (default 1)")
      ->needs(max)
      ->in_range(1, 255)
      ->type_name("N");
  app.add_option("--lock-delay",
                 flags.delay,
                 "time before the next grant after the holder has failed (up to 60s)")
      ->type_name("TIME");
  app.add_option("--note", flags.note, "note that others can read with lock get; up to 512 bytes")
      ->type_name("TEXT");
}

std::optional<client::AcquireOptions> hold_of(Context& context,
                                              const HoldFlags& hold,
                                              const WaitFlags& wait) {
  client::AcquireOptions how;
  how.note = hold.note;
  how.shared = hold.shared || hold.permits_max != 0;
  how.permits = hold.permits;
  how.permits_max = hold.permits_max;
  const auto patience = wait_of(context, wait);
  if (!patience.has_value()) {
    return std::nullopt;
  }
  how.wait = *patience;
  if (!context.read_duration("--lock-delay", hold.delay, how.delay)) {
    return std::nullopt;
  }
  return how;
}

}  // namespace gcoord::cli
