#pragma once
#include "exchange_of.hpp"

struct Exchange : ExchangeOf<35> {};
MANYFOLD_MODEL(Exchange);
