// Numbers, ages and histories as top prints them: short, and as wide as a terminal shows them.
// Pure; any thread.
#pragma once

#include "cli/top/samples/history.h"
#include "cli/top/samples/series.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gcoord::cli::top {

// "1234", "56.7", "1.5M", "350 us", "12.3 MiB", "42 %"; "-" for what is not known. That a rate is
// for each second its label says.
std::string figure(std::optional<double> value, Unit unit);

// "12 s", "3 min", "2 h".
std::string age_text(std::uint64_t ms);

// The whole history in at most so many cells, the newest sample at the right end, from 0 up to the
// highest. Where there are fewer cells than kHistorySamples each stands for several samples, and
// shows the highest of them. What is not known is a blank. With `ascii` in characters that every
// terminal has.
std::string sparkline(const History& history, std::size_t cells, bool ascii);

enum class Side : std::uint8_t { Left, Right };

// The text cut or filled up to so many cells; `side` is where the text stands.
std::string padded(std::string_view text, std::size_t cells, Side side);

}  // namespace gcoord::cli::top
