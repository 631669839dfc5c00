#pragma once
#include "refill_model.hpp"

struct Refill : RefillModel<false> {};
MANYFOLD_MODEL(Refill);
