#include "cli/contexts/file.h"

#include "common/host/descriptor.h"
#include "common/host/exclusive_file.h"
#include "common/json/text.h"
#include "common/json/value.h"
#include "protocol/error_codes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace gcoord::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytesMax = std::size_t{1} << 20;

Status unreadable(const fs::path& path, const std::string& why) {
  return protocol::make_error(protocol::ErrorCode::ConfigUnreadable, path.string() + ": " + why);
}

Status invalid(const fs::path& path, const std::string& why) {
  return protocol::make_error(protocol::ErrorCode::ConfigInvalid, path.string() + ": " + why);
}

Status check_owner(const fs::path& path, const struct stat& facts) {
  if (!S_ISREG(facts.st_mode)) {
    return unreadable(path, "it is no plain file");
  }
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0) {
    return unreadable(path, "it is of another user");
  }
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return unreadable(path, "others may write it; chmod 600 it");
  }
  return {};
}

// Nothing where there is no file.
Result<std::optional<std::string>> read_text(const fs::path& path) {
  const OwnedDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      return std::optional<std::string>{};
    }
    return unreadable(path, std::strerror(errno));
  }

  struct stat facts {};

  if (::fstat(file.get(), &facts) != 0) {
    return unreadable(path, std::strerror(errno));
  }
  GCOORD_TRY_STATUS(check_owner(path, facts));
  std::string text(kFileBytesMax + 1, '\0');
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + bytes, text.size() - bytes);
    if (got < 0) {
      return unreadable(path, std::strerror(errno));
    }
    if (got == 0) {
      break;
    }
    bytes += static_cast<std::size_t>(got);
  }
  if (bytes > kFileBytesMax) {
    return unreadable(path, "it is larger than 1 MiB");
  }
  text.resize(bytes);
  return std::optional<std::string>{std::move(text)};
}

Result<ContextValues> values_of(const fs::path& path, const JsonMember& context) {
  const auto& [name, json] = context;
  if (!is_context_name(name) || !json.is_object()) {
    return invalid(path, "'" + name + "' is no context");
  }
  ContextValues values;
  for (const auto& [option, value] : json.items()) {
    const auto& known = context_options();
    if (std::ranges::find(known, option) == known.end() || !value.is_string()) {
      return invalid(path, "'" + option + "' of context '" + name + "' is no option of a context");
    }
    values[option] = value.text();
  }
  return values;
}

Result<Contexts> parse(const fs::path& path, const std::string& text) {
  const auto parsed = parse_json_strict(text);
  if (!parsed.ok()) {
    return invalid(path, parsed.status().message());
  }
  Contexts contexts;
  for (const auto& [name, value] : parsed.value().items()) {
    if (name == "current" && value.is_string()) {
      contexts.current = value.text();
    } else if (name == "contexts" && value.is_object()) {
      for (const JsonMember& each : value.items()) {
        GCOORD_TRY(contexts.by_name[each.name], values_of(path, each));
      }
    } else {
      return invalid(path, "'" + name + "' is unknown, or has a wrong type");
    }
  }
  if (!parsed.value().is_object()) {
    return invalid(path, "it is no object of JSON");
  }
  return contexts;
}

std::string text_of(const Contexts& contexts) {
  Json by_name = Json::object();
  for (const auto& [name, values] : contexts.by_name) {
    Json context = Json::object();
    for (const auto& [option, value] : values) {
      context[option] = value;
    }
    by_name[name] = std::move(context);
  }
  return Json{{"current", contexts.current}, {"contexts", std::move(by_name)}}.dump(2) + "\n";
}

Status write_all(const fs::path& path, int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(file, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) {
      return unreadable(path, std::strerror(errno));
    }
    at += written > 0 ? static_cast<std::size_t>(written) : 0;
  }
  return ::fsync(file) == 0 ? Status{} : unreadable(path, std::strerror(errno));
}

// For this user alone, whatever the umask says.
Status make_folders(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error)) {
    return {};
  }
  if (folder.has_parent_path() && folder.parent_path() != folder) {
    GCOORD_TRY_STATUS(make_folders(folder.parent_path()));
  }
  return ::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST
             ? Status{}
             : unreadable(folder, std::strerror(errno));
}

}  // namespace

fs::path contexts_path(const Environment& environment) {
  const auto folder = [&](const char* name) {
    const fs::path path = environment(name).value_or("");
    return path.is_absolute() ? path : fs::path{};
  };
  const fs::path settings = folder("XDG_CONFIG_HOME");
  const fs::path home = folder("HOME");
  if (settings.empty() && home.empty()) {
    return {};
  }
  return (settings.empty() ? home / ".config" : settings) / "gcoord" / "contexts.json";
}

Result<Contexts> read_contexts(const fs::path& path) {
  if (path.empty()) {
    return Contexts{};
  }
  GCOORD_TRY(const auto text, read_text(path));
  return text.has_value() ? parse(path, *text) : Result<Contexts>{Contexts{}};
}

Status change_contexts(const fs::path& path, const std::function<Status(Contexts&)>& change) {
  if (path.empty()) {
    return protocol::make_error(protocol::ErrorCode::ConfigUnreadable,
                                "neither XDG_CONFIG_HOME nor HOME names a folder for contexts");
  }
  // A link of the user's, to a folder that is kept elsewhere, stays one.
  std::error_code error;
  const fs::path linked = fs::canonical(path, error);
  const fs::path target = error ? path : linked;
  GCOORD_TRY_STATUS(make_folders(target.parent_path()));
  const fs::path part = target.string() + ".part";
  const auto created = create_exclusive_file(part.string(), 0600);
  if (!created.ok()) {
    return unreadable(target, created.status().message());
  }
  const OwnedDescriptor file(created.value());
  const auto changed = [&]() -> Status {
    GCOORD_TRY(Contexts contexts, read_contexts(target));
    GCOORD_TRY_STATUS(change(contexts));
    GCOORD_TRY_STATUS(write_all(target, file.get(), text_of(contexts)));
    return ::rename(part.c_str(), target.c_str()) == 0 ? Status{}
                                                       : unreadable(target, std::strerror(errno));
  }();
  if (!changed.ok()) {
    ::unlink(part.c_str());
  }
  return changed;
}

}  // namespace gcoord::cli
