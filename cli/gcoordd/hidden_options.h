// Options with secrets, out of sight of whoever looks at the process: their values leave its
// command line and its environment, and are kept for its own reads of the environment.
//
// hide_secret_options() runs before there are threads; environment_value() any time after it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcoord {

// `arguments`: those of main(), behind the program's name.
void hide_secret_options(std::span<char*> arguments);

// Of a variable, hidden or not; nothing where there is none.
std::optional<std::string> environment_value(const std::string& name);

// Lines about variables GCOORD_... that are no option's, of this program or of gcoordctl
// (cli/environment).
std::vector<std::string> unknown_option_lines();

}  // namespace gcoord
