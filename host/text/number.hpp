#pragma once
// Numbers as users write them: the same in options, sweep files and tables.
#include <cstdint>
#include <string>
#include <string_view>

namespace manyfold {

/// Puts the number that `text` stands for into `value`: decimal digits, with a sign, a point and an exponent if wanted.
/// Returns what must stand there instead, such as "a finite number"; empty: nothing.
std::string read_number(std::string_view text, double& value);

/// The same for an integer, which may be written as 2e4 too.
std::string read_integer(std::string_view text, std::int64_t least, std::int64_t most, std::int64_t& value);

}  // namespace manyfold
