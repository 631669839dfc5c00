# Work of RADAU5 by Hairer and Wanner, as the R package deSolve has it, on problems of this repository: the numbers in
# tests/numerics/radau5_work_test.cpp. Needs Debian's r-cran-desolve; run with Rscript.
library(deSolve)

# RADAU5 tests errors against 0.1 rtol^(2/3), manyfold's radau5 against 0.4 rtol^(4/5): what it must be told for the same.
equal_rtol <- function(rtol) 8 * rtol^1.2

measure <- function(name, y, f, t_end, mass, scale) {
  for (rtol in c(1e-4, 1e-5, 1e-6, 1e-7, 1e-8)) {
    told <- equal_rtol(rtol)
    out <- ode(y = y, times = c(0, t_end), func = function(t, y, p) list(f(t, y)), parms = NULL, method = "radau",
               mass = mass, rtol = told, atol = told * scale, hini = 1e-6, maxsteps = 1e6)
    state <- attributes(out)$istate
    cat(sprintf("      {\"%s\", %g, %d, %d, %d},\n", name, rtol, state[2], state[13], state[10]))
  }
}
cat("      problem, rtol, step attempts, rejected, factorisations\n")

measure("robertson", c(1, 0, 0),
        function(t, y) c(-0.04 * y[1] + 1e4 * y[2] * y[3], 0.04 * y[1] - 1e4 * y[2] * y[3] - 3e7 * y[2]^2, sum(y) - 1),
        1e5, diag(c(1, 1, 0)), c(1, 1e-4, 1))

measure("van_der_pol", c(2, 0), function(t, y) c(y[2], 1000 * (1 - y[1]^2) * y[2] - y[1]), 2000, diag(2), c(1, 1))

g <- 13.7503716360407456549801915596
measure("pendulum", c(1, 0, 0, 0, 0),
        function(t, y) c(y[3], y[4], -y[5] * y[1], -y[5] * y[2] - g, y[3]^2 + y[4]^2 - y[5] - g * y[2]),
        2, diag(c(1, 1, 1, 1, 0)), rep(1, 5))

das1 <- function(t, y) {
  beta <- c(1000, 800, -10, 0.001)
  z <- 0.5 * sum(y[1:4]) - y[1:4]
  c(0.5 * sum(z^2) - z^2 - (0.5 * sum(beta * z) - beta * z), y[5] + y[1] * y[6],
    2 * y[6] + y[6]^3 - y[1] + y[7] - 1 - exp(-t), y[7] - y[8] + y[1] * y[6], y[7] + y[8] + 5 * y[1] * y[2])
}
measure("das1", c(-1, -1, -1, -1, 1, 1, -2, -3), das1, 1000, diag(c(1, 1, 1, 1, 0, 0, 0, 0)), c(5, 5, 5, 5, 17, 3.5, 54, 71))

amplifier <- function(t, y) {
  input <- 0.1 * sin(200 * pi * t)
  current <- function(u) 1e-6 * (exp(u / 0.026) - 1)
  first <- current(y[2] - y[3])
  second <- current(y[5] - y[6])
  c((y[1] - input) / 1000, (2 * y[2] - 6) / 9000 + 0.01 * first, y[3] / 9000 - first, (y[4] - 6) / 9000 + 0.99 * first,
    (2 * y[5] - 6) / 9000 + 0.01 * second, y[6] / 9000 - second, (y[7] - 6) / 9000 + 0.99 * second, y[8] / 9000)
}
capacity <- c(1, 2, 3, 4, 5) * 1e-6
mass <- diag(-c(capacity[1], capacity[1], capacity[2], capacity[3], capacity[3], capacity[4], capacity[5], capacity[5]))
mass[1, 2] <- mass[2, 1] <- capacity[1]
mass[4, 5] <- mass[5, 4] <- capacity[3]
mass[7, 8] <- mass[8, 7] <- capacity[5]
measure("transistor_amplifier", c(0, 3, 3, 6, 3, 3, 6, 0), amplifier, 0.2, mass, rep(6, 8))
