#pragma once
// What users named, as it goes into messages.
#include <string>
#include <string_view>

namespace manyfold {

/// `text` with \xHH in place of control characters: these would not show, cut the message, or steer the terminal.
/// What is in `kept` stays.
std::string printable(std::string_view text, std::string_view kept = "");

}  // namespace manyfold
