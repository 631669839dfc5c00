#pragma once
#include "exchange_of.hpp"

struct Exchange48 : ExchangeOf<47> {};
MANYFOLD_MODEL(Exchange48);
