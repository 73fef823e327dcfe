#include "cli/top/loop.h"

#include "cli/terminal/screen.h"
#include "cli/top/keys.h"
#include "cli/top/navigation.h"
#include "cli/top/paint.h"
#include "cli/top/report.h"
#include "cli/top/sampler.h"
#include "cli/top/signal_ends.h"
#include "cli/top/view.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

namespace gcoord::cli::top {

namespace {

using std::chrono::milliseconds;
using Moment = std::chrono::steady_clock::time_point;

// How long a round waits for its nodes, and a page of metrics may take, at the most.
constexpr milliseconds kRoundPatience{1'000};
// A terminal sends the bytes of one key together; xterm's users take as long for Esc.
constexpr milliseconds kEscapePatience{50};
constexpr milliseconds kForEver{3'600'000};
// How soon a program that came to the foreground without a signal draws again.
constexpr milliseconds kForegroundLook{1'000};
// A sample that nobody has read so long after a signal is the last one, and stays unread.
constexpr milliseconds kPrintPatience{200};

// An empty NO_COLOR counts as none (https://no-color.org).
Paint chosen_paint() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color != nullptr && *no_color != '\0' ? Paint::Attributes : Paint::Colors;
}

// Whether the terminal takes UTF-8, as the first of these variables that is set says.
bool ascii_only() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') {
      const std::string_view locale{value};
      return locale.find("UTF-8") == locale.npos && locale.find("utf8") == locale.npos &&
             locale.find("utf-8") == locale.npos && locale.find("UTF8") == locale.npos;
    }
  }
  return false;
}

class TopLoop {
 public:
  TopLoop(Context& context, client::Client client, const LoopOptions& options)
      : context_(context),
        options_(options),
        sampler_(std::move(client),
                 answered_,
                 {.timeout = std::min(kRoundPatience, options.interval),
                  .tls = context.globals().http_tls()}),
        navigation_(options.interval, options.sorting) {}

  // Blocks as Client::watch does. False when there is nothing to be shown; the error is printed.
  bool begin() {
    const client::Status watched = sampler_.watch_names();
    if (!watched.ok() && !options_.screen) {
      context_.refuse(sampler_.client(), watched);
      return false;
    }
    return true;
  }

  // Gives the terminal back before the questions that are open end.
  void run(const SignalFd& signals) {
    signals_ = &signals;
    if (options_.screen) {
      screen_.emplace();
    }
    begin_round();
    while (!ended_) {
      wait();
      on_signals();
      on_answers();
      on_time();
    }
    screen_.reset();
  }

 private:
  bool reads_keys() const { return screen_.has_value() && screen_->has_keys() && !keys_ended_; }

  void wait() {
    WaitedFor fds{.to_read = {signals_->fd(), answered_.fd()}};
    if (reads_keys()) {
      fds.to_read.push_back(STDIN_FILENO);
    }
    if (screen_.has_value() && screen_->waits()) {
      fds.to_write.push_back(screen_->fd());
    }
    wait_ready(fds, time_left());
    write_on();
    if (reads_keys() && wait_readable({STDIN_FILENO}, milliseconds{0})) {
      on_keys();
    }
    answered_.drain();
  }

  void write_on() {
    if (screen_.has_value()) {
      screen_->write_on();
      ended_ = ended_ || screen_->gone();
    }
  }

  milliseconds time_left() const {
    if (navigation_.paused() && !round_open_) {
      return in_background() ? kForegroundLook : kForEver;
    }
    const Moment next = round_open_ ? round_began_ + round_patience() : next_round();
    const auto left = next - std::chrono::steady_clock::now();
    // A full millisecond more, so that nothing is looked at before its time.
    return std::max(std::chrono::duration_cast<milliseconds>(left) + milliseconds{1},
                    milliseconds{0});
  }

  bool in_background() const { return screen_.has_value() && !screen_->taken(); }

  milliseconds round_patience() const { return std::min(kRoundPatience, navigation_.interval()); }

  Moment next_round() const { return round_began_ + navigation_.interval(); }

  void begin_round() {
    round_began_ = std::chrono::steady_clock::now();
    round_open_ = true;
    sampler_.ask_nodes();
    ask_for_page();
  }

  // What the page of a node or a name needs besides.
  void ask_for_page() {
    const Visit& here = navigation_.here();
    sampler_.ask_lock(here.page == Page::Name ? here.name : std::string{});
    const bool leaders_changed = leads_of_all() != leads_seen_;
    if (here.page != Page::Overview && (!leaders_known_ || leaders_changed)) {
      leads_seen_ = leads_of_all();
      leaders_known_ = false;  // Until there is an answer.
      sampler_.ask_leaders();
    }
  }

  // How many shards each node leads: the map of leaders is asked for again when that changes.
  std::vector<double> leads_of_all() const {
    std::vector<double> leads;
    for (const NodeRow& each : model_.nodes()) {
      leads.push_back(each.latest(series_index("leaders")).value_or(-1));
    }
    return leads;
  }

  void on_answers() {
    bool learned = false;
    if (auto lock = sampler_.take_lock(); lock.has_value()) {
      model_.learn(std::move(*lock));
      learned = true;
    }
    if (auto leaders = sampler_.take_leaders(); leaders.has_value()) {
      model_.learn_leaders(std::move(*leaders));
      leaders_known_ = true;
      learned = true;
    }
    if (learned) {
      show();
    }
  }

  void on_time() {
    const Moment now = std::chrono::steady_clock::now();
    if (in_background()) {
      screen_->take();
      show();
    }
    if (round_open_ && (sampler_.all_answered() || now >= round_began_ + round_patience())) {
      end_round();
    }
    if (!round_open_ && !navigation_.paused() && now >= next_round() && !ended_) {
      begin_round();
    }
  }

  void end_round() {
    round_open_ = false;
    model_.add(sampler_.take());
    if (screen_.has_value()) {
      show();
    } else if (model_.samples() > 1) {
      print();
    }
    // The first sample is what the second is compared with.
    ended_ = ended_ || (options_.count > 0 && model_.samples() > options_.count);
  }

  void show() {
    if (screen_.has_value() && screen_->taken() && model_.samples() > 0) {
      model_.learn(sampler_.changes());
      screen_->draw(painted(screen_of(model_, navigation_, frame()), paint_));
    }
  }

  void print() {
    SignalEnds ends{*signals_, kPrintPatience};
    const Output& output = context_.output();
    if (output.format() == Format::JsonLines) {
      output.print(sample_json(model_, navigation_.nodes()), {});
    } else {
      for (const Table& each : sample_tables(model_, navigation_.nodes(), navigation_.interval())) {
        output.print({}, each);
        std::cout << "\n";
      }
    }
    std::cout.flush();
    // Or nobody reads any more.
    ended_ = ended_ || ends.finish() != 0 || !std::cout.good();
  }

  Frame frame() const {
    const ScreenSize size = screen_->size();
    return {.columns = size.columns, .rows = size.rows, .ascii = ascii_};
  }

  void on_keys() {
    char bytes[256];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (count <= 0) {
      keys_ended_ = true;  // The terminal is gone; SIGHUP says so, too.
      ended_ = ended_ || count == 0;
      return;
    }
    typed_.append(bytes, static_cast<std::size_t>(count));
    press(take_keys(typed_, false));
    if (!typed_.empty() && !wait_readable({STDIN_FILENO}, kEscapePatience)) {
      press(take_keys(typed_, true));
    }
    show();
  }

  void press(const std::vector<KeyPress>& keys) {
    for (const KeyPress& key : keys) {
      const Page page_before = navigation_.here().page;
      const PageText page = page_text(model_, navigation_, frame());
      navigation_.act(key, targets_of(page), body_rows(page, frame()));
      if (navigation_.here().page != page_before) {
        ask_for_page();
      }
    }
    ended_ = ended_ || navigation_.quit();
  }

  // A signal that ends the program comes before SIGTSTP and SIGCONT: the lower numbers come first.
  // Then the terminal stays with whoever has it.
  void on_signals() {
    bool resumed = false;
    bool resized = false;
    for (int signal = signals_->take(); signal != 0; signal = signals_->take()) {
      ended_ = ended_ || (signal != SIGTSTP && signal != SIGCONT && signal != SIGWINCH);
      resumed = resumed || signal == SIGTSTP || signal == SIGCONT;
      resized = resized || signal == SIGWINCH;
      if (signal == SIGTSTP && screen_.has_value() && !ended_) {
        screen_->stop_here();
      }
    }
    if (resumed && screen_.has_value() && !ended_) {
      screen_->take();
    }
    if ((resumed || resized) && !ended_) {
      show();
    }
  }

  Context& context_;
  const LoopOptions options_;
  const Paint paint_ = chosen_paint();
  const bool ascii_ = ascii_only();
  Waker answered_;
  Sampler sampler_;
  Model model_;
  Navigation navigation_;
  std::optional<Screen> screen_;
  const SignalFd* signals_ = nullptr;  // While it runs.
  Moment round_began_{};
  bool round_open_ = false;
  bool ended_ = false;
  bool keys_ended_ = false;
  std::string typed_;
  bool leaders_known_ = false;
  std::vector<double> leads_seen_;
};

}  // namespace

int run_loop(Context& context, const LoopOptions& options, const SignalFd& signals) {
  std::optional<TopLoop> loop;
  {
    SignalEnds ends{signals, milliseconds{0}};
    auto client = context.connect_to_all();
    if (!client.has_value()) {
      return context.exit_code();
    }
    loop.emplace(context, std::move(*client), options);
    const bool begun = loop->begin();
    if (const int signal = ends.finish(); signal != 0) {
      return 128 + signal;
    }
    if (!begun) {
      return context.exit_code();
    }
  }
  loop->run(signals);
  // A server of names may hold up the end of what is open.
  SignalEnds ends{signals, milliseconds{0}};
  loop.reset();
  return 0;
}

}  // namespace gcoord::cli::top
