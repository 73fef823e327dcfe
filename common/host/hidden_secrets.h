// Takes secrets out of what the host's other processes see of this one: its command line and its
// environment (/proc/PID/cmdline, /proc/PID/environ), which its children would inherit, too.
//
// For mains, on what they have copied before and before they start threads: the memory of the
// arguments and of the environment is written. Between the start of the process and the call
// everybody of the host could read them, so a file is the better place for a secret.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gcoord {

// Where in a value the secret is.
enum class SecretPart : unsigned char {
  Whole,
  AfterColon,  // Of NAME:PASSWORD; a value without a colon has none.
};

// Of "--option VALUE" and "--option=VALUE", wherever they stand ahead of an argument "--". `option`
// has its dashes.
void hide_argument(std::span<char*> arguments, std::string_view option, SecretPart part);

// Of a variable of the environment; what is left of it stays. Nothing happens if it is not there.
void hide_variable(const std::string& name, SecretPart part);

}  // namespace gcoord
