#pragma once
#include "../numerics/forced.hpp"

using manyfold::test::Supply;
MANYFOLD_MODEL(Supply);
