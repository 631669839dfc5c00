#pragma once
#include "refill_model.hpp"

struct Refill : RefillModel<true> {};
MANYFOLD_MODEL(Refill);
