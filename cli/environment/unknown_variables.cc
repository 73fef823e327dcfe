#include "cli/environment/unknown_variables.h"

#include "common/text/near_names.h"
#include "common/text/printable.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace gcoord::cli {

namespace {

constexpr std::string_view kPrefix = "GCOORD_";
constexpr std::size_t kNameBytesMax = 64;  // Longer than any that is known.
constexpr std::size_t kMistakesMax = 2;

constexpr std::array<std::string_view, 21> kClientVariables{
    "GCOORD_ENDPOINTS",     "GCOORD_TIMEOUT",       "GCOORD_OUTPUT",
    "GCOORD_CONTEXT",       "GCOORD_TLS",           "GCOORD_CACERT",
    "GCOORD_CERT",          "GCOORD_KEY",           "GCOORD_USER",
    "GCOORD_PASSWORD_FILE", "GCOORD_TOKEN_FILE",    "GCOORD_INSECURE_CREDENTIALS",
    "GCOORD_LOCK_NAME",     "GCOORD_LOCK_TOKEN",    "GCOORD_LOCK_TOKENS",
    "GCOORD_LOCK_SESSION",  "GCOORD_SESSION",       "GCOORD_SESSION_KEY_FD",
    "GCOORD_DEVICE_FAULT",  "GCOORD_DEVICE_SWEEPS", "GCOORD_NVML"};

// GCOORD_SERVICE_HOST, GCOORD_PORT, GCOORD_PORT_7400_TCP_ADDR, GCOORD_0_SERVICE_PORT_CLIENT.
bool is_of_kubernetes(std::string_view name) {
  return name.ends_with("_SERVICE_HOST") || name.find("_SERVICE_PORT") != std::string_view::npos ||
         name.ends_with("_PORT") || name.find("_TCP") != std::string_view::npos ||
         name.find("_UDP") != std::string_view::npos;
}

// The known name with the fewest other letters, and how many.
struct Nearest {
  std::string_view name;
  std::size_t mistakes = kMistakesMax + 1;
};

Nearest nearest(std::string_view name, std::span<const std::string> known) {
  Nearest found;
  for (const std::string& each : known) {
    if (const std::size_t mistakes = letters_apart(name, each); mistakes < found.mistakes) {
      found = {each, mistakes};
    }
  }
  return found;
}

std::optional<std::string> line_of(std::string_view name,
                                   std::span<const std::string> known,
                                   Strictness strictness) {
  const bool long_name = name.size() > kNameBytesMax;
  const Nearest near = long_name ? Nearest{} : nearest(name, known);
  if (near.name.empty() && strictness == Strictness::Near) {
    return std::nullopt;
  }
  std::string line = "the variable " + shown(std::string{name.substr(0, kNameBytesMax)}) +
                     (long_name ? "..." : "") + " means nothing here";
  return near.name.empty() ? line : line + "; the nearest is " + std::string{near.name};
}

}  // namespace

std::span<const std::string_view> client_variables() {
  return kClientVariables;
}

std::vector<std::string> unknown_variables(const char* const* environment,
                                           std::span<const std::string> known,
                                           Strictness strictness) {
  std::set<std::string_view> names;
  for (const char* const* each = environment; each != nullptr && *each != nullptr; ++each) {
    const std::string_view text{*each};
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with(kPrefix) && !is_of_kubernetes(name) &&
        std::ranges::find(known, name) == known.end()) {
      names.insert(name);
    }
  }
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (const std::string_view name : names) {
    if (lines.size() == kUnknownShownMax) {
      ++more;
    } else if (auto line = line_of(name, known, strictness)) {
      lines.push_back(*std::move(line));
    }
  }
  if (more != 0) {
    lines.push_back("and " + std::to_string(more) + " more variables GCOORD_...");
  }
  return lines;
}

}  // namespace gcoord::cli
