#pragma once
// Times in messages and tables.
#include <string>

namespace manyfold {

/// Time `t` in as many digits as tell it from other times since `t_begin` to `digits` significant ones: seconds since
/// 1970 need ten digits more than a time from zero.
std::string time_text(double t, double t_begin, int digits);

}  // namespace manyfold
